"""Broker minutes and incidents on frames small enough to work out by hand."""

from __future__ import annotations

from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency.effects.broker_minutes import broker_windows
from tests.given.isolating_producers import ISOLATIONS, SENDS, call_row, incidents_of, isolation_row, send_row

WINDOWS = (
    "cluster string, broker_name string, window_start_ms bigint, sends bigint, failures bigint, latency_p50_ms bigint,"
    " latency_p95_ms bigint, latency_p99_ms bigint, latency_max_ms bigint, producers bigint,"
    " isolating_producers bigint, isolated_ms bigint"
)


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


def _seen(*clients: str) -> list[tuple[object, ...]]:
    """Producers that send to a healthy broker at 1 ms and at 20,000 ms: active in that minute."""
    return [send_row("other", client, "SYNC", "SEND_OK", 1, at) for client in clients for at in (1, 20_000)]


def test_an_incident_needs_its_share_of_the_active_producers(spark: SparkSession) -> None:
    isolations = [
        isolation_row("b", "p0", 1_000, 9_000),
        isolation_row("b", "p1", 3_000, 5_000),  # two of four from 3,000 on
        isolation_row("b", "p2", 5_000, 6_000),  # p1 hands over to p2: still two, one incident
        isolation_row("b", "p3", 8_000, 8_500),  # a second one
        isolation_row("d", "p0", 1_000, 9_000),  # one of four: none
        isolation_row("d", "p1", 1_000, 9_000, enforced=False),
    ]
    found = incidents_of(spark, isolations, _seen("p0", "p1", "p2", "p3"), [])
    told = [
        tuple(row[name] for name in ("start_ms", "end_ms", "peak_producers", "producers", "peak_share"))
        for row in found
    ]
    assert told == [(3_000, 6_000, 2, 4, 0.5), (8_000, 8_500, 2, 4, 0.5)]


def test_only_who_is_active_counts(spark: SparkSession) -> None:
    isolations = [
        isolation_row("b", "p0", 1_000, 9_000),
        isolation_row("b", "p1", 15_000, 90_000, counted_until_ms=20_000),  # then it sends no more
        isolation_row("d", "p9", 0, 500, counted_until_ms=0),  # sent nothing today
    ]
    later = send_row("other", "p2", "SYNC", "SEND_OK", 1, 70_000)
    found = incidents_of(spark, isolations, [*_seen("p0", "p1"), later], [])
    told = [(row["broker_name"], row["start_ms"], row["end_ms"], row["producers"]) for row in found]
    assert told == [("b", 1_000, 9_000, 2), ("b", 15_000, 20_000, 2)]


def test_who_noticed_and_what_it_cost(spark: SparkSession) -> None:
    isolations = [
        isolation_row("b", "p0", 1_000, 100_000),  # holds it long before
        isolation_row("b", "p1", 70_000, 90_000),
        isolation_row("b", "p2", 71_000, 80_000),
    ]
    sends = [
        send_row("other", client, "SYNC", "SEND_OK", 1, at)
        for client in ("p0", "p1", "p2", "p3", "p4")
        for at in (1, 99_000)
    ]
    calls = [
        call_row("p1", 69_999, "b", failed=True),  # before anybody noticed
        call_row("p1", 70_000, "b", "other"),  # retried
        call_row("p2", 71_000, "b", failed=True),  # lost
        call_row("p3", 75_000, "b", slow=True),  # slow, and did not notice
        call_row("p3", 76_000, "b"),
        call_row("p4", 76_000, "other", failed=True),  # did not try it
    ]
    (row,) = incidents_of(spark, isolations, sends, calls)
    expected = {
        "start_ms": 71_000, "end_ms": 80_000, "isolating_producers": 3, "first_noticed_ms": 70_000,
        "last_noticed_ms": 71_000, "first_producer": "p1", "last_producer": "p2", "never_noticed": 1,
        "never_noticed_client_ids": ["p3"], "sends": 4, "lost": 1, "retried": 1, "slowed": 1,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def test_no_producers_no_incident(spark: SparkSession) -> None:
    assert incidents_of(spark, [], [], []) == []
