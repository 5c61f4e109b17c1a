"""Each rule of the fault item on a few literal writes: times in ms, expectations worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency.fault_items.isolations import (
    isolating_writes,
    isolation_relevant_writes,
    isolations,
)
from jobs.fault_latency.fault_items.replay import replay
from jobs.fault_latency.producers.rules import policies
from jobs.fault_latency.replayed_day import UNORDERED_WITHIN_MS
from jobs.settings.client_profiles import released_profiles
from tests.given.writes import COLUMNS, WRITES, Write, carried, recorded, remove, write
from udfs.fault_window import FAR_MS

POLICIES = policies(released_profiles(), {})
DAY_END = 1_000_000
LAST_WRITE, GATED, MAX = "P2", "P4", "P5"


def isolation(start_ms: int, end_ms: int, ended_by: str, **other: object) -> Write:
    """Without a band of its own the end is certain."""
    base = {"start_ms": start_ms, "end_ms": end_ms, "ended_by": ended_by, "end_earliest_ms": end_ms,
            "end_latest_ms": end_ms, "extensions": 0, "continued_from_previous_day": False,
            "continues_next_day": ended_by == "DAY_END"}  # fmt: skip
    return base | other


# name: (policy, the writes, the isolations they make, the changes they are)
CASES: dict[str, tuple[str, list[Write], list[Write], list[str]]] = {
    "an isolation nobody touches runs out": (
        LAST_WRITE, [write(1_000, 500)], [isolation(1_000, 1_500, "EXPIRED")], ["OPENED"],
    ),
    "last write wins: a fast answer ends it": (
        LAST_WRITE, [write(1_000, 500), write(1_200)], [isolation(1_000, 1_200, "CLEARED")], ["OPENED", "CLEARED"],
    ),
    "last write wins: a shorter write shortens it": (
        LAST_WRITE, [write(1_000, 500), write(1_200, 100)], [isolation(1_000, 1_300, "EXPIRED", extensions=1)],
        ["OPENED", "EXTENDED"],
    ),
    "last write wins: a later end replaces an earlier one": (
        LAST_WRITE, [write(1_000, 500), write(1_200, 900)], [isolation(1_000, 2_100, "EXPIRED", extensions=1)],
        ["OPENED", "EXTENDED"],
    ),
    "an answer at the very end finds nothing to clear": (
        LAST_WRITE, [write(1_000, 500), write(1_500)], [isolation(1_000, 1_500, "EXPIRED")], ["OPENED"],
    ),
    "what midnight carried over keeps its band": (
        LAST_WRITE, [carried(5_000, carried_earliest_ms=3_000, carried_latest_ms=6_000)],
        [isolation(0, 5_000, "EXPIRED", end_earliest_ms=3_000, end_latest_ms=6_000, continued_from_previous_day=True)],
        [],
    ),
    "running maximum: a fast answer changes nothing": (
        MAX, [write(1_000, 500), write(1_200)], [isolation(1_000, 1_500, "EXPIRED")], ["OPENED"],
    ),
    "running maximum: a shorter write changes nothing": (
        MAX, [write(1_000, 500), write(1_200, 100)], [isolation(1_000, 1_500, "EXPIRED")], ["OPENED"],
    ),
    "running maximum: an equal end is not an extension": (
        MAX, [write(1_000, 500), write(1_200, 300)], [isolation(1_000, 1_500, "EXPIRED")], ["OPENED"],
    ),
    "running maximum: a later end extends it": (
        MAX, [write(1_000, 500), write(1_200, 301)], [isolation(1_000, 1_501, "EXPIRED", extensions=1)],
        ["OPENED", "EXTENDED"],
    ),
    "after it ran out the next failure opens another": (
        MAX, [write(1_000, 500), write(1_500, 500)],
        [isolation(1_000, 1_500, "EXPIRED"), isolation(1_500, 2_000, "EXPIRED")], ["OPENED", "OPENED"],
    ),
    "5.1.4: unreachable outlasts the window until a write says reachable": (
        GATED, [write(1_000, 500, reachable=False), write(9_000)],
        [isolation(1_000, 9_000, "REACHABLE")], ["OPENED", "CLEARED"],
    ),
    "5.1.4: reachable again leaves the rest of the window": (
        GATED, [write(1_000, 500, reachable=False), write(1_200)],
        [isolation(1_000, 1_500, "EXPIRED", extensions=1)], ["OPENED", "EXTENDED"],
    ),
    "5.1.4: a write without the flag keeps it": (
        GATED, [write(1_000, 500, reachable=False), write(2_000, reachable=None), write(9_000)],
        [isolation(1_000, 9_000, "REACHABLE")], ["OPENED", "CLEARED"],
    ),
    "5.1.4, detector on: unreachable may be over with the window": (
        GATED, [write(1_000, 500, reachable=False, detector=True), write(9_000, detector=True)],
        [isolation(1_000, 9_000, "REACHABLE", end_earliest_ms=1_500)], ["OPENED", "CLEARED"],
    ),
    "5.1.4, detector on: nothing ends it, the band is from the window's end to midnight": (
        GATED, [write(1_000, 500, reachable=False, detector=True)],
        [isolation(1_000, DAY_END, "DAY_END", end_earliest_ms=1_500)], ["OPENED"],
    ),
    "5.1.4, detector on: after a second failure it may end with the later window": (
        GATED,
        [write(1_000, 500, reachable=False, detector=True), write(1_200, 700, reachable=False, detector=True)],
        [isolation(1_000, DAY_END, "DAY_END", end_earliest_ms=1_900)], ["OPENED"],
    ),
    "from 5.2.0 the detector's flag gates nothing": (
        MAX, [write(1_000, 500, reachable=False, detector=True)], [isolation(1_000, 1_500, "EXPIRED")], ["OPENED"],
    ),
    "from 5.2.0 the flag gates nothing": (
        MAX, [write(1_000, 500, reachable=False), write(9_000)], [isolation(1_000, 1_500, "EXPIRED")], ["OPENED"],
    ),
    "a remove ends it": (
        LAST_WRITE, [write(1_000, 500), remove(1_100)], [isolation(1_000, 1_100, "REMOVED")], ["OPENED", "REMOVED"],
    ),
    "after a remove a new item knows no old maximum": (
        MAX, [write(1_000, 500), remove(1_100), write(1_200, 100)],
        [isolation(1_000, 1_100, "REMOVED"), isolation(1_200, 1_300, "EXPIRED")], ["OPENED", "REMOVED", "OPENED"],
    ),
    "5.1.4: after a remove a new item is reachable": (
        GATED, [write(1_000, 500, reachable=False), remove(1_100), write(1_200, 100, reachable=None)],
        [isolation(1_000, 1_100, "REMOVED"), isolation(1_200, 1_300, "EXPIRED")], ["OPENED", "REMOVED", "OPENED"],
    ),
    "carried state stands from midnight on": (
        MAX, [carried(700), write(300)],
        [isolation(0, 700, "EXPIRED", continued_from_previous_day=True)], [],
    ),
    "carried state counts in the maximum": (
        MAX, [carried(700), write(300, 100)],
        [isolation(0, 700, "EXPIRED", continued_from_previous_day=True)], [],
    ),
    "carried state is overwritten by the last write": (
        LAST_WRITE, [carried(700), write(300)],
        [isolation(0, 300, "CLEARED", continued_from_previous_day=True)], ["CLEARED"],
    ),
    "carried state is of the day before: with a write at 00:00:00.001 it does not tie": (
        LAST_WRITE, [carried(700), write(1)],
        [isolation(0, 1, "CLEARED", continued_from_previous_day=True)], ["CLEARED"],
    ),
    "carried state may be of 23:59:59.999: with a write at 00:00:00.000 it may tie": (
        LAST_WRITE, [carried(700), write(0)],
        [isolation(0, 0, "CLEARED", end_latest_ms=700, continued_from_previous_day=True)], ["CLEARED"],
    ),
    "5.1.4: a carried flag does not tie with a write at 00:00:00.001": (
        GATED, [carried(0, reachable=False, carried_earliest_ms=FAR_MS, carried_latest_ms=FAR_MS), write(1)],
        [isolation(0, 1, "REACHABLE", continued_from_previous_day=True)], ["CLEARED"],
    ),
    "carried extensions and band go on": (
        MAX, [carried(700, carried_earliest_ms=600, carried_latest_ms=800, carried_extensions=2), write(300, 900)],
        [isolation(0, 1_200, "EXPIRED", continued_from_previous_day=True, extensions=3)], ["EXTENDED"],
    ),
    "an unreachable flag is carried": (
        GATED, [carried(0, reachable=False, carried_earliest_ms=FAR_MS, carried_latest_ms=FAR_MS), write(300)],
        [isolation(0, 300, "REACHABLE", continued_from_previous_day=True)], ["CLEARED"],
    ),
    "a restarted process forgets": (
        MAX, [write(1_000, 500, process_ended_at_ms=1_300)], [isolation(1_000, 1_300, "RESTARTED")], ["OPENED"],
    ),
    "a restart after the end does not matter": (
        MAX, [write(1_000, 500, process_ended_at_ms=1_500)], [isolation(1_000, 1_500, "EXPIRED")], ["OPENED"],
    ),
    "midnight cuts": (
        MAX, [write(999_800, 500)], [isolation(999_800, DAY_END, "DAY_END")], ["OPENED"],
    ),
    "what ends at midnight does not go on": (
        MAX, [write(999_800, 200)], [isolation(999_800, DAY_END, "EXPIRED")], ["OPENED"],
    ),
    "same millisecond, last write wins: seq decides, the band tells the other order": (
        LAST_WRITE, [write(1_000, seq=1), write(1_000, 500, seq=2)],
        [isolation(1_000, 1_500, "EXPIRED", end_earliest_ms=1_000)], ["OPENED"],
    ),
    "same millisecond, cleared by seq: a row without length whose band says what may be": (
        LAST_WRITE, [write(1_000, 500, seq=1), write(1_000, seq=2)],
        [isolation(1_000, 1_000, "CLEARED", end_latest_ms=1_500)], ["OPENED", "CLEARED"],
    ),
    "same millisecond without seq: the start of the attempt decides": (
        LAST_WRITE, [write(1_000, 500, seq=None, started_at_ms=900), write(1_000, seq=None, started_at_ms=800)],
        [isolation(1_000, 1_500, "EXPIRED", end_earliest_ms=1_000)], ["OPENED"],
    ),
    "same millisecond: a logged seq comes before none": (
        LAST_WRITE, [write(1_000, seq=None), write(1_000, 500, seq=7)],
        [isolation(1_000, 1_000, "CLEARED", end_latest_ms=1_500)], ["OPENED", "CLEARED"],
    ),
    "same millisecond, seq and start: the invoke id decides": (
        LAST_WRITE,
        [write(1_000, 500, seq=None, invoke_id=2, row_hash=1), write(1_000, seq=None, invoke_id=1, row_hash=2)],
        [isolation(1_000, 1_500, "EXPIRED", end_earliest_ms=1_000)], ["OPENED"],
    ),
    "then the attempt": (
        LAST_WRITE, [write(1_000, 500, seq=1, attempt=2, row_hash=1), write(1_000, seq=1, attempt=1, row_hash=2)],
        [isolation(1_000, 1_500, "EXPIRED", end_earliest_ms=1_000)], ["OPENED"],
    ),
    "then the line": (
        LAST_WRITE, [write(1_000, 500, seq=1, row_hash=2, step=1), write(1_000, seq=1, row_hash=1, step=2)],
        [isolation(1_000, 1_500, "EXPIRED", end_earliest_ms=1_000)], ["OPENED"],
    ),
    "then the place beside its own line": (
        LAST_WRITE, [write(1_000, 500, seq=1, row_hash=1, step=2), write(1_000, seq=1, row_hash=1, step=1)],
        [isolation(1_000, 1_500, "EXPIRED", end_earliest_ms=1_000)], ["OPENED"],
    ),
    "a millisecond apart: the order is not certain": (
        LAST_WRITE, [write(1_000), write(1_001, 500)], [isolation(1_001, 1_501, "EXPIRED", end_earliest_ms=1_001)],
        ["OPENED"],
    ),
    "what may stand ends where the next isolation starts": (
        LAST_WRITE, [write(1_000, 500, seq=1), write(1_000, seq=2), write(1_200, 300)],
        [isolation(1_000, 1_000, "CLEARED", end_latest_ms=1_200), isolation(1_200, 1_500, "EXPIRED")],
        ["OPENED", "CLEARED", "OPENED"],
    ),
    "midnight cuts the band": (
        LAST_WRITE, [write(999_800, 300, seq=1), write(999_800, 500, seq=2)],
        [isolation(999_800, DAY_END, "DAY_END", extensions=1)], ["OPENED", "EXTENDED"],
    ),
    "an end that may be before midnight": (
        LAST_WRITE, [write(999_800, 100, seq=1), write(999_800, 500, seq=2)],
        [isolation(999_800, DAY_END, "DAY_END", end_earliest_ms=999_900, extensions=1)], ["OPENED", "EXTENDED"],
    ),
    "a process that is over cuts the band": (
        LAST_WRITE,
        [write(1_000, 500, seq=1, process_ended_at_ms=1_300), write(1_000, seq=2, process_ended_at_ms=1_300)],
        [isolation(1_000, 1_000, "CLEARED", end_latest_ms=1_300)], ["OPENED", "CLEARED"],
    ),
    "two milliseconds apart: the order is certain": (
        LAST_WRITE, [write(1_000), write(1_002, 500)], [isolation(1_002, 1_502, "EXPIRED")], ["OPENED"],
    ),
    "same millisecond, running maximum: the order does not matter": (
        MAX, [write(1_000, 500, seq=1), write(1_000, seq=2)], [isolation(1_000, 1_500, "EXPIRED")], ["OPENED"],
    ),
    "same millisecond, 5.1.4: the flag's order is the band": (
        GATED, [write(1_000, 500, seq=1), write(1_000, 300, seq=2, reachable=False), write(8_000)],
        [isolation(1_000, 8_000, "REACHABLE", end_earliest_ms=1_500, extensions=1)], ["OPENED", "EXTENDED", "CLEARED"],
    ),
    "running maximum: a recorded item is as recorded, whatever it was before": (
        MAX, [write(1_000, 500), recorded(1_200, 1_300)], [isolation(1_000, 1_300, "EXPIRED", extensions=1)],
        ["OPENED", "EXTENDED"],
    ),
    "running maximum: a logged write after a recorded one counts from there": (
        MAX, [recorded(1_000, 1_500), recorded(1_100, 1_200), write(1_150, 250)],
        [isolation(1_000, 1_400, "EXPIRED", extensions=2)], ["OPENED", "EXTENDED", "EXTENDED"],
    ),
    "same millisecond, recorded: the order and so the end are certain": (
        LAST_WRITE, [recorded(1_000, 1_500, seq=1), recorded(1_000, 1_800, seq=2)],
        [isolation(1_000, 1_800, "EXPIRED", extensions=1)], ["OPENED", "EXTENDED"],
    ),
    "same millisecond, recorded: the earlier write was there for no time": (
        LAST_WRITE, [recorded(1_000, 1_800, seq=1), recorded(1_000, 1_500, seq=2)],
        [isolation(1_000, 1_500, "EXPIRED", extensions=1)], ["OPENED", "EXTENDED"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def writes(spark: SparkSession) -> DataFrame:
    """All cases replayed at once: each is a broker of its own."""
    rows = [
        each | {"case": name, "broker_name": name, "policy": policy, "profile": policy}
        for name, (policy, given, _, _) in CASES.items()
        for each in given
    ]
    frame = spark.createDataFrame([tuple(row[column] for column in COLUMNS) for row in rows], WRITES)
    return replay(frame.drop("case"), POLICIES, UNORDERED_WITHIN_MS).transform(isolation_relevant_writes).persist()


@pytest.fixture(scope="module")
def found(writes: DataFrame) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Isolations by start, changes by position."""
    changed = isolating_writes(writes)
    held = isolations(changed, DAY_END).orderBy("start_ms").collect()
    changes = changed.where("change IS NOT NULL").orderBy("position").collect()
    return [row.asDict() for row in held], [row.asDict() for row in changes]


@pytest.mark.parametrize("name", CASES)
def test_a_rule(found: tuple[list[dict[str, Any]], list[dict[str, Any]]], name: str) -> None:
    _, _, expected, changes = CASES[name]
    held = [row for row in found[0] if row["broker_name"] == name]
    assert [{column: row[column] for column in expected[0]} for row in held] == expected
    assert [row["change"] for row in found[1] if row["broker_name"] == name] == changes


def test_brokers_processes_and_switches_are_items_of_their_own(spark: SparkSession) -> None:
    """A fast answer clears only its own broker, in its own process, under its own switch."""
    others: list[Write] = [
        {"broker_name": "b"}, {"process": "q"}, {"enforced": False}, {"client_id": "q"}, {"producer_group": "h"},
        {"cluster": "d"},
    ]  # fmt: skip
    own = {"broker_name": "a", "policy": LAST_WRITE, "profile": LAST_WRITE}
    rows = [write(1_000, 500) | own, *(write(1_100) | own | other for other in others)]
    frame = spark.createDataFrame([tuple(row[column] for column in COLUMNS) for row in rows], WRITES)
    items = replay(frame, POLICIES, 1).collect()
    assert [row["position"] for row in items] == [1] * 7
    assert sorted(row["until_ms"] for row in items) == [1_100] * 6 + [1_500]


@pytest.mark.parametrize(("policy", "ends"), [(LAST_WRITE, [900, 1_500, 9_000]), (MAX, [0, 1_500, 1_500])])
def test_where_the_latest_end_stays_a_write_without_isolation_leaves_it(
    spark: SparkSession, policy: str, ends: list[int]
) -> None:
    """`updateFaultItem` of 5.1.4 sets `startTimestamp` only where the write isolates; a new item has 0."""
    rows = [each | {"policy": policy, "profile": policy} for each in (write(900), write(1_000, 500), write(9_000))]
    frame = spark.createDataFrame([tuple(row[column] for column in COLUMNS) for row in rows], WRITES)
    assert [row["available_at_ms"] for row in replay(frame, POLICIES, 1).orderBy("position").collect()] == ends


@pytest.mark.parametrize(("detector", "earliest_ms"), [(False, FAR_MS), (True, 1_500)])
def test_a_flag_holds_for_good_only_without_a_detector(
    spark: SparkSession, *, detector: bool, earliest_ms: int
) -> None:
    """5.1.4: the detector may find the broker reachable at any time, which no line shows."""
    own = {"policy": GATED, "profile": GATED, "broker_name": "a", "detector": detector}
    given = write(1_000, 500, reachable=False) | own
    frame = spark.createDataFrame([tuple(given[column] for column in COLUMNS)], WRITES)
    (found,) = replay(frame, POLICIES, 1).collect()
    assert (found["earliest_ms"], found["until_ms"], found["latest_ms"]) == (earliest_ms, FAR_MS, FAR_MS)


def test_the_far_end_of_a_flag_is_after_every_day() -> None:
    assert FAR_MS == 253_402_300_799_999  # 9999-12-31T23:59:59.999Z
