"""Consistency of the times of one send attempt, on a clock that may have been set meanwhile."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.plain_attempt_times import LARGEST_STEP_MS


def times_contradict(started_at_ms: Column, submitted_at_ms: Column, ended_at_ms: Column, latency_ms: Column) -> Column:
    """Whether two times of an attempt differ by more than a clock that was set during it, or a process that was paused.

    The latency is not the time from start to end, or the submit call returned before the start or after the end. In
    the recordings all three differ by 0 ms; a clock step of up to `LARGEST_STEP_MS` within an attempt is real.

    Args:
        started_at_ms: null = the end less the latency.
        submitted_at_ms: null = no submit call.
        ended_at_ms: not null.
        latency_ms: not null, and small enough to subtract from the end.

    Examples:
        >>> odd = 2_000_000
        >>> rows = [(1, 2, 4, 3), (None, None, 4, 3), (1, odd, 4, 3), (odd, None, 4, 3), (None, 9, 2**41, 0)]
        >>> frame = spark.createDataFrame(rows, "started bigint, submitted bigint, ended bigint, latency bigint")
        >>> found = times_contradict(F.col("started"), F.col("submitted"), F.col("ended"), F.col("latency"))
        >>> frame.select("*", found.alias("contradict")).show()
        +-------+---------+-------------+-------+----------+
        |started|submitted|        ended|latency|contradict|
        +-------+---------+-------------+-------+----------+
        |      1|        2|            4|      3|     false|
        |   NULL|     NULL|            4|      3|     false|
        |      1|  2000000|            4|      3|      true|
        |2000000|     NULL|            4|      3|      true|
        |   NULL|        9|2199023255552|      0|      true|
        +-------+---------+-------------+-------+----------+
        <BLANKLINE>
    """
    began_at_ms = ended_at_ms - latency_ms
    started = F.coalesce(started_at_ms, began_at_ms)
    return (
        ~(started - began_at_ms).between(-LARGEST_STEP_MS, LARGEST_STEP_MS)
        | F.coalesce(submitted_at_ms < started - LARGEST_STEP_MS, F.lit(False))
        | F.coalesce(submitted_at_ms > ended_at_ms + LARGEST_STEP_MS, F.lit(False))
    )
