"""Leaving out writes that cannot matter: random days replayed whole and pruned say the same."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency.fault_items.isolations import (
    isolating_writes,
    isolation_relevant_writes,
    isolations,
)
from jobs.fault_latency.fault_items.pruning import attempts_near, near_minutes, writes_near
from jobs.fault_latency.fault_items.replay import REMOVE, UPDATE, replay
from jobs.fault_latency.keys import ITEM
from jobs.fault_latency.producers.rules import policies
from jobs.settings.client_profiles import released_profiles
from jobs.tables.day import DAY_MS, Day
from tests.given.writes import COLUMNS, WRITES, Write, carried, write
from udfs.fault_window import FAR_MS

POLICIES = policies(released_profiles(), {})
DAY = Day(dt.date(1970, 1, 1), "c")
SPANS = "cluster string, client_id string, producer_group string, from_ms bigint, until_ms bigint"
ATTEMPTS = (
    "cluster string, client_id string, producer_group string, started_at_ms bigint, ended_at_ms bigint,"
    " latency_ms bigint, submitted_at_ms bigint"
)
ITEMS = 240
COMPARED = ("until_ms", "earliest_ms", "latest_ms", "available_at_ms", "is_reachable")


def _day(seed: int) -> Iterator[Write]:
    """One item's writes: long pauses, bursts within a millisecond around a minute's end, removals, recorded ones.

    Some isolate for up to ten minutes; most items are quiet for hours between.
    """
    dice = random.Random(seed)
    policy = ("P1", "P2", "P3", "P4", "P5")[seed % 5]
    if seed % 4 == 0:
        until = dice.choice([1, 29_999, 30_000, 600_000, FAR_MS if policy == "P4" else 45_000])
        yield carried(until, policy=policy, profile=policy)
    at_ms = 0
    for number in range(60):
        at_ms += dice.choice([0, 0, 1, 1, 2, 500, 29_998, 30_000, 30_001, 700_000, _to_edge(at_ms), _to_edge(at_ms)])
        isolates = dice.random() < dice.choice([0.0, 0.1, 0.5])
        other: dict[str, object] = {}
        if seed % 3 == 0 and dice.random() < 0.15:
            other = {"op": REMOVE, "reachable": None}
        elif seed % 3 == 0 and dice.random() < 0.15:
            other = {"carried_until_ms": at_ms + dice.choice([-90_000, 0, 30_000])}
        yield write(
            at_ms,
            dice.choice([1, 30_000, 60_000, 600_000]) if isolates and not other else 0,
            **{
                "seq": None if seed % 7 == 0 else number,
                "row_hash": dice.randrange(1_000_000) * 100 + number,
                "reachable": dice.random() < 0.8,
                "policy": policy,
                "profile": policy,
                "op": UPDATE,
                **other,
            },
        )


def _to_edge(at_ms: int) -> int:
    """How long from here to the last millisecond of a minute; to the next minute's first when it is now."""
    return 1 if at_ms % 60_000 == 59_999 else 59_999 - at_ms % 60_000


@pytest.fixture(scope="module")
def writes(spark: SparkSession) -> DataFrame:
    rows = [
        tuple((each | {"broker_name": f"b{seed}"}).get(name) for name in COLUMNS)
        for seed in range(ITEMS)
        for each in _day(seed)
    ]
    return spark.createDataFrame(rows, WRITES).localCheckpoint()


def _states_and_changes(writes: DataFrame) -> dict[str, list[dict[str, Any]]]:
    """What follows from a replay: isolations, changes, and the last state of each item."""
    relevant_writes = isolation_relevant_writes(replay(writes, POLICIES, 1)).localCheckpoint()
    changes = isolating_writes(relevant_writes)
    frames = {
        "isolations": isolations(changes, DAY_MS),
        "changes": changes.where("change IS NOT NULL").select(*ITEM, "at_ms", "row_hash", "change", *COMPARED),
        "states": relevant_writes.where("next_at_ms IS NULL").select(*ITEM, "at_ms", "row_hash", *COMPARED),
    }
    return {name: sorted((row.asDict() for row in frame.collect()), key=repr) for name, frame in frames.items()}


def test_a_pruned_day_says_what_the_whole_day_says(writes: DataFrame) -> None:
    whole, pruned = _states_and_changes(writes), _states_and_changes(writes_near(writes, POLICIES, DAY))
    assert {len(rows) > ITEMS // 2 for rows in whole.values()} == {True}
    for name, rows in whole.items():
        assert pruned[name] == rows, name


_AROUND = 300_000
"""The minute that is looked at begins here."""


@pytest.mark.parametrize(
    ("attempt", "is_near"),
    [
        pytest.param({"started_at_ms": _AROUND - 10_000}, True, id="began ten seconds before, in the minute before"),
        pytest.param({"started_at_ms": _AROUND - 60_001}, False, id="began before that minute"),
        pytest.param({"started_at_ms": _AROUND + 59_999}, True, id="in its last millisecond"),
        pytest.param({"started_at_ms": _AROUND + 60_000}, False, id="after it"),
        pytest.param({"started_at_ms": None, "ended_at_ms": _AROUND, "latency_ms": 10_000}, True, id="by its latency"),
        pytest.param({"started_at_ms": 0, "ended_at_ms": 10_000}, False, id="took ten seconds, far away"),
        pytest.param({"started_at_ms": 0, "ended_at_ms": 10_001}, True, id="took longer"),
        pytest.param({"started_at_ms": 0, "ended_at_ms": 1, "submitted_at_ms": 10_001}, True, id="was submitted later"),
        pytest.param({"started_at_ms": 2, "ended_at_ms": 1}, True, id="ended before it began"),
        pytest.param({"started_at_ms": _AROUND, "producer_group": "h"}, False, id="another producer"),
    ],
)
def test_what_is_near(spark: SparkSession, attempt: dict[str, object], *, is_near: bool) -> None:
    base = {
        "cluster": "c",
        "client_id": "p",
        "producer_group": "g",
        "latency_ms": 0,
        "submitted_at_ms": None,
    }
    row = base | {"ended_at_ms": attempt["started_at_ms"]} | attempt
    types = {"latency_ms": "bigint", "submitted_at_ms": "bigint", "started_at_ms": "bigint", "ended_at_ms": "bigint"}
    schema = ", ".join(f"{name} {types.get(name, 'string')}" for name in row)
    span = spark.createDataFrame([("c", "p", "g", _AROUND, _AROUND)], SPANS)
    near = near_minutes(span, DAY.start_ms, DAY.end_ms)
    found = attempts_near(spark.createDataFrame([tuple(row.values())], schema), near)
    assert (found.count() == 1) == is_near


def test_what_began_ten_seconds_before_is_near(spark: SparkSession) -> None:
    spans = [
        ("c", "in time", "g", _AROUND + 9_999, _AROUND + 9_999),
        ("c", "too early", "g", _AROUND + 10_000, _AROUND + 10_000),
    ]
    near = near_minutes(spark.createDataFrame(spans, SPANS), DAY.start_ms, DAY.end_ms)
    began = [("c", client, "g", _AROUND - 1, _AROUND, 1, None) for client in ("in time", "too early")]
    attempts = spark.createDataFrame(began, ATTEMPTS)
    assert [row["client_id"] for row in attempts_near(attempts, near).collect()] == ["in time"]


def test_it_leaves_out_most_of_a_quiet_item(spark: SparkSession) -> None:
    quiet = [write(at_ms, broker_name="b", policy="P5") for at_ms in range(0, 10_000_000, 1_000)]
    quiet.append(write(5_000_500, 30_000, broker_name="b", policy="P5"))
    whole = spark.createDataFrame([tuple(row[name] for name in COLUMNS) for row in quiet], WRITES)
    kept = writes_near(whole, POLICIES, DAY)
    minutes = {60_000 * minute for minute in (0, 83, 166)}
    expected = [row["at_ms"] for row in quiet if row["at_ms"] - row["at_ms"] % 60_000 in minutes]
    assert sorted(row["at_ms"] for row in kept.collect()) == sorted(expected)
