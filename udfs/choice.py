"""The choice of a broker by a send attempt: when it was made, and how the attempt went."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from udfs.outcome import is_answer
from udfs.plain_outcome import ANSWERS, SENT


def began_at_ms() -> Column:
    """When the attempt of the row began, epoch ms: as logged, else its end less its latency."""
    return F.coalesce(F.col("started_at_ms"), F.col("ended_at_ms") - F.col("latency_ms"))


def chosen_at_ms(day_start_ms: Column) -> Column:
    """When the client chose the queue of the row's attempt, epoch ms: as it began, at 00:00 if it was under way then.

    Args:
        day_start_ms: 00:00 UTC of the day in which it ended.
    """
    return F.greatest(F.least(began_at_ms(), F.col("ended_at_ms")), day_start_ms)


def is_bad(outcome: Column, latency_ms: Column, slow_ms: int) -> Column:
    """The attempt failed, or took `slow_ms` or longer; a one-way send counts only if it failed.

    Examples:
        >>> rows = [("SEND_OK", 549), ("SEND_OK", 550), ("SENT", 900), ("RemotingConnectException", 1)]
        >>> frame = spark.createDataFrame(rows, "outcome string, latency_ms bigint")
        >>> frame.select("*", is_bad(F.col("outcome"), F.col("latency_ms"), 550).alias("is_bad")).show()
        +--------------------+----------+------+
        |             outcome|latency_ms|is_bad|
        +--------------------+----------+------+
        |             SEND_OK|       549| false|
        |             SEND_OK|       550|  true|
        |                SENT|       900| false|
        |RemotingConnectEx...|         1|  true|
        +--------------------+----------+------+
        <BLANKLINE>
    """
    return ~is_answer(outcome) | ((outcome != SENT) & (latency_ms >= slow_ms))


def is_plain(slow_ms: int) -> Column:
    """The attempt of the row, as a send by itself, was answered in time by the broker that it tried.

    Args:
        slow_ms: an answer this late is slow.

    Examples:
        >>> rows = [("a", 549, "SEND_OK"), ("a", 550, "SEND_OK"), ("b", 1, "SEND_OK"), (None, 9000, "SENT")]
        >>> columns = "result_broker_name string, latency_ms bigint, outcome string"
        >>> frame = spark.createDataFrame(rows, columns).withColumns(
        ...     {"broker_name": F.lit("a"), "started_at_ms": F.lit(None), "ended_at_ms": F.lit(10_000)}
        ... )
        >>> frame.select("result_broker_name", "latency_ms", is_plain(550).alias("is_plain")).show()
        +------------------+----------+--------+
        |result_broker_name|latency_ms|is_plain|
        +------------------+----------+--------+
        |                 a|       549|    true|
        |                 a|       550|   false|
        |                 b|         1|   false|
        |              NULL|      9000|    true|
        +------------------+----------+--------+
        <BLANKLINE>
    """
    took_ms = F.col("ended_at_ms") - F.least(began_at_ms(), F.col("ended_at_ms"))
    by_its_broker = F.coalesce(F.col("result_broker_name") == F.col("broker_name"), F.lit(True))
    in_time = ~F.col("outcome").isin(*ANSWERS) | (took_ms < slow_ms)
    return is_answer(F.col("outcome")) & by_its_broker & in_time
