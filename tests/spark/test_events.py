"""Who avoided a broker in trouble and for how long, what the trouble cost, and which findings follow from it."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from jobs.fault_latency.effects.events import avoidance, events, of_event, with_cost, with_event
from jobs.fault_latency.findings.avoided_too_long import avoided_too_long
from jobs.fault_latency.producers.rules import policies
from jobs.fault_latency.replayed_day import Replayed
from jobs.settings.client_profiles import released_profiles
from jobs.settings.model import Settings
from jobs.tables.day import Day
from tests.spark.test_troubles import ATTEMPTS, REFUSED, attempt

EVENTS = (
    "cluster string, event_id string, brokers array<string>, bad_from_ms bigint, last_bad_ms bigint,"
    " bad_until_ms bigint, avoided_until_ms bigint"
)
ISOLATIONS = (
    "cluster string, client_id string, producer_group string, broker_name string, enforced boolean,"
    " client_version string, policy string, start_ms bigint, counted_until_ms bigint"
)
CALLS = (
    "cluster string, client_id string, producer_group string, row_hash bigint, broker_names array<string>,"
    " started_ms bigint, ended_ms bigint, failed boolean, retried boolean, slow boolean"
)
FINDINGS = "cluster string, kind string, broker_name string, brokers array<string>, start_ms bigint, end_ms bigint"
S, GAP_MS = 1_000, 30_000


def event(
    event_id: str, brokers: list[str], from_s: float, to_s: float, until_s: float | None = None, over_s: float = 0
) -> tuple[Any, ...]:
    until_ms = None if until_s is None else int(until_s * S)
    return ("c", event_id, brokers, int(from_s * S), int(to_s * S), until_ms, int(over_s * S) or None)


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
    return ("c", client_id, group, broker, on, version, policy, int(start_s * S), int(until_s * S))


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
        isolation("over", "a", 90, 100), isolation("later", "b", 111.1, 900), isolation("other", "c", 105, 900),
        isolation("off", "a", 103, 900, on=False),
        isolation("dead", "a", 103, 103),  # no sign of life after its start
    ]  # fmt: skip
    (row,) = avoidance(found, spark.createDataFrame(rows, ISOLATIONS)).collect()
    expected = {"avoiding_producers": 3, "avoided_from_ms": 99 * S, "avoided_until_ms": 703 * S}
    assert row == Row(cluster="c", event_id="e", **expected)


def test_a_send_counts_once_in_the_first_event_that_it_met(spark: SparkSession, two: DataFrame) -> None:
    rows = [
        call(1, ["a", "b", "a"], 106, 109, "lost"), call(2, ["b", "a"], 111, 112, "saved"),
        call(3, ["a"], 90, 101, "slow"),
        call(4, ["a"], 111, 112, "lost"),  # after it
        call(5, ["c"], 105, 106, "lost"),  # another broker
    ]  # fmt: skip
    calls = with_event(spark.createDataFrame(rows, CALLS), two)
    assert {row["row_hash"]: row["event_id"] for row in calls.collect()} == {
        1: "first", 2: "second", 3: "first", 4: None, 5: None,
    }  # fmt: skip
    cost = {row["event_id"]: row for row in with_cost(two, calls).collect()}
    assert {name: (row["lost_sends"], row["saved_sends"], row["slow_sends"]) for name, row in cost.items()} == {
        "first": (1, 0, 1),
        "second": (0, 1, 0),
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


def test_nobody_is_blamed_for_a_broker_that_does_not_answer(spark: SparkSession) -> None:
    outage = spark.createDataFrame([event("e", ["a"], 100, 136)], EVENTS)
    rows = spark.createDataFrame([isolation("p", "a", 103, 703)], ISOLATIONS)
    assert avoided_too_long(outage, rows, policies(released_profiles(), {}), 60_000).collect() == []


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
        ("COLLATERAL_ISOLATION", "d", None, 104, "long"),  # of a healthy broker
    ],
)
def test_a_finding_follows_from_the_last_event_at_its_broker(
    spark: SparkSession, kind: str, broker: str | None, brokers: list[str] | None, start_s: int, expected: str | None
) -> None:
    found = spark.createDataFrame(
        [event("first", ["a"], 100, 110, 112), event("long", ["b"], 103, 110, 112, over_s=700)], EVENTS
    )
    rows = spark.createDataFrame([("c", kind, broker, brokers, start_s * S, start_s * S + 1)], FINDINGS)
    (row,) = of_event(rows, found, GAP_MS).collect()
    assert row["event_id"] == expected


def test_a_finding_of_a_night_without_events_stays(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("c", "X", "a", None, 1, 2)], FINDINGS)
    (row,) = of_event(rows, spark.createDataFrame([], EVENTS), GAP_MS).collect()
    assert row["event_id"] is None


def _of_day(spark: SparkSession, day: Day, open_before: DataFrame, *rows: tuple[Any, ...]) -> dict[str, Row]:
    attempts = spark.createDataFrame([*rows], ATTEMPTS)
    items = SimpleNamespace(attempts=attempts, sends=attempts, isolations=spark.createDataFrame([], ISOLATIONS))
    found = events(cast("Replayed", items), open_before, day, Settings())
    return {row["broker_name"]: row for row in found.collect()}


def test_an_event_over_midnight_is_cut_and_goes_on(spark: SparkSession) -> None:
    day = Day(dt.date(1970, 1, 1), "c")
    nothing = spark.createDataFrame([], f"{EVENTS}, continues_next_day boolean")
    rows = [attempt(broker, at_s, REFUSED) for broker, at_s in (("a", 86_395), ("b", 86_395), ("d", 86_369.999))]
    first = _of_day(spark, day, nothing, *rows, attempt("b", 86_399))
    flags = {name: (row["continued_from_previous_day"], row["continues_next_day"]) for name, row in first.items()}
    assert flags == {"a": (False, True), "b": (False, False), "d": (False, False)}

    still_open = spark.createDataFrame([("c", "e", ["a"], 86_395 * S, 86_395 * S, None, None)], EVENTS)
    next_day = Day(dt.date(1970, 1, 2), "c")
    rows = [attempt("a", 86_410, REFUSED), attempt("b", 86_412, REFUSED), attempt("a", 86_430), attempt("b", 86_430)]
    second = _of_day(spark, next_day, still_open, *rows)
    flags = {name: (row["continued_from_previous_day"], row["continues_next_day"]) for name, row in second.items()}
    assert flags == {"a": (True, False), "b": (False, False)}
