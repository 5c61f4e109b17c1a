"""Intervals of equal answers, so that what does not change between snapshots is computed once."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.intervals.coalesce import coalesce_equal
from jobs.tables.day import Day

INTERVAL = ("start_ms", "end_ms")


def answer_intervals(
    answers: DataFrame,
    keys: Sequence[str],
    value: str,
    day: Day,
    opening: DataFrame,
    max_staleness_ms: int,
    ends: Column | None = None,
) -> DataFrame:
    """Intervals of equal answers per key.

    Grain: `keys`, `end_ms`. Columns: `keys`, `value`, `start_ms`, `end_ms` (exclusive), `last_answer_ms`
    (latest capture with this answer), `unanswered` (captures in between without an answer).

    An answer holds until the next one, but no longer than `max_staleness_ms`, nor past the last capture of its key plus
    the usual (median) distance of its captures, nor past 24:00. A capture without an answer changes nothing, unless it
    `ends` the answer before it.

    What held until 00:00 and no longer is an interval without length, for those who look for changes; an answer of
    00:00 starts with it. `lasting` leaves it out.

    Args:
        answers: `captured_at_ms`, `keys`, `value`; a null value = nothing is known.
        keys: what an answer is about.
        value: name of the answer's column; any type that can be ordered.
        day: the day.
        opening: `keys`, `value`, `last_answer_ms`: valid at 00:00, by answers of the day before.
        max_staleness_ms: how long an answer holds at most.
        ends: whether a capture without an answer shows that the one before holds no longer; None = none does.
    """
    ends = F.lit(False) if ends is None else ends
    captures = answers.groupBy(*keys, "captured_at_ms").agg(  # max leaves nulls out
        F.max(value).alias(value), F.bool_or(ends).alias("ends")
    )
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
        F.lit(False).alias("ends"),
        F.lit(None).cast("bigint").alias("captures_end_ms"),
    )
    is_unanswered = F.col(value).isNull().cast("bigint")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    captures = today.unionByName(before).withColumns(
        {
            "nothing_so_far": F.sum(is_unanswered).over(so_far),
            "nothing": F.sum(is_unanswered).over(of_key),
            "captures_end_ms": F.max("captures_end_ms").over(of_key),
        }
    )
    bounds = captures.where(F.col(value).isNotNull() | F.col("ends"))
    answered = bounds.withColumn("next_ms", F.lead("captured_at_ms").over(in_time)).where(F.col(value).isNotNull())
    next_ms = F.coalesce("next_ms", "captures_end_ms", F.lit(day.end_ms))
    until = F.least(next_ms, F.col("captured_at_ms") + max_staleness_ms, F.lit(day.end_ms))
    unanswered = F.coalesce(F.lead("nothing_so_far").over(in_time), "nothing") - F.col("nothing_so_far")
    has_ended = (F.col("captured_at_ms") < day.start_ms) & (F.col("end_ms") == day.start_ms)
    answered_today = answered.withColumns(
        {
            "end_ms": until,
            "unanswered": unanswered,
            "start_ms": F.greatest("captured_at_ms", F.lit(day.start_ms)),
        }
    ).where((F.col("end_ms") > F.col("start_ms")) | has_ended)
    evidence = [F.max("captured_at_ms").alias("last_answer_ms"), F.sum("unanswered").alias("unanswered")]
    return coalesce_equal(answered_today, keys, (value,), evidence)


def lasting(intervals: DataFrame) -> DataFrame:
    """Those that have a length."""
    return intervals.where("end_ms > start_ms")
