"""Gaps and islands: merges intervals that belong together."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def coalesce_overlapping(
    intervals: DataFrame, keys: Sequence[str], evidence: Sequence[Column] = (), *, gap_ms: int = 0
) -> DataFrame:
    """One interval for each run of those that overlap, touch or lie at most `gap_ms` apart.

    Grain: the keys and `start_ms`; `end_ms`, and the evidence.

    Args:
        intervals: the keys, `start_ms`, `end_ms`, and the columns of the evidence.
        keys: columns to merge by; null is a key like any other.
        evidence: named aggregates over the run's rows.
        gap_ms: longest pause within a run.

    Examples:
        >>> rows = [("a", 0, 5), ("a", 5, 7), ("a", 9, 12)]
        >>> intervals = spark.createDataFrame(rows, "k string, start_ms int, end_ms int")
        >>> coalesce_overlapping(intervals, ["k"], [F.count("*").alias("rows")]).orderBy("start_ms").show()
        +---+--------+------+----+
        |  k|start_ms|end_ms|rows|
        +---+--------+------+----+
        |  a|       0|     7|   2|
        |  a|       9|    12|   1|
        +---+--------+------+----+
        <BLANKLINE>
    """
    in_time = Window.partitionBy(*keys).orderBy("start_ms", "end_ms")
    before = in_time.rowsBetween(Window.unboundedPreceding, -1)
    is_apart = F.col("start_ms") - F.max("end_ms").over(before) > gap_ms
    return _runs(intervals.withColumn("begins", F.coalesce(is_apart, F.lit(False))), keys, evidence)


def coalesce_equal(
    intervals: DataFrame, keys: Sequence[str], values: Sequence[str], evidence: Sequence[Column] = ()
) -> DataFrame:
    """One interval for each run of those that touch and have equal values.

    Grain: the keys and `start_ms`; `end_ms`, the values and the evidence.

    Args:
        intervals: the keys, the values, `start_ms`, `end_ms`; those of one key do not overlap.
        keys: columns to merge by.
        values: columns that have to be equal; nulls are.
        evidence: named aggregates over the run's rows.

    Examples:
        >>> rows = [("a", 0, 5, 1), ("a", 5, 7, 1), ("a", 7, 9, 2), ("a", 10, 12, 2)]
        >>> rows += [("a", 12, 13, None), ("a", 13, 15, None)]
        >>> intervals = spark.createDataFrame(rows, "k string, start_ms int, end_ms int, v int")
        >>> coalesce_equal(intervals, ["k"], ["v"]).orderBy("start_ms", "end_ms").show()
        +---+----+--------+------+
        |  k|   v|start_ms|end_ms|
        +---+----+--------+------+
        |  a|   1|       0|     7|
        |  a|   2|       7|     9|
        |  a|   2|      10|    12|
        |  a|NULL|      12|    15|
        +---+----+--------+------+
        <BLANKLINE>
    """
    in_time = Window.partitionBy(*keys).orderBy("start_ms", "end_ms")
    continues = F.col("start_ms") == F.lag("end_ms").over(in_time)
    for value in values:
        continues = continues & F.col(value).eqNullSafe(F.lag(value).over(in_time))
    numbered = intervals.withColumn("begins", ~F.coalesce(continues, F.lit(False)))
    firsts = [F.first(value).alias(value) for value in values]
    runs = _runs(numbered, keys, [*firsts, *evidence])
    others = [name for name in runs.columns if name not in {*keys, *values, "start_ms", "end_ms"}]
    return runs.select(*keys, *values, "start_ms", "end_ms", *others)


def _runs(intervals: DataFrame, keys: Sequence[str], evidence: Sequence[Column]) -> DataFrame:
    """Merge the rows from each one that `begins` up to the next; the first always begins."""
    in_time = Window.partitionBy(*keys).orderBy("start_ms", "end_ms")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        intervals.withColumn("run", F.count_if("begins").over(so_far))
        .groupBy(*keys, "run")
        .agg(F.min("start_ms").alias("start_ms"), F.max("end_ms").alias("end_ms"), *evidence)
        .drop("run")
    )
