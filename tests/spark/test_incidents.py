"""Who noticed an incident first and last, who never did, and which sends it cost: both sides of each edge."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.effects.incidents import is_minor
from jobs.fault_latency.findings.lone_and_wide import wide_isolations
from tests.given.isolating_producers import call_row, incidents_of, isolation_row, send_row

Row = dict[str, object]


def _active(until_ms: int, *clients: str) -> list[tuple[object, ...]]:
    """Producers that send elsewhere in the first minute and in that of `until_ms`."""
    return [send_row("other", client, "SYNC", "SEND_OK", 1, at) for client in clients for at in (1, until_ms)]


def _told(row: Row, *names: str) -> list[object]:
    return [row[name] for name in names]


NOTICED = ("start_ms", "first_noticed_ms", "first_producer", "last_noticed_ms", "last_producer")


@pytest.mark.parametrize(
    ("began_ms", "expected"),
    [
        pytest.param(10_000, [70_000, 10_000, "p0", 70_000, "p1"], id="a minute before"),
        pytest.param(9_999, [70_000, 70_000, "p1", 70_000, "p1"], id="a millisecond longer: it held it already"),
    ],
)
def test_who_began_within_a_minute_noticed(spark: SparkSession, began_ms: int, expected: list[object]) -> None:
    isolations = [isolation_row("b", "p0", began_ms, 90_000), isolation_row("b", "p1", 70_000, 80_000)]
    (row,) = incidents_of(spark, isolations, _active(99_000, "p0", "p1", "p2", "p3"), [])
    assert _told(row, *NOTICED) == expected
    assert row["isolating_producers"] == 2


def test_of_those_who_began_together_the_ids_decide(spark: SparkSession) -> None:
    isolations = [isolation_row("b", client, 5_000, 9_000) for client in ("p1", "p0", "p2")]
    (row,) = incidents_of(spark, isolations, _active(20_000, "p0", "p1", "p2"), [])
    assert _told(row, *NOTICED) == [5_000, 5_000, "p0", 5_000, "p2"]


def test_when_everybody_held_it_long_before_the_first_of_them_counts(spark: SparkSession) -> None:
    """Two of four hold on while the others leave: at 240,000 it is two of two."""
    isolations = [isolation_row("b", "p0", 1_000, 280_000), isolation_row("b", "p1", 2_000, 270_000)]
    sends = [*_active(290_000, "p0", "p1"), *_active(200_000, "p2", "p3", "p4")]
    calls = [call_row("q", at_ms, "b", failed=True) for at_ms in (1_000, 239_999, 240_000, 279_999)]
    (row,) = incidents_of(spark, isolations, sends, calls)
    assert _told(row, "sends", "lost") == [2, 2]  # what failed before it began is not its cost
    assert _told(row, *NOTICED) == [240_000, 1_000, "p0", 2_000, "p1"]
    assert _told(row, "end_ms", "peak_producers", "producers") == [280_000, 2, 2]


def test_who_held_it_since_an_incident_before_is_not_the_first(spark: SparkSession) -> None:
    """p0 holds it on between two incidents, a second apart."""
    isolations = [
        isolation_row("b", "p0", 1_000, 50_000),
        isolation_row("b", "p1", 2_000, 9_000),
        isolation_row("b", "p2", 10_000, 20_000),
    ]
    first, second = incidents_of(spark, isolations, _active(20_000, "p0", "p1", "p2", "p3"), [])
    assert _told(first, *NOTICED) == [2_000, 1_000, "p0", 2_000, "p1"]
    assert _told(second, *NOTICED) == [10_000, 10_000, "p2", 10_000, "p2"]
    assert second["isolating_producers"] == 2


def test_who_never_noticed(spark: SparkSession) -> None:
    """Who tried the broker with the switch on, by its own choice; the first twenty of them by name."""
    isolations = [isolation_row("b", "p0", 1_000, 9_000)]
    calls = [call_row(f"q{number:02d}", 5_000, "b") for number in reversed(range(21))]
    others = [
        ("c", "q00", "another group", True, True, False, ["b"], 5_000, False, False, False),
        ("c", "off", "g", False, True, False, ["b"], 5_000, False, False, False),
        ("c", "caller", "g", True, True, True, ["b"], 5_000, False, False, False),
        ("c", "zz-go", "g", True, False, True, ["b"], 5_000, False, False, False),
        call_row("p0", 5_000, "b", "b"),
        call_row("elsewhere", 5_000, "other"),
    ]
    (row,) = incidents_of(spark, isolations, _active(20_000, "p0"), [*calls, *others])
    assert row["never_noticed"] == 23
    assert row["never_noticed_client_ids"] == [f"q{number:02d}" for number in range(20)]
    assert _told(row, "sends", "lost", "retried", "slowed") == [26, 0, 1, 0]


def test_sends_count_from_the_first_to_notice_to_the_end(spark: SparkSession) -> None:
    isolations = [isolation_row("b", "p0", 1_000, 9_000)]
    calls = [
        call_row("q0", 999, "b", failed=True),
        call_row("q1", 1_000, "b", failed=True),
        call_row("q2", 8_999, "b", "other", slow=True),  # retried and slow: retried
        call_row("q3", 9_000, "b", failed=True),
        call_row("q4", 2_000, "b", "other", failed=True),  # retried and lost: lost
        call_row("q5", 2_000, "b", failed=True, slow=True),
    ]
    (row,) = incidents_of(spark, isolations, _active(20_000, "p0"), calls)
    assert _told(row, "sends", "lost", "retried", "slowed", "never_noticed") == [4, 3, 1, 0, 4]


def test_an_incident_that_nobody_sent_into(spark: SparkSession) -> None:
    (row,) = incidents_of(spark, [isolation_row("b", "p0", 1_000, 9_000)], _active(20_000, "p0"), [])
    names = ("sends", "lost", "retried", "slowed", "never_noticed", "never_noticed_client_ids")
    assert _told(row, *names) == [0, 0, 0, 0, 0, []]


def test_an_isolation_counts_up_to_the_last_sign_of_life(spark: SparkSession) -> None:
    """p0 sends last at 59,999; p1, alone from the second minute on, isolates then."""
    isolations = [
        isolation_row("b", "p0", 50_000, 600_000, counted_until_ms=59_999),
        isolation_row("b", "p1", 70_000, 80_000),
    ]
    sends = [*_active(59_999, "p0"), send_row("other", "p1", "SYNC", "SEND_OK", 1, 61_000)]
    first, second = incidents_of(spark, isolations, sends, [])
    assert _told(first, "start_ms", "end_ms", "isolating_producers") == [50_000, 59_999, 1]
    assert _told(second, "start_ms", "end_ms", "isolating_producers", "producers") == [70_000, 80_000, 1, 1]


def test_what_was_carried_over_midnight_makes_its_producer_active(spark: SparkSession) -> None:
    """p0 isolates from 00:00 on and sends first in the second minute; a client that never sends counts for nothing."""
    isolations = [
        isolation_row("b", "p0", 0, 600_000, counted_until_ms=61_000),
        isolation_row("b", "p1", 0, 600_000, counted_until_ms=0),
    ]
    (row,) = incidents_of(spark, isolations, [send_row("other", "p0", "SYNC", "SEND_OK", 1, 61_000)], [])
    assert _told(row, "start_ms", "end_ms", "producers") == [0, 61_000, 1]


def test_two_processes_of_one_producer_are_one_producer(spark: SparkSession) -> None:
    """A rolling start under one client id: the old and the new process isolate it at once, a second apart."""
    of_both = [isolation_row("b", "p0", 1_000, 31_000), isolation_row("b", "p0", 2_000, 32_000)]
    other = isolation_row("b", "p1", 40_000, 50_000)
    (row,) = incidents_of(spark, of_both, _active(50_000, "p0"), [])
    names = ("start_ms", "end_ms", "peak_producers", "producers", "peak_share", "isolating_producers")
    assert _told(row, *names) == [1_000, 32_000, 1, 1, 1.0, 1]
    first, second = incidents_of(spark, [*of_both, other], _active(50_000, "p0", "p1"), [])
    assert _told(first, *names) == [1_000, 32_000, 1, 2, 0.5, 1]
    assert _told(second, *names) == [40_000, 50_000, 1, 2, 0.5, 1]
    assert incidents_of(spark, of_both, _active(50_000, "p0", "p1", "p2"), []) == []


def test_an_incident_is_minor_when_it_is_both_short_and_cheap(spark: SparkSession) -> None:
    """Shorter than 2 s, and fewer than 10 sends lost, retried and slowed together."""
    rows = [
        ("short, cheap", 0, 1_999, 3, 3, 3, True),
        ("not short", 0, 2_000, 0, 0, 0, False),
        ("not cheap", 0, 1, 10, 0, 0, False),
        ("not cheap by retries", 0, 1, 0, 10, 0, False),
        ("not cheap by slow ones", 5, 6, 4, 3, 3, False),
        ("neither", 0, 9_000, 99, 0, 0, False),
    ]
    kinds = "name string, start_ms bigint, end_ms bigint, lost bigint, retried bigint, slowed bigint, expected boolean"
    incidents = spark.createDataFrame(rows, kinds).withColumn("is_minor", is_minor(2_000, 10))
    assert [row["name"] for row in incidents.where("is_minor IS DISTINCT FROM expected").collect()] == []
    none = incidents.withColumn("is_minor", is_minor(0, 10) | is_minor(2_000, 0))
    assert none.where("is_minor").isEmpty()


def test_a_finding_is_critical_from_ten_lost_sends_but_for_a_minor_incident(spark: SparkSession) -> None:
    names = "lost bigint, is_minor boolean, expected string"
    rows = [(9, False, "WARNING"), (10, False, "CRITICAL"), (99, True, "WARNING")]
    cost = {"producers": 4, "isolating_producers": 2, "peak_producers": 2, "sends": 200, "retried": 0, "slowed": 0}
    of_broker = {"cluster": F.lit("c"), "broker_name": F.col("expected"), "peak_share": F.lit(0.5)}
    times = {"start_ms": F.col("lost"), "end_ms": F.lit(900)}
    incidents = spark.createDataFrame(rows, names).withColumns(
        {**of_broker, **times, **{name: F.lit(count) for name, count in cost.items()}}
    )
    found = wide_isolations(incidents).select("failures", "severity", "broker_name").collect()
    assert [row["severity"] for row in found] == [row["broker_name"] for row in found]
    assert sorted(row["failures"] for row in found) == [9, 10, 99]
