"""Snapshots to stretches: equal answers in a row are one stretch, so that unchanged inputs are kept and used once."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.tables.day import Day

STRETCH = ("start_ms", "end_ms")


def stretches(
    answers: DataFrame, keys: Sequence[str], value: str, day: Day, opening: DataFrame, max_staleness_ms: int
) -> DataFrame:
    """What was known of each key over the day.

    Grain: `keys`, `start_ms`. Columns: `keys`, `value`, `start_ms`, `end_ms` (exclusive),
    `last_answer_ms` (latest capture with this answer), `unanswered` (captures in between that told nothing).

    An answer holds until the next one, but no longer than `max_staleness_ms`, nor past the last capture of its key
    plus the usual (median) distance of its captures, nor past 24:00. A capture that tells nothing changes nothing.
    What stood at 00:00 and no longer is a stretch without length, for those who look for changes; see `lasting`.

    Args:
        answers: `captured_at_ms`, `keys`, `value`; a null value = nothing is known.
        keys: what an answer is about.
        value: name of the answer's column; any type that can be ordered.
        day: the day.
        opening: `keys`, `value`, `last_answer_ms`: what stood at 00:00, by answers of the day before.
        max_staleness_ms: how long an answer holds at most.
    """
    captures = answers.groupBy(*keys, "captured_at_ms").agg(F.max(value).alias(value))  # max leaves nulls out
    in_time = Window.partitionBy(*keys).orderBy("captured_at_ms")
    gap = F.col("captured_at_ms") - F.lag("captured_at_ms").over(in_time)
    of_key = Window.partitionBy(*keys)
    usual_ms = F.expr("percentile(gap, 0.5)").over(of_key).cast("bigint")
    last_ms = F.max("captured_at_ms").over(of_key) + F.coalesce(usual_ms, F.lit(max_staleness_ms))
    today = captures.withColumn("gap", gap).withColumn("captures_end_ms", last_ms).drop("gap")
    before = opening.select(
        *keys,
        F.col("last_answer_ms").alias("captured_at_ms"),
        value,
        F.lit(None).cast("bigint").alias("captures_end_ms"),
    )
    told_nothing = F.col(value).isNull().cast("bigint")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = today.unionByName(before).withColumns(
        {
            "nothing_so_far": F.sum(told_nothing).over(so_far),
            "nothing": F.sum(told_nothing).over(of_key),
            "captures_end_ms": F.max("captures_end_ms").over(of_key),
        }
    )
    known = counted.where(F.col(value).isNotNull())
    next_ms = F.coalesce(F.lead("captured_at_ms").over(in_time), "captures_end_ms", F.lit(day.end_ms))
    until = F.least(next_ms, F.col("captured_at_ms") + max_staleness_ms, F.lit(day.end_ms))
    unanswered = F.coalesce(F.lead("nothing_so_far").over(in_time), "nothing") - F.col("nothing_so_far")
    stood = (F.col("captured_at_ms") < day.start_ms) & (F.col("end_ms") == day.start_ms)
    held = known.withColumns(
        {
            "end_ms": until,
            "unanswered": unanswered,
            "start_ms": F.greatest("captured_at_ms", F.lit(day.start_ms)),
        }
    ).where((F.col("end_ms") > F.col("start_ms")) | stood)
    return merged(held, keys, (value,)).select(
        *keys, value, "start_ms", "end_ms", F.col("captured_at_ms").alias("last_answer_ms"), "unanswered"
    )


def lasting(stretches: DataFrame) -> DataFrame:
    """Without those that have no length."""
    return stretches.where("end_ms > start_ms")


def merged(stretches: DataFrame, keys: Sequence[str], values: Sequence[str]) -> DataFrame:
    """Stretches that touch and have equal values as one.

    Columns: `keys`, `values`, `start_ms`, `end_ms`; the greatest `captured_at_ms` and the sum of
    `unanswered` where there are such columns.
    """
    in_time = Window.partitionBy(*keys).orderBy(*STRETCH)
    same = F.col("start_ms") == F.lag("end_ms").over(in_time)
    for value in values:
        same = same & F.col(value).eqNullSafe(F.lag(value).over(in_time))
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    numbered = stretches.withColumn("begins", (~F.coalesce(same, F.lit(False))).cast("int")).withColumn(
        "number", F.sum("begins").over(so_far)
    )
    extras = {"captured_at_ms": F.max, "unanswered": F.sum}
    return (
        numbered.groupBy(*keys, "number")
        .agg(
            *(F.first(value).alias(value) for value in values),
            F.min("start_ms").alias("start_ms"),
            F.max("end_ms").alias("end_ms"),
            *(how(name).alias(name) for name, how in extras.items() if name in stretches.columns),
        )
        .drop("number")
    )


def united(stretches: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Stretches of equal keys that touch or overlap as one: `keys`, `start_ms`, `end_ms`."""
    in_time = Window.partitionBy(*keys).orderBy("start_ms", "end_ms")
    until_so_far = F.max("end_ms").over(in_time.rowsBetween(Window.unboundedPreceding, -1))
    begins = ~F.coalesce(F.col("start_ms") <= until_so_far, F.lit(False))
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    numbered = stretches.withColumn("begins", begins.cast("int")).withColumn("number", F.sum("begins").over(so_far))
    return (
        numbered.groupBy(*keys, "number")
        .agg(F.min("start_ms").alias("start_ms"), F.max("end_ms").alias("end_ms"))
        .drop("number")
    )


def pieces(stretches: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The time of each key cut wherever one of its stretches begins or ends: `keys`, `from_ms`, `until_ms`.

    Gaps between stretches are pieces too; what holds in a piece is what `holding` joins to it.
    """
    edges = stretches.select(*keys, F.explode(F.array(*STRETCH)).alias("from_ms")).distinct()
    in_time = Window.partitionBy(*keys).orderBy("from_ms")
    return edges.withColumn("until_ms", F.lead("from_ms").over(in_time)).where("until_ms IS NOT NULL")


def holding(pieces: DataFrame, stretches: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Each piece with each stretch of its `keys` that holds throughout it; a piece of a gap is in no row."""
    return pieces.join(stretches, list(keys)).where("start_ms <= from_ms AND end_ms > from_ms")
