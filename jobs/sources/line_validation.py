"""Validation of input lines: reason to reject a line, its day, its disposition, its number in the file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType

from jobs.settings.send_fields import EARLIEST_MS, LATEST_MS
from jobs.sources.json_lines import JSON, PLACE
from jobs.tables.day import DAY_MS

PUBLISHED, QUARANTINED, DUPLICATE, OTHER_DAY = "PUBLISHED", "QUARANTINED", "DUPLICATE", "OTHER_DAY"
BLANK = "BLANK"  # no row of the input: staged only because later lines are numbered past it
_RAW_CHARACTERS = 1_000
_DETAIL_CHARACTERS = 200
HASHES = ("row_hash", "second_hash")
"""Equal together only for equal fields (`with_row_hash`); an input without them has no copies."""
_EQUAL = ("cluster", "day", *HASHES)

Rule = tuple[str, Column, Column | None]
"""A reason, when it holds, and the detail that goes with it."""


def damage_rules(max_line_bytes: int, wrong_fields: Column) -> list[Rule]:
    """Rules that a line breaks before its fields are looked at.

    Args:
        max_line_bytes: longer lines are rejected.
        wrong_fields: names and texts of the fields whose value has the wrong type.
    """
    damage = F.col("damage")
    length = F.octet_length("raw")
    return [
        ("line_too_long", length > max_line_bytes, F.concat(length, F.lit(" bytes"))),
        ("invalid_utf8", damage == "invalid_utf8", None),
        ("not_json", damage == "not_json", None),
        ("not_an_object", damage == "not_an_object", None),
        ("wrong_type", damage == "wrong_type", wrong_fields),
    ]


def wrong_fields(
    fields: Mapping[str, DataType],
    column_of: Callable[[str], str] = str,
    meant: Callable[[str, Column], Column] = lambda _, text: text,
) -> Column:
    """Names and texts of the fields whose value is there but has the wrong type.

    Args:
        fields: each field and its type; a text is never wrong.
        column_of: where the line has a field, its own name by default; a dot leads into an object.
        meant: the text that counts, by the field's name and the text of the line; null when none does.
    """
    texts = F.from_json("raw", "map<string,string>", JSON)

    def text(column: str) -> Column:
        path = "".join(f"['{part}']" for part in column.split("."))
        return F.coalesce(texts[column], F.get_json_object("raw", f"${path}")) if "." in column else texts[column]

    wrong = [
        F.when(F.col(name).isNull(), F.concat(F.lit(f"{name}="), meant(name, text(column_of(name)))))
        for name, kind in fields.items()
        if not isinstance(kind, StringType)
    ]
    return F.concat_ws(", ", *wrong)


def with_reason(typed: DataFrame, rules: Sequence[Rule]) -> DataFrame:
    """One row per line: `reason` and `detail` of the first rule it breaks, and `raw`, bounded; null for a good line."""
    reason = F.coalesce(*(F.when(condition, F.lit(name)) for name, condition, _ in rules))
    detail = F.coalesce(*(F.when(F.col("reason") == name, text) for name, _, text in rules if text is not None))
    is_bad = F.col("reason").isNotNull()
    return (
        typed.withColumn("reason", reason)
        .withColumn("detail", F.when(is_bad, F.left(detail, F.lit(_DETAIL_CHARACTERS))))
        .withColumn("raw", F.when(is_bad, _printable(F.left("raw", F.lit(_RAW_CHARACTERS)))))
    )


def with_disposition(validated: DataFrame, instant: str, first_day: dt.date, last_day: dt.date) -> DataFrame:
    """One row per line, with `day` and `disposition`; duplicates are not looked for yet (`copies`).

    Args:
        validated: lines with `reason`, `damage` and the instant.
        instant: the column whose UTC day is the line's.
        first_day: first requested day.
        last_day: last requested day.
    """
    in_range = F.col(instant).between(EARLIEST_MS, LATEST_MS)
    day = F.when(in_range, F.date_from_unix_date(F.call_function("div", F.col(instant), F.lit(DAY_MS)).cast("int")))
    with_day = validated.withColumn("day", day)
    other_day = ~F.col("day").between(F.lit(first_day), F.lit(last_day))
    disposition = (
        F.when(F.col("damage") == "blank", BLANK)
        .when(other_day, OTHER_DAY)
        .when(F.col("reason").isNotNull(), QUARANTINED)
        .otherwise(PUBLISHED)
    )
    return with_day.withColumn("disposition", disposition)


def copies(staged: DataFrame) -> DataFrame:
    """One row (`PLACE`) per line to publish that is equal to one before it in file order.

    Bad lines are never duplicates. Only lines whose hashes occur twice are sorted.

    Args:
        staged: lines with `disposition` and the hashes of `with_row_hash`.
    """
    good = staged.where(F.col("disposition") == PUBLISHED).select(*PLACE, *_EQUAL)
    twice = good.groupBy(*_EQUAL).count().where("count > 1").select(*_EQUAL)
    in_file_order = Window.partitionBy(*_EQUAL).orderBy(*PLACE)
    copy = F.row_number().over(in_file_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    return good.join(twice, list(_EQUAL)).withColumn("copy", copy).where("copy > 1").select(*PLACE)


def line_counts(staged: DataFrame, *places: Column) -> DataFrame:
    """One row per `disposition`, `cluster`, `day` and place: `lines`, and `copies`, the rows of `copies` among them.

    Args:
        staged: lines with `disposition`; copies are counted where they have the hashes of `with_row_hash`.
        places: what else to count by.
    """
    hashes = [name for name in HASHES if name in staged.columns]
    counted = staged.where(F.col("disposition") != BLANK)
    equal = counted.groupBy("disposition", "cluster", "day", *places, *hashes).agg(F.count("*").alias("equal"))
    is_copied = (F.col("disposition") == PUBLISHED) & F.lit(bool(hashes))
    copies = F.sum(F.when(is_copied, F.col("equal") - 1).otherwise(0))
    by = [name for name in equal.columns if name not in (*hashes, "equal")]
    return equal.groupBy(*by).agg(F.sum("equal").alias("lines"), copies.alias("copies"))


def with_copies(staged: DataFrame, copies: DataFrame) -> DataFrame:
    """One row per staged line, those that are copies with the disposition DUPLICATE."""
    marked = staged.join(copies.withColumn("is_copy", F.lit(True)), list(PLACE), "left")
    disposition = F.when(F.col("is_copy"), DUPLICATE).otherwise(F.col("disposition"))
    return marked.withColumn("disposition", disposition).drop("is_copy")


def with_row_hash(typed: DataFrame, names: Sequence[str]) -> DataFrame:
    """One row per line, with `row_hash` and `second_hash` over the fields: equal together only for equal fields."""
    null_mask = reduce(
        Column.__add__, (F.col(name).isNull().cast("bigint") * (1 << place) for place, name in enumerate(names))
    )
    return typed.withColumns(
        {
            "row_hash": F.xxhash64(null_mask, *names),
            "second_hash": F.xxhash64(F.lit(7919), null_mask, *names),
        }
    )


def no_time(name: str) -> Column:
    """The detail of a time that is none; says so when it looks like seconds."""
    text = F.concat(F.lit(f"{name}="), F.col(name))
    in_seconds = F.col(name).between(EARLIEST_MS // 1000, LATEST_MS // 1000)
    return F.when(in_seconds, F.concat(text, F.lit(' looks like seconds; map it with unit = "s"'))).otherwise(text)


def is_blank(name: str) -> Column:
    """Null, empty or white space."""
    return F.coalesce(F.trim(name) == "", F.lit(True))


def is_no_time(name: str) -> Column:
    """Outside 2015 to 2100; null for null."""
    return ~F.col(name).between(EARLIEST_MS, LATEST_MS)


def holds_control(*names: str) -> Column:
    """Whether any of the texts, or of their arrays, holds a control character; false where all are null."""
    return F.concat_ws(" ", *names).rlike(r"[\x00-\x1f\x7f]")


def line_numbers(staged: DataFrame) -> DataFrame:
    """One row per `file` and `split`: `first_row`, `lines_before`, which turn a row's place into a line number.

    Args:
        staged: every line, blank ones too, with `file`, `split` and `row`.
    """
    splits = staged.groupBy("file", "split").agg(F.min("row").alias("first_row"), F.max("row").alias("last_row"))
    earlier = Window.partitionBy("file").orderBy("split").rowsBetween(Window.unboundedPreceding, -1)
    length = F.col("last_row") - F.col("first_row") + 1
    return splits.select(
        "file", "split", "first_row", F.coalesce(F.sum(length).over(earlier), F.lit(0)).alias("lines_before")
    )


def _printable(text: Column) -> Column:
    return F.regexp_replace(F.make_valid_utf8(text), r"[\x00-\x08\x0b-\x1f\x7f]", "\ufffd")
