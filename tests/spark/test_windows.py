"""Broker minutes and incidents on frames small enough to work out by hand."""

from __future__ import annotations

from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency.incidents import broker_incidents
from jobs.fault_latency.windows import broker_windows

SENDS = (
    "cluster string, broker_name string, client_id string, producer_group string, mode string, outcome string,"
    " latency_ms bigint, started_at_ms bigint, ended_at_ms bigint, enforced boolean"
)
ISOLATIONS = (
    "cluster string, broker_name string, client_id string, producer_group string, enforced boolean,"
    " start_ms bigint, end_ms bigint, continued_from_previous_day boolean, continues_next_day boolean"
)
CALLS = (
    "cluster string, client_id string, producer_group string, enforced boolean, is_replayed boolean,"
    " by_caller boolean, broker_names array<string>, ended_ms bigint, failed boolean, retried boolean, slow boolean"
)
WINDOWS = (
    "cluster string, broker_name string, window_start_ms bigint, sends bigint, failures bigint, latency_p50_ms bigint,"
    " latency_p95_ms bigint, latency_p99_ms bigint, latency_max_ms bigint, producers bigint,"
    " isolating_producers bigint, isolated_ms bigint"
)


def _send(broker: str, client: str, mode: str, outcome: str, latency_ms: int, ended_at_ms: int) -> tuple[object, ...]:
    return ("c", broker, client, "g", mode, outcome, latency_ms, ended_at_ms - latency_ms, ended_at_ms, True)


def _isolation(
    broker: str, client: str, start_ms: int, end_ms: int, *, enforced: bool = True, carried: bool = False
) -> tuple[object, ...]:
    return ("c", broker, client, "g", enforced, start_ms, end_ms, carried, False)


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


def _incidents(
    spark: SparkSession,
    isolations: list[tuple[object, ...]],
    sends: list[tuple[object, ...]],
    calls: list[tuple[object, ...]],
) -> list[dict[str, object]]:
    held = spark.createDataFrame(isolations, ISOLATIONS)
    attempts = spark.createDataFrame(sends, SENDS)
    sent = attempts.withColumnsRenamed({"started_at_ms": "first_began_ms", "ended_at_ms": "last_ended_ms"})
    found = broker_incidents(held, sent, spark.createDataFrame(calls, CALLS), 0.5, lambda _, frame: frame)
    return [row.asDict() for row in found.orderBy("broker_name", "start_ms").collect()]


def _seen(*clients: str) -> list[tuple[object, ...]]:
    """Producers that send to a healthy broker at 1 ms and at 20,000 ms: active in that minute."""
    return [_send("other", client, "SYNC", "SEND_OK", 1, at) for client in clients for at in (1, 20_000)]


def _call(client: str, ended_ms: int, *brokers: str, failed: bool = False, slow: bool = False) -> tuple[object, ...]:
    return ("c", client, "g", True, True, False, list(brokers), ended_ms, failed, len(brokers) > 1, slow)


def test_an_incident_needs_its_share_of_the_active_producers(spark: SparkSession) -> None:
    isolations = [
        _isolation("b", "p0", 1_000, 9_000),
        _isolation("b", "p1", 3_000, 5_000),  # two of four from 3,000 on
        _isolation("b", "p2", 5_000, 6_000),  # p1 hands over to p2: still two, one incident
        _isolation("b", "p3", 8_000, 8_500),  # a second one
        _isolation("d", "p0", 1_000, 9_000),  # one of four: none
        _isolation("d", "p1", 1_000, 9_000, enforced=False),
    ]
    found = _incidents(spark, isolations, _seen("p0", "p1", "p2", "p3"), [])
    told = [
        tuple(row[name] for name in ("start_ms", "end_ms", "peak_producers", "producers", "peak_share"))
        for row in found
    ]
    assert told == [(3_000, 6_000, 2, 4, 0.5), (8_000, 8_500, 2, 4, 0.5)]


def test_only_who_is_active_counts(spark: SparkSession) -> None:
    isolations = [
        _isolation("b", "p0", 1_000, 9_000),
        _isolation("b", "p1", 15_000, 90_000),  # one of two active until 60,000; then it sends no more
        _isolation("d", "p9", 0, 500, carried=True),  # sent nothing today: it is active at no time
    ]
    later = _send("other", "p2", "SYNC", "SEND_OK", 1, 70_000)
    found = _incidents(spark, isolations, [*_seen("p0", "p1"), later], [])
    told = [(row["broker_name"], row["start_ms"], row["end_ms"], row["producers"]) for row in found]
    assert told == [("b", 1_000, 9_000, 2), ("b", 15_000, 60_000, 2)]


def test_who_noticed_and_what_it_cost(spark: SparkSession) -> None:
    isolations = [
        _isolation("b", "p0", 1_000, 100_000),  # holds it long before
        _isolation("b", "p1", 70_000, 90_000),
        _isolation("b", "p2", 71_000, 80_000),
    ]
    sends = [
        _send("other", client, "SYNC", "SEND_OK", 1, at)
        for client in ("p0", "p1", "p2", "p3", "p4")
        for at in (1, 99_000)
    ]
    calls = [
        _call("p1", 69_999, "b", failed=True),  # before anybody noticed
        _call("p1", 70_000, "b", "other"),  # retried
        _call("p2", 71_000, "b", failed=True),  # lost
        _call("p3", 75_000, "b", slow=True),  # slow, and did not notice
        _call("p3", 76_000, "b"),
        _call("p4", 76_000, "other", failed=True),  # did not try it
    ]
    (row,) = _incidents(spark, isolations, sends, calls)
    expected = {
        "start_ms": 71_000, "end_ms": 80_000, "isolating_producers": 3, "first_noticed_ms": 70_000,
        "last_noticed_ms": 71_000, "first_producer": "p1", "last_producer": "p2", "never_noticed": 1,
        "never_noticed_client_ids": ["p3"], "sends": 4, "lost": 1, "retried": 1, "slowed": 1,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def test_no_producers_no_incident(spark: SparkSession) -> None:
    assert _incidents(spark, [], [], []) == []
