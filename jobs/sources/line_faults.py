"""Faults of an input line: the rules that it breaks, with field and value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType

from jobs.settings.column_path import parts_of
from jobs.settings.send_fields import CLOSED, EARLIEST_MS, LATEST_MS
from jobs.sources.json_lines import JSON
from jobs.tables.quarantine import LINE_REASONS
from udfs.plain_outcome import ANSWERS, SENT

_RAW_CHARACTERS = 1_000
_DETAIL_CHARACTERS = 200  # of one reason
_CONTROL = r"[\x00-\x1f\x7f]"
_ALLOWED = {
    "outcome_unknown": f"{', '.join((*ANSWERS, SENT))}, exceptions by name",
    **{f"{name}_unknown": ", ".join(values) for name, values in CLOSED.items()},
}

Rule = tuple[str, Column, Column | None]
"""A reason, its condition and its detail."""


def damage_rules(max_line_bytes: int, wrong_fields: Mapping[str, Column]) -> list[Rule]:
    """Rules that are checked before the fields of a line.

    Args:
        max_line_bytes: longer lines are rejected.
        wrong_fields: result of `wrong_fields`.
    """
    damage = F.col("damage")
    length = F.octet_length("raw")
    return [
        ("line_too_long", length > max_line_bytes, F.concat(length, F.lit(" bytes"))),
        ("invalid_utf8", damage == "invalid_utf8", None),
        ("not_json", damage == "not_json", None),
        ("not_an_object", damage == "not_an_object", None),
        ("wrong_type", damage == "wrong_type", F.concat_ws(", ", *wrong_fields.values())),
    ]


def wrong_fields(
    fields: Mapping[str, DataType],
    column_of: Callable[[str], str] = str,
    meant: Callable[[str, Column], Column] = lambda _, text: text,
) -> dict[str, Column]:
    """Name and text of every field whose value has the wrong type, else null.

    Args:
        fields: type by field; a string is never wrong.
        column_of: path of a field in the line, by default its name; dots separate nested objects.
        meant: from the field's name and the line's text to the text that counts, or null.
    """
    texts = F.from_json("raw", "map<string,string>", JSON)

    def text(column: str) -> Column:
        parts = parts_of(column)
        path = "".join(f"['{part}']" for part in parts)
        is_plain = parts == (column,)
        return texts[column] if is_plain else F.coalesce(texts[column], F.get_json_object("raw", f"${path}"))

    return {
        name: F.when(F.col(name).isNull(), F.concat(F.lit(f"{name}="), meant(name, text(column_of(name)))))
        for name, kind in fields.items()
        if not isinstance(kind, StringType)
    }


def is_wrong(wrong_fields: Mapping[str, Column], name: str) -> Column:
    """Whether the field's value has the wrong type."""
    return (F.col("damage") == "wrong_type") & wrong_fields[name].isNotNull()


def with_faults(typed: DataFrame, rules: Sequence[Rule], follows: Mapping[str, Column]) -> DataFrame:
    """One row per line: `reason` (the first rule it breaks), `faults` and `raw`, bounded; null for a good line.

    `faults` has a place per rule: null, or the reason and its detail. For a line that
    cannot be parsed the damage is the only fault.

    Args:
        typed: lines with their fields and `damage`.
        rules: in order of precedence.
        follows: reason to the condition under which it only follows from an earlier fault, and is not reported.
    """
    reason = F.coalesce(*(F.when(condition, F.lit(name)) for name, condition, _ in rules))
    is_bad = F.col("reason").isNotNull()
    is_apart = F.coalesce(F.col("damage") == "wrong_type", F.lit(True))

    def fault(name: str, condition: Column, detail: Column | None) -> Column:
        bounded = F.lit(None).cast("string") if detail is None else F.left(detail, F.lit(_DETAIL_CHARACTERS))
        broken = F.when(condition, F.struct(F.lit(name).alias("reason"), bounded.alias("detail")))
        judged = broken if name not in follows else F.when(~F.coalesce(follows[name], F.lit(False)), broken)
        return judged if name in LINE_REASONS else F.when(is_apart, judged)

    return (
        typed.withColumn("reason", reason)
        .withColumn("faults", F.when(is_bad, F.array(*(fault(*rule) for rule in rules))))
        .withColumn("raw", F.when(is_bad, _printable(F.left("raw", F.lit(_RAW_CHARACTERS)))))
    )


def reasons_of(faults: str) -> Column:
    """Distinct reasons of a bad line, in the order of the rules; `reason` is the first."""
    return F.array_distinct(F.array_compact(faults).getField("reason"))


def detail_of(faults: str) -> Column:
    """Fields and values of all faults, with the allowed values of closed lists; null if the reasons say it all."""
    allowed = F.create_map(*(F.lit(value) for pair in _ALLOWED.items() for value in pair))

    def text(fault: Column) -> Column:
        hint = F.concat(F.lit(" (allowed: "), F.try_element_at(allowed, fault["reason"]), F.lit(")"))
        return F.concat(fault["detail"], F.coalesce(hint, F.lit("")))

    return F.nullif(F.array_join(F.transform(F.array_compact(faults), text), "; "), F.lit(""))


def no_time(name: str) -> Column:
    """Detail of an invalid time, with a hint if it looks like seconds."""
    text = F.concat(F.lit(f"{name}="), F.col(name))
    in_seconds = F.col(name).between(EARLIEST_MS // 1000, LATEST_MS // 1000)
    return F.when(in_seconds, F.concat(text, F.lit(' looks like seconds; map it with unit = "s"'))).otherwise(text)


def is_blank(name: str) -> Column:
    """Null, empty or white space."""
    return F.coalesce(F.trim(name) == "", F.lit(True))


def is_no_time(name: str) -> Column:
    """Outside 2015 to 2100; null for null."""
    return ~F.col(name).between(EARLIEST_MS, LATEST_MS - 1)


def holds_control(*names: str) -> Column:
    """Whether any of the strings or arrays of strings holds a control character; false if all are null."""
    return F.concat_ws(" ", *names).rlike(_CONTROL)


def controls(*names: str) -> Column:
    """Names and printable values of the strings or arrays of strings that hold a control character."""

    def shown(name: str) -> Column:
        return F.concat(F.lit(f"{name}="), _printable(F.concat_ws(" ", name), _CONTROL))

    return F.concat_ws(", ", *(F.when(holds_control(name), shown(name)) for name in names))


def _printable(text: Column, hidden: str = r"[\x00-\x08\x0b-\x1f\x7f]") -> Column:
    return F.regexp_replace(F.make_valid_utf8(text), hidden, "\ufffd")
