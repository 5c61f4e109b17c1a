"""Intervals cut where others of their key begin or end, and what covers each part."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def split_at_boundaries(intervals: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The time of each key cut wherever one of its intervals begins or ends.

    Grain: the keys and `from_ms`; `until_ms` (exclusive). Gaps between intervals are parts too; what holds in a part is
    what `covering_join` joins to it.

    Examples:
        >>> intervals = spark.createDataFrame([("a", 0, 5), ("a", 3, 9)], "k string, start_ms int, end_ms int")
        >>> split_at_boundaries(intervals, ["k"]).orderBy("from_ms").show()
        +---+-------+--------+
        |  k|from_ms|until_ms|
        +---+-------+--------+
        |  a|      0|       3|
        |  a|      3|       5|
        |  a|      5|       9|
        +---+-------+--------+
        <BLANKLINE>
    """
    edges = intervals.select(*keys, F.explode(F.array("start_ms", "end_ms")).alias("from_ms")).distinct()
    in_time = Window.partitionBy(*keys).orderBy("from_ms")
    return edges.withColumn("until_ms", F.lead("from_ms").over(in_time)).where("until_ms IS NOT NULL")


def covering_join(parts: DataFrame, intervals: DataFrame, keys: Sequence[str]) -> DataFrame:
    """One row per part (`from_ms`, `until_ms`) and interval of its keys that covers it; parts of gaps are left out."""
    return parts.join(intervals, list(keys)).where("start_ms <= from_ms AND end_ms > from_ms")
