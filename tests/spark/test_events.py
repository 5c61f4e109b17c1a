"""Who avoided a broker in trouble and for how long, what the trouble cost, and which findings follow from it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency.effects.events import of_event, with_avoidance, with_cost, with_event, with_midnight
from jobs.fault_latency.findings.avoided_too_long import avoided_too_long
from jobs.fault_latency.producers.rules import policies
from jobs.settings.client_profiles import released_profiles
from jobs.tables.day import Day

EVENTS = (
    "cluster string, event_id string, brokers array<string>, bad_from_ms bigint, last_bad_ms bigint,"
    " bad_until_ms bigint, avoided_until_ms bigint, sent_by array<string>"
)
ISOLATIONS = (
    "cluster string, client_id string, producer_group string, broker_name string, enforced boolean,"
    " client_version string, policy string, cause string, start_ms bigint, counted_until_ms bigint"
)
CALLS = (
    "cluster string, client_id string, producer_group string, row_hash bigint, broker_names array<string>,"
    " started_ms bigint, ended_ms bigint, failed boolean, retried boolean, slow boolean"
)
FINDINGS = "cluster string, kind string, broker_name string, brokers array<string>, start_ms bigint, end_ms bigint"
S, GAP_MS = 1_000, 30_000
SENT_BY = [f"1 {client}g" for client in "pqr"]


def event(
    event_id: str, brokers: list[str], from_s: float, to_s: float, until_s: float | None = None, over_s: float = 0
) -> tuple[Any, ...]:
    until_ms = None if until_s is None else int(until_s * S)
    return ("c", event_id, brokers, int(from_s * S), int(to_s * S), until_ms, int(over_s * S) or None, SENT_BY)


def isolation(
    client_id: str,
    broker: str,
    start_s: float,
    until_s: float,
    *,
    on: bool = True,
    group: str = "g",
    policy: str = "P2",
) -> tuple[Any, ...]:
    version = {"P2": "4.9.8", "P5": "5.3.3"}[policy]
    return (
        "c",
        client_id,
        group,
        broker,
        on,
        version,
        policy,
        "RemotingConnectException",
        int(start_s * S),
        int(until_s * S),
    )


def call(number: int, brokers: list[str], from_s: float, to_s: float, how: str) -> tuple[Any, ...]:
    outcome = (how == "lost", how == "saved", how == "slow")
    return ("c", "p", "g", number, brokers, int(from_s * S), int(to_s * S), *outcome)


@pytest.fixture(scope="module")
def two(spark: SparkSession) -> DataFrame:
    """The one begins at broker a, the other, while it lasts, at b; both are over at 120."""
    return spark.createDataFrame([event("first", ["a"], 100, 110, 120), event("second", ["b"], 105, 120, 121)], EVENTS)


def test_who_isolates_a_broker_of_it_meanwhile_avoids_it(spark: SparkSession) -> None:
    found = spark.createDataFrame([event("e", ["a", "b"], 100, 110, 112)], EVENTS)
    rows = [
        isolation("p", "a", 103, 703), isolation("q", "b", 110.9, 121), isolation("q", "b", 105, 106),
        isolation("r", "a", 99, 400),  # since before
        isolation("s", "a", 98, 900),  # sent nothing to it meanwhile
        isolation("over", "a", 90, 100), isolation("later", "b", 111.1, 900), isolation("other", "c", 105, 900),
        isolation("off", "a", 103, 900, on=False),
        isolation("dead", "a", 103, 103),  # no sign of life after its start
    ]  # fmt: skip
    found = found.drop("avoided_until_ms")
    (row,) = with_avoidance(found, spark.createDataFrame(rows, ISOLATIONS)).collect()
    assert (row["avoiding_producers"], row["avoided_from_ms"], row["avoided_until_ms"]) == (3, 99 * S, 703 * S)
    assert row["avoided_after_ms"] == (703 - 112) * S
    (row,) = with_avoidance(found, spark.createDataFrame([], ISOLATIONS)).collect()
    assert (row["avoiding_producers"], row["avoided_after_ms"]) == (0, None)


def test_avoidance_ends_where_the_next_event_begins(spark: SparkSession) -> None:
    found = spark.createDataFrame([event("e", ["a"], 100, 110, 112), event("f", ["a"], 400, 401, 402)], EVENTS)
    rows = spark.createDataFrame([isolation("p", "a", 103, 703)], ISOLATIONS)
    ends = {
        row["event_id"]: row["avoided_until_ms"]
        for row in with_avoidance(found.drop("avoided_until_ms"), rows).collect()
    }
    assert ends == {"e": 400 * S, "f": 703 * S}


def test_a_send_counts_once_at_the_first_of_its_brokers_in_an_event(spark: SparkSession, two: DataFrame) -> None:
    rows = [
        call(1, ["a", "b", "a"], 106, 109, "lost"), call(2, ["b", "a"], 111, 112, "saved"),
        call(3, ["a"], 90, 101, "slow"),
        call(4, ["a"], 111, 112, "lost"),  # after it
        call(5, ["c"], 105, 106, "lost"),  # another broker
        call(6, ["b", "a"], 106, 108, "saved"),  # failed at b, while a was in trouble too
    ]  # fmt: skip
    calls = with_event(spark.createDataFrame(rows, CALLS), two)
    assert {row["row_hash"]: row["event_id"] for row in calls.collect()} == {
        1: "first", 2: "second", 3: "first", 4: None, 5: None, 6: "second",
    }  # fmt: skip
    cost = {row["event_id"]: row for row in with_cost(two, calls).collect()}
    assert {name: (row["lost_sends"], row["saved_sends"], row["slow_sends"]) for name, row in cost.items()} == {
        "first": (1, 0, 1),
        "second": (0, 2, 0),
    }


@pytest.mark.parametrize(
    ("lost", "saved", "slow", "severity"),
    [
        (10, 0, 0, "CRITICAL"), (9, 99, 99, "WARNING"), (1, 0, 0, "WARNING"), (0, 5, 5, "WARNING"), (0, 5, 4, "INFO"),
        (0, 0, 0, "INFO"),
    ],
)  # fmt: skip
def test_what_was_lost_makes_it_grave(
    spark: SparkSession, two: DataFrame, lost: int, saved: int, slow: int, severity: str
) -> None:
    how = [*["lost"] * lost, *["saved"] * saved, *["slow"] * slow]
    calls = spark.createDataFrame([call(number, ["a"], 101, 102, one) for number, one in enumerate(how)], CALLS)
    of = {row["event_id"]: row["severity"] for row in with_cost(two, with_event(calls, two)).collect()}
    assert of == {"first": severity, "second": "INFO"}


def test_a_group_that_avoids_a_broker_long_after_it_answered(spark: SparkSession) -> None:
    """An outage of 36 s, after which 4.9.8 stays away for ten minutes by its ladder, and 5.3.3 for ten seconds."""
    outage = spark.createDataFrame([event("e", ["a"], 100, 136, 140), event("next", ["a"], 500, 510, 511)], EVENTS)
    rows = [
        isolation("p", "a", 103, 703, group="old"), isolation("q", "a", 136, 300, group="old"),
        isolation("r", "a", 136, 146, group="new", policy="P5"), isolation("s", "a", 101, 130, group="brief"),
    ]  # fmt: skip
    found = avoided_too_long(outage, spark.createDataFrame(rows, ISOLATIONS), policies(released_profiles(), {}), 60_000)
    first, second = found.orderBy("start_ms").collect()
    assert (first["kind"], first["severity"], first["producer_group"], first["broker_name"]) == (
        "AVOIDED_TOO_LONG", "WARNING", "old", "a",
    )  # fmt: skip
    assert (first["start_ms"], first["end_ms"], first["isolated_ms"], first["producers"]) == (
        140 * S, 500 * S, (360 + 160) * S, 2,
    )  # fmt: skip
    assert first["sentence"] == (
        "old (4.9.8, 2 producers) avoided a for up to 6 min 00 s after it answered again at 00:02:20: its ladder"
        " isolates for 10 min 00 s after a failure, the newest release's for 10.0 s"
    )
    assert (second["start_ms"], second["end_ms"], second["isolated_ms"]) == (511 * S, 703 * S, 192 * S)


def test_who_did_not_avoid_it_for_long_is_not_in_it(spark: SparkSession) -> None:
    """One group of two versions; and one that latency isolated, about which the ladder's failure says nothing."""
    outage = spark.createDataFrame([event("e", ["a"], 100, 136, 140)], EVENTS)
    by_latency = ("c", "s", "slow", "a", True, "4.9.8", "P2", "LATENCY", 110 * S, 710 * S)
    rows = [isolation("p", "a", 103, 703), isolation("r", "a", 136, 146, policy="P5"), by_latency]
    found = avoided_too_long(outage, spark.createDataFrame(rows, ISOLATIONS), policies(released_profiles(), {}), 60_000)
    sentences = {row["producer_group"]: row["sentence"] for row in found.collect()}
    assert sentences["g"].startswith("g (4.9.8, 1 producer) avoided a for up to 9 min 23 s after it answered again")
    assert (
        sentences["slow"]
        == "slow (4.9.8, 1 producer) avoided a for up to 9 min 30 s after it answered again at 00:02:20"
    )


@pytest.mark.parametrize("answered_s", [None, 703.5])
def test_a_broker_that_nobody_tried_meanwhile(spark: SparkSession, answered_s: float | None) -> None:
    """Everybody keeps away: whether it was well again, no line shows."""
    outage = spark.createDataFrame([event("e", ["a"], 100, 136, answered_s)], EVENTS)
    rows = spark.createDataFrame([isolation("p", "a", 103, 703)], ISOLATIONS)
    (row,) = avoided_too_long(outage, rows, policies(released_profiles(), {}), 60_000).collect()
    assert (row["start_ms"], row["isolated_ms"]) == (136 * S, 567 * S)
    assert row["sentence"].startswith(
        "g (4.9.8, 1 producer) avoided a for up to 9 min 27 s after its last bad attempt at 00:02:16, and nobody had an"
        " answer from it meanwhile: its ladder isolates for 10 min 00 s"
    )


@pytest.mark.parametrize(
    ("kind", "broker", "brokers", "start_s", "expected"),
    [
        ("X", "a", None, 103, "first"),
        ("X", "a", None, 139, "first"),  # less than the gap after its last bad attempt
        ("X", "a", None, 141, None),
        ("X", "b", None, 699, "long"),  # while it is avoided
        ("X", "b", None, 90, None),
        ("X", None, ["a", "b"], 104, "long"),  # the later of two
        ("X", None, None, 103, None),
        ("X", "d", None, 103, None),
        ("X", "e", None, 699, "long"),  # the second of its event's brokers
        ("COLLATERAL_ISOLATION", "d", None, 104, "long"),  # of a healthy broker
        ("COLLATERAL_ISOLATION", "a", None, 104, "first"),
    ],
)
def test_a_finding_follows_from_the_last_event_at_its_broker(
    spark: SparkSession, kind: str, broker: str | None, brokers: list[str] | None, start_s: int, expected: str | None
) -> None:
    found = spark.createDataFrame(
        [event("first", ["a"], 100, 110, 112), event("long", ["b", "e"], 103, 110, 112, over_s=700)], EVENTS
    )
    rows = spark.createDataFrame([("c", kind, broker, brokers, start_s * S, start_s * S + 1)], FINDINGS)
    (row,) = of_event(rows, found, GAP_MS).collect()
    assert row["event_id"] == expected


def test_a_finding_of_a_night_without_events_stays(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("c", "X", "a", None, 1, 2)], FINDINGS)
    (row,) = of_event(rows, spark.createDataFrame([], EVENTS), GAP_MS).collect()
    assert row["event_id"] is None


def test_an_event_over_midnight_is_flagged_on_both_days(spark: SparkSession) -> None:
    day = Day(dt.date(1970, 1, 1), "c")
    late = [event("a", ["a"], 86_390, 86_395), event("b", ["b"], 86_390, 86_395, 86_399), event("d", ["d"], 1, 86_370)]
    nothing = spark.createDataFrame([], EVENTS)
    first = with_midnight(spark.createDataFrame(late, EVENTS), nothing, day, GAP_MS)
    flags = {
        row["event_id"]: (row["continued_from_previous_day"], row["continues_next_day"]) for row in first.collect()
    }
    assert flags == {"a": (False, True), "b": (False, False), "d": (False, False)}

    early = [event("e", ["a"], 86_410, 86_411), event("f", ["b"], 86_410, 86_411), event("g", ["a"], 86_425, 86_426)]
    still_open = first.where("continues_next_day")
    second = with_midnight(spark.createDataFrame(early, EVENTS), still_open, day.after, GAP_MS)
    assert [row["event_id"] for row in second.where("continued_from_previous_day").collect()] == ["e"]
