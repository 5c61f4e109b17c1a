"""The canonical fields of a send attempt, and how a site's own columns become them."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from jobs.errors import SettingValueError, UnknownSettingError
from jobs.settings.inputs import FieldSource

FIELDS: Mapping[str, DataType] = {
    "client_id": StringType(),
    "producer_group": StringType(),
    "process_id": StringType(),
    "cluster": StringType(),
    "topic": StringType(),
    "broker_name": StringType(),
    "broker_addr": StringType(),
    "queue_id": IntegerType(),
    "client_version": StringType(),
    "client_language": StringType(),
    "mode": StringType(),
    "invoke_id": LongType(),
    "attempt": IntegerType(),
    "started_at_ms": LongType(),
    "ended_at_ms": LongType(),
    "latency_ms": LongType(),
    "submitted_at_ms": LongType(),
    "result_broker_name": StringType(),
    "outcome": StringType(),
    "cause": StringType(),
    "response_code": IntegerType(),
    "error": StringType(),
    "msg_id": StringType(),
    "thread": StringType(),
    "queue_chosen_by": StringType(),
    "seq": LongType(),
    "fault_latency_enabled": BooleanType(),
    "detector_enabled": BooleanType(),
    "order_key": StringType(),
}

_PER_MS = {"ns": 1_000_000, "us": 1_000}
_TIMES = ("started_at_ms", "ended_at_ms", "submitted_at_ms", "latency_ms")


def check_mapping(mapping: Mapping[str, FieldSource]) -> None:
    """Fail on a mapping that names no canonical field, or a unit on a field that has none.

    Raises:
        SettingsError: naming the key and the fix.
    """
    for name, source in mapping.items():
        if name not in FIELDS:
            raise UnknownSettingError(f"unknown setting 'inputs.sends.fields.{name}'; known here: {', '.join(FIELDS)}")
        if source.unit not in (None, "ms") and name not in _TIMES:
            raise SettingValueError(f"inputs.sends.fields.{name} has a unit, but only {', '.join(_TIMES)} have one")
        if source.unit == "iso8601" and name == "latency_ms":
            raise SettingValueError("inputs.sends.fields.latency_ms is a duration; its unit is ns, us, ms or s")


def source_of(name: str, mapping: Mapping[str, FieldSource]) -> FieldSource:
    """Source of the canonical field in the site's log."""
    return mapping.get(name, FieldSource(name))


def source_type(name: str, mapping: Mapping[str, FieldSource]) -> DataType:
    """Type that the site's column is read as."""
    unit = source_of(name, mapping).unit
    if unit == "s":
        return DecimalType(28, 9)
    return StringType() if unit == "iso8601" else FIELDS[name]


def json_schema(mapping: Mapping[str, FieldSource]) -> StructType:
    """Schema of one JSON line under the mapping; dotted columns nest.

    >>> json_schema({"latency_ms": FieldSource("rt.value", "s")})["rt"].dataType.simpleString()
    'struct<value:decimal(28,9)>'
    """
    tree: dict[str, object] = {}
    for name in FIELDS:
        *parents, leaf = source_of(name, mapping).column.split(".")
        holder = tree
        for parent in parents:
            below = holder.setdefault(parent, {})
            if not isinstance(below, dict):
                raise SettingValueError(f"inputs.sends.fields: {parent!r} is both a value and a parent of {leaf!r}")
            holder = below
        kind = source_type(name, mapping)
        known = holder.setdefault(leaf, kind)
        if isinstance(known, dict):
            raise SettingValueError(
                f"inputs.sends.fields: {leaf!r} is both a value and a parent of {next(iter(known))!r}"
            )
        if known != kind:
            raise SettingValueError(f"inputs.sends.fields: column {leaf!r} is mapped with two different units")
    return _struct(tree)


def _struct(tree: Mapping[str, object]) -> StructType:
    return StructType(
        [
            StructField(name, kind if isinstance(kind, DataType) else _struct(kind))  # type: ignore[arg-type]
            for name, kind in tree.items()
        ]
    )


def in_canonical_unit(value: Column, name: str, mapping: Mapping[str, FieldSource]) -> Column:
    """The site's value in the unit that the canonical name says; null when it is out of range.

    Args:
        value: the column as `source_type` reads it.
        name: canonical field.
        mapping: the site's `[inputs.sends.fields]`.
    """
    unit = source_of(name, mapping).unit
    if unit in (None, "ms"):
        return value
    if unit == "s":
        return F.floor(value * 1000).try_cast("bigint")
    if unit == "iso8601":
        has_day_and_hour = value.rlike(r"^\d{4}-\d\d-\d\d[T ]\d\d:")  # Spark would take `12:30` for today's
        return F.when(has_day_and_hour, F.unix_millis(F.try_to_timestamp(value)))
    return F.call_function("div", value, F.lit(_PER_MS[str(unit)]))
