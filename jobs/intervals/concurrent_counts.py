"""Counts of overlapping intervals."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def concurrent_counts(intervals: DataFrame, keys: Sequence[str], counted: Sequence[str]) -> DataFrame:
    """The counts between consecutive starts and ends of the key's intervals.

    Grain: the keys and `start_ms`; `end_ms` (null after the last moment), and each of `counted`.

    Args:
        intervals: the keys, `start_ms`, `end_ms`, and for each counted column what the interval adds to it.
        keys: columns to count by.
        counted: columns to add up.

    Examples:
        >>> rows = [("a", 0, 5, 1), ("a", 3, 9, 1)]
        >>> intervals = spark.createDataFrame(rows, "k string, start_ms int, end_ms int, n int")
        >>> concurrent_counts(intervals, ["k"], ["n"]).orderBy("start_ms").show()
        +---+--------+---+------+
        |  k|start_ms|  n|end_ms|
        +---+--------+---+------+
        |  a|       0|  1|     3|
        |  a|       3|  2|     5|
        |  a|       5|  1|     9|
        |  a|       9|  0|  NULL|
        +---+--------+---+------+
        <BLANKLINE>
    """
    moves = F.explode(F.array(_move("start_ms", 1), _move("end_ms", -1))).alias("move")
    steps = (
        intervals.select(*keys, *counted, moves)
        .groupBy(*keys, F.col("move.at_ms").alias("start_ms"))
        .agg(*(F.sum(F.col(name) * F.col("move.sign")).alias(name) for name in counted))
    )
    in_time = Window.partitionBy(*keys).orderBy("start_ms")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return steps.withColumns(
        {**{name: F.sum(name).over(so_far) for name in counted}, "end_ms": F.lead("start_ms").over(in_time)}
    )


def _move(at: str, sign: int) -> Column:
    return F.struct(F.col(at).alias("at_ms"), F.lit(sign).alias("sign"))
