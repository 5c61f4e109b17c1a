"""Canonical fields of a send attempt, and the mapping from a site's columns to them."""

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

from jobs.errors import SettingValueError
from jobs.settings.column_path import parts_of
from jobs.settings.inputs import SendsInput
from jobs.settings.send_fields import FIELD_KINDS, TIMES
from udfs.written_time import written_ms

_TYPES: Mapping[str, DataType] = {
    "text": StringType(),
    "int": IntegerType(),
    "long": LongType(),
    "boolean": BooleanType(),
}
FIELDS: Mapping[str, DataType] = {name: _TYPES[kind] for name, kind in FIELD_KINDS.items()}

_PER_MS = {"ns": 1_000_000, "us": 1_000}


def source_type(name: str, sends_input: SendsInput) -> DataType:
    """Type of the site's value before its unit applies."""
    unit = sends_input.source_of(name).unit
    if unit == "s":
        return DecimalType(28, 9)
    return StringType() if unit == "iso8601" else FIELDS[name]


def meant(name: str, text: Column, sends_input: SendsInput) -> Column:
    """The canonical value for a text, by the site's table of values; null for an empty text.

    Texts must match exactly. An empty text in the table stands for lines without a value.
    """
    ours = sends_input.translations(name)
    if not ours:
        return F.nullif(text, F.lit(""))
    table = F.create_map(*(F.lit(value) for pair in ours.items() for value in pair))
    key = F.coalesce(text, F.lit(""))
    return F.nullif(F.coalesce(F.try_element_at(table, key), key), F.lit(""))


def json_types(sends_input: SendsInput) -> dict[tuple[str, ...], DataType]:
    """The way to each column of a JSON line under the mapping, to the type that it is read as.

    Flags, fields with a table of values, and columns used for fields of different types are read as strings.

    Raises:
        SettingValueError: a column is mapped with two units, or is the parent of another.
    """
    types: dict[tuple[str, ...], DataType] = {}
    units: dict[str, str] = {}
    for name in FIELDS:
        source = sends_input.source_of(name)
        if source.constant is not None:
            continue
        way = parts_of(source.column)
        is_read_as_text = name in sends_input.values or FIELDS[name] == BooleanType()
        kind = StringType() if is_read_as_text else source_type(name, sends_input)
        types[way] = kind if types.get(way, kind) == kind else StringType()
        unit = source.unit or "ms"
        if name in TIMES and units.setdefault(source.column, unit) != unit:
            raise SettingValueError(f"inputs.sends.fields: column {way[-1]!r} is mapped with two different units")
    for way in types:
        if parent := next((way[place - 1] for place in range(1, len(way)) if way[:place] in types), None):
            raise SettingValueError(f"inputs.sends.fields: {parent!r} is both a value and a parent of {way[-1]!r}")
    return types


def json_schema(types: Mapping[tuple[str, ...], DataType]) -> StructType:
    """The schema of one JSON line with columns of these types (`json_types`).

    >>> json_schema({("rt", "value"): LongType(), ("rt", "at"): StringType()}).simpleString()
    'struct<rt:struct<value:bigint,at:string>>'
    """
    inside: dict[str, dict[tuple[str, ...], DataType]] = {}
    for (first, *rest), kind in types.items():
        inside.setdefault(first, {})[tuple(rest)] = kind
    return StructType([StructField(name, of.get(()) or json_schema(of)) for name, of in inside.items()])


def in_canonical_unit(value: Column, name: str, sends_input: SendsInput) -> Column:
    """The site's value in the canonical unit; null if it is out of range.

    Fractions of a millisecond are rounded down, as clocks do, so negative values stay negative.

    Args:
        value: the column, of `source_type`.
        name: canonical field.
        sends_input: the site's `[inputs.sends]`.
    """
    unit = sends_input.source_of(name).unit
    if unit in (None, "ms"):
        return value
    if unit == "s":
        return F.floor(value * 1000).try_cast("bigint")
    if unit == "iso8601":
        return written_ms(value, sends_input.time_zone_of(name))
    per_ms = F.lit(_PER_MS[str(unit)])
    return F.call_function("div", value, per_ms) - F.when(value % per_ms < 0, 1).otherwise(0)
