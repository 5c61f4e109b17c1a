"""The replay against the real classes driven hard: every recorded `isAvailable` answer, every version.

`oracle/<version>.jsonl.gz` holds updates, removes and isAvailable calls made on RocketMQ's own
LatencyFaultToleranceImpl, with three ladders (one does not rise), latencies at each step ± 1 ms, and bursts within
one millisecond. A call's clock lies between `ts_before_ms` and `ts_after_ms`.
"""

from __future__ import annotations

import gzip
import json
from bisect import bisect_left
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import REMOVE, UPDATE, replay
from jobs.settings.client_profiles import Profile, released_profiles
from udfs.ladder import Ladder
from udfs.policy import Policy, not_available_ms

pytestmark = pytest.mark.usefixtures("generated_code")
ORACLE = Path(__file__).parent / "oracle"
ANSWERS = {"4.7.1": 4681, "4.9.8": 4493, "5.1.3": 4638, "5.1.4": 4470, "5.3.3": 4462}
"""The recorded `isAvailable` calls of each file."""
PROFILE_OF = {"4.7.1": "P1", "4.9.8": "P2", "5.1.3": "P3", "5.1.4": "P4", "5.3.3": "P5"}
SCHEMA = (
    "cluster string, client_id string, producer_group string, process string, enforced boolean, broker_name string,"
    " at_ms bigint, seq bigint, started_at_ms bigint, invoke_id bigint, attempt int, row_hash bigint, step int,"
    " op string, policy string, current_latency_ms bigint, is_failure boolean, reachable boolean, detector boolean,"
    " carried_until_ms bigint, carried_earliest_ms bigint, carried_latest_ms bigint"
)


def _rows(version: str) -> list[dict[str, Any]]:
    with gzip.open(ORACLE / f"{version}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _policies(rows: list[dict[str, Any]], profile: Profile) -> list[Policy]:
    return [
        profile.policy(row["client_id"], Ladder(tuple(row["latency_max"]), tuple(row["not_available_duration"])))
        for row in rows
        if row["op"] == "config"
    ]


def _write(row: dict[str, Any]) -> tuple[Any, ...]:
    is_remove = row["op"] == "remove"
    return (
        "lab", row["client_id"], "", "#1", True, row["broker_name"], row["ts_after_ms"], row["seq"], None, None, None,
        None, 0, REMOVE if is_remove else UPDATE, row["client_id"], row.get("latency_ms", 0),
        bool(row.get("isolation")), row.get("reachable"), False, None, None, None,
    )  # fmt: skip


@pytest.mark.parametrize("version", PROFILE_OF)
def test_every_answer_of_the_real_classes_is_replayed(spark: SparkSession, version: str) -> None:
    rows = _rows(version)
    profile = next(each for each in released_profiles() if each.name == PROFILE_OF[version])
    policies = _policies(rows, profile)
    writes = spark.createDataFrame([_write(row) for row in rows if row["op"] in ("update", "remove")], SCHEMA)
    earned = writes.withColumn(
        "not_available_ms",
        not_available_ms(F.col("policy"), F.col("current_latency_ms"), F.col("is_failure"), policies),
    )
    states: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for state in (
        replay(earned, policies, unordered_within_ms=0).select("client_id", "broker_name", "seq", "until_ms").collect()
    ):
        states[state["client_id"], state["broker_name"]].append((state["seq"], state["until_ms"]))
    for known in states.values():
        known.sort()

    calls = [row for row in rows if row["op"] == "isAvailable"]
    wrong = []
    for call in calls:
        known = states.get((call["client_id"], call["broker_name"]), [])
        place = bisect_left(known, (call["seq"],)) - 1
        until = known[place][1] if place >= 0 else 0
        replayed = {call["ts_before_ms"] >= until, call["ts_after_ms"] >= until}
        if call["result"] not in replayed:
            wrong.append((call, until))
    print(f"oracle {version}: {len(calls) - len(wrong)} / {len(calls)} isAvailable answers")
    assert len(calls) == ANSWERS[version]
    assert wrong == []


def test_the_page_states_how_many_answers_there_are() -> None:
    page = (Path(__file__).parents[2] / "docs/exactness.md").read_text(encoding="utf-8")
    assert f"one of {sum(ANSWERS.values()):,} recorded `isAvailable` calls" in page


@pytest.mark.parametrize("version", PROFILE_OF)
def test_every_written_window_is_replayed(spark: SparkSession, version: str) -> None:
    """The recorded `startTimestamp` after each update, for every update whose clock is known to the millisecond."""
    rows = _rows(version)
    profile = next(each for each in released_profiles() if each.name == PROFILE_OF[version])
    policies = _policies(rows, profile)
    sharp = {row["seq"]: row for row in rows if row["op"] == "update" and row["ts_before_ms"] == row["ts_after_ms"]}
    writes = spark.createDataFrame([_write(row) for row in rows if row["op"] in ("update", "remove")], SCHEMA)
    earned = writes.withColumn(
        "not_available_ms",
        not_available_ms(F.col("policy"), F.col("current_latency_ms"), F.col("is_failure"), policies),
    )
    states = (
        replay(earned, policies, unordered_within_ms=0)
        .where("op = 'UPDATE'")
        .select("seq", "available_at_ms")
        .collect()
    )
    replayed = {state["seq"]: state["available_at_ms"] for state in states}
    blurred = _after_a_blurred_write(rows)
    compared = [seq for seq in sharp if seq not in blurred]
    wrong = [(sharp[seq], replayed[seq]) for seq in compared if sharp[seq]["start_timestamp_ms"] != replayed[seq]]
    print(f"oracle {version}: {len(compared) - len(wrong)} / {len(compared)} windows (of {len(replayed)} updates)")
    assert len(compared) > 5000
    assert wrong == []


def _after_a_blurred_write(rows: list[dict[str, Any]]) -> set[int]:
    """Updates whose running maximum may rest on an earlier update of unknown millisecond."""
    blurred_until: dict[tuple[str, str], int] = {}
    found = set()
    for row in rows:
        if row["op"] not in ("update", "remove"):
            continue
        key = row["client_id"], row["broker_name"]
        if row["op"] == "remove":
            blurred_until.pop(key, None)
        elif row["ts_before_ms"] != row["ts_after_ms"]:
            blurred_until[key] = max(blurred_until.get(key, 0), row["start_timestamp_ms"] + 10)
        elif row["start_timestamp_ms"] <= blurred_until.get(key, 0):
            found.add(row["seq"])
    return found
