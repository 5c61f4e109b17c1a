"""Broker minutes on frames small enough to work out by hand."""

from __future__ import annotations

from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency.effects.broker_minutes import broker_windows

SENDS = (
    "cluster string, broker_name string, client_id string, producer_group string, mode string, outcome string,"
    " latency_ms bigint, started_at_ms bigint, ended_at_ms bigint, enforced boolean"
)
ISOLATIONS = (
    "cluster string, broker_name string, client_id string, producer_group string, enforced boolean,"
    " start_ms bigint, end_ms bigint, counted_until_ms bigint"
)
WINDOWS = (
    "cluster string, broker_name string, window_start_ms bigint, sends bigint, failures bigint, latency_p50_ms bigint,"
    " latency_p95_ms bigint, latency_p99_ms bigint, latency_max_ms bigint, producers bigint,"
    " isolating_producers bigint, isolated_ms bigint"
)


def send_row(
    broker: str, client: str, mode: str, outcome: str, latency_ms: int, ended_at_ms: int
) -> tuple[object, ...]:
    return ("c", broker, client, "g", mode, outcome, latency_ms, ended_at_ms - latency_ms, ended_at_ms, True)


def isolation_row(
    broker: str, client: str, start_ms: int, end_ms: int, *, enforced: bool = True, counted_until_ms: int | None = None
) -> tuple[object, ...]:
    counted = end_ms if counted_until_ms is None else counted_until_ms
    return ("c", broker, client, "g", enforced, start_ms, end_ms, counted)


def _windows(spark: SparkSession, sends: list[tuple[object, ...]], isolations: list[tuple[object, ...]]) -> DataFrame:
    found = broker_windows(spark.createDataFrame(sends, SENDS), spark.createDataFrame(isolations, ISOLATIONS))
    return found.select(*(name.split()[0] for name in WINDOWS.split(", ")))


def test_percentiles_are_measured_latencies_of_answered_sync_and_async_sends(spark: SparkSession) -> None:
    sends = [
        *(send_row("b", "p1", "SYNC", "SEND_OK", latency, 60_000 + latency) for latency in range(1, 21)),  # 1 … 20 ms
        send_row("b", "p2", "ASYNC", "FLUSH_DISK_TIMEOUT", 500, 60_500),  # an answer: counts
        send_row("b", "p2", "ONEWAY", "SENT", 9_000, 60_600),  # one-way: no answer expected
        send_row("b", "p3", "SYNC", "RemotingTimeoutException", 3_000, 63_000),  # a failure: no answer
    ]
    # 21 answers: the 11th is the median, the 20th (0.95 of 21 = 19.95) the p95, the 21st (20.79) the p99.
    expected = [("c", "b", 60_000, 23, 1, 11, 20, 500, 500, 3, 0, 0)]
    assert_df_equality(
        _windows(spark, sends, []),
        spark.createDataFrame(expected, WINDOWS),
        ignore_nullable=True,
        ignore_row_order=True,
    )


def test_a_percentile_is_the_lowest_latency_that_its_share_does_not_exceed(spark: SparkSession) -> None:
    """Half of two answers do not exceed the lower one; that of a one-way send is none, whatever its outcome."""
    sends = [
        send_row("b", "p1", "SYNC", "SEND_OK", 10, 60_100),
        send_row("b", "p1", "SYNC", "SEND_OK", 20, 60_200),
        send_row("b", "p1", "ONEWAY", "SEND_OK", 9_000, 60_300),
    ]
    expected = [("c", "b", 60_000, 3, 0, 10, 20, 20, 20, 1, 0, 0)]
    assert_df_equality(_windows(spark, sends, []), spark.createDataFrame(expected, WINDOWS), ignore_nullable=True)


def test_isolation_is_split_over_the_minutes_it_touches(spark: SparkSession) -> None:
    isolations = [
        isolation_row("b", "p1", 59_000, 121_000),  # 1 s, 60 s, 1 s
        isolation_row("b", "p2", 60_000, 120_000),  # exactly the second minute
        isolation_row("b", "p3", 60_000, 90_000, enforced=False),  # the switch was off
        isolation_row("b", "p5", 60_000, 99_000, counted_until_ms=60_000),  # it died when it opened
        isolation_row("b", "p4", 70_000, 70_000),  # no length: only another order of ties holds it
    ]
    expected = [
        ("c", "b", 0, 0, 0, None, None, None, None, 0, 1, 1_000),
        ("c", "b", 60_000, 0, 0, None, None, None, None, 0, 2, 120_000),
        ("c", "b", 120_000, 0, 0, None, None, None, None, 0, 1, 1_000),
    ]
    assert_df_equality(
        _windows(spark, [], isolations),
        spark.createDataFrame(expected, WINDOWS),
        ignore_nullable=True,
        ignore_row_order=True,
    )
