"""Broker minutes and incidents on frames small enough to work out by hand."""

from __future__ import annotations

from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency.incidents import broker_incidents
from jobs.fault_latency.windows import broker_windows

SENDS = (
    "cluster string, broker_name string, client_id string, producer_group string, mode string, outcome string,"
    " latency_ms bigint, ended_at_ms bigint, enforced boolean"
)
ISOLATIONS = (
    "cluster string, broker_name string, client_id string, producer_group string, enforced boolean,"
    " start_ms bigint, end_ms bigint"
)
WINDOWS = (
    "cluster string, broker_name string, window_start_ms bigint, sends bigint, failures bigint, latency_p50_ms bigint,"
    " latency_p95_ms bigint, latency_p99_ms bigint, latency_max_ms bigint, producers bigint,"
    " isolating_producers bigint, isolated_ms bigint"
)
INCIDENTS = (
    "cluster string, broker_name string, start_ms bigint, end_ms bigint, peak_producers bigint, producers bigint,"
    " peak_share double"
)


def _send(broker: str, client: str, mode: str, outcome: str, latency_ms: int, ended_at_ms: int) -> tuple[object, ...]:
    return ("c", broker, client, "g", mode, outcome, latency_ms, ended_at_ms, True)


def _isolation(broker: str, client: str, start_ms: int, end_ms: int, *, enforced: bool = True) -> tuple[object, ...]:
    return ("c", broker, client, "g", enforced, start_ms, end_ms)


def _windows(spark: SparkSession, sends: list[tuple[object, ...]], isolations: list[tuple[object, ...]]) -> DataFrame:
    found = broker_windows(spark.createDataFrame(sends, SENDS), spark.createDataFrame(isolations, ISOLATIONS))
    return found.select(*(name.split()[0] for name in WINDOWS.split(", ")))


def test_percentiles_are_measured_latencies_of_answered_sync_and_async_sends(spark: SparkSession) -> None:
    sends = [
        *(_send("b", "p1", "SYNC", "SEND_OK", latency, 60_000 + latency) for latency in range(1, 21)),  # 1 … 20 ms
        _send("b", "p2", "ASYNC", "FLUSH_DISK_TIMEOUT", 500, 60_500),  # an answer: counts
        _send("b", "p2", "ONEWAY", "SENT", 9_000, 60_600),  # one-way: no answer expected
        _send("b", "p3", "SYNC", "RemotingTimeoutException", 3_000, 63_000),  # a failure: no answer
    ]
    # 21 answers: the 11th is the median, the 20th (0.95 of 21 = 19.95) the p95, the 21st (20.79) the p99.
    expected = [("c", "b", 60_000, 23, 1, 11, 20, 500, 500, 3, 0, 0)]
    assert_df_equality(
        _windows(spark, sends, []),
        spark.createDataFrame(expected, WINDOWS),
        ignore_nullable=True,
        ignore_row_order=True,
    )


def test_isolation_is_split_over_the_minutes_it_touches(spark: SparkSession) -> None:
    isolations = [
        _isolation("b", "p1", 59_000, 121_000),  # 1 s, 60 s, 1 s
        _isolation("b", "p2", 60_000, 120_000),  # exactly the second minute
        _isolation("b", "p3", 60_000, 90_000, enforced=False),  # the switch was off
        _isolation("b", "p4", 70_000, 70_000),  # no length: only another order of ties holds it
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


def test_an_incident_needs_its_share_of_the_producers(spark: SparkSession) -> None:
    sends = spark.createDataFrame([_send("b", f"p{place}", "SYNC", "SEND_OK", 1, 1) for place in range(4)], SENDS)
    isolations = spark.createDataFrame(
        [
            _isolation("b", "p0", 1_000, 9_000),
            _isolation("b", "p1", 3_000, 5_000),  # two of four from 3,000 on
            _isolation("b", "p2", 5_000, 6_000),  # p1 hands over to p2: still two, one incident
            _isolation("b", "p3", 8_000, 8_500),  # a second one
            _isolation("d", "p0", 1_000, 9_000),  # one of four: none
            _isolation("d", "p1", 1_000, 9_000, enforced=False),
        ],
        ISOLATIONS,
    )
    expected = [("c", "b", 3_000, 6_000, 2, 4, 0.5), ("c", "b", 8_000, 8_500, 2, 4, 0.5)]
    found = broker_incidents(isolations, sends, 0.5).select(*(name.split()[0] for name in INCIDENTS.split(", ")))
    assert_df_equality(found, spark.createDataFrame(expected, INCIDENTS), ignore_nullable=True, ignore_row_order=True)


def test_no_producers_no_incident(spark: SparkSession) -> None:
    none = broker_incidents(spark.createDataFrame([], ISOLATIONS), spark.createDataFrame([], SENDS), 0.0)
    assert none.isEmpty()
