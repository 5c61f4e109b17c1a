"""Dispositions of input lines: day, disposition, copies, and number in the file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.settings.send_fields import EARLIEST_MS, LATEST_MS
from jobs.sources.json_lines import PLACE
from jobs.tables.day import DAY_MS

PUBLISHED, QUARANTINED, DUPLICATE, OTHER_DAY = "PUBLISHED", "QUARANTINED", "DUPLICATE", "OTHER_DAY"
BLANK = "BLANK"  # not a row of the input: staged only because later lines are numbered past it
HASHES = ("row_hash", "second_hash")
"""Equal together only for equal fields (`with_row_hash`); an input without them has no copies."""
_EQUAL = ("cluster", "day", *HASHES)


def with_disposition(validated: DataFrame, instant: str, first_day: dt.date, last_day: dt.date) -> DataFrame:
    """One row per line, with `day` and `disposition`; duplicates are not looked for yet (`copies`).

    Args:
        validated: lines with `reason`, `damage` and the instant.
        instant: the column whose UTC day is the line's.
        first_day: first requested day.
        last_day: last requested day.
    """
    in_range = F.col(instant).between(EARLIEST_MS, LATEST_MS - 1)
    day = F.when(in_range, F.date_from_unix_date(F.call_function("div", F.col(instant), F.lit(DAY_MS)).cast("int")))
    with_day = validated.withColumn("day", day)
    other_day = ~F.col("day").between(F.lit(first_day), F.lit(last_day))
    disposition = (
        F.when(F.col("damage").isin("blank", "WITHOUT_HEAD"), BLANK)
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
        places: further columns to count by.
    """
    hashes = [name for name in HASHES if name in staged.columns]
    lines = staged.where(F.col("disposition") != BLANK)
    equal = lines.groupBy("disposition", "cluster", "day", *places, *hashes).agg(F.count("*").alias("equal"))
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
