"""Attempts that are left out: a day replayed from those near an isolation says what the whole day says.

Seeded days of several versions, modes, restarts and ties, with routes; the second one starts from the first one's
items. The whole day is the same program with nothing left out.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency import replayed_day
from jobs.fault_latency.effects.choices import choices
from jobs.fault_latency.fault_items.closing_state import closing_state
from jobs.fault_latency.fault_items.replay import ITEM
from jobs.settings.load import load_settings
from jobs.sources.staging import stage_sends
from jobs.spark.materialize import materializer
from jobs.tables import FAULT_ITEM_STATE
from jobs.tables.day import Day
from tests.given.seeded_days import HOUR_MS, start_of, write_seeded_sends, write_text

DAYS = (dt.date(2026, 3, 1), dt.date(2026, 3, 2))
SEED = 11
CHANGE = (*ITEM, "at_ms", "row_hash", "change", "until_ms", "earliest_ms", "latest_ms", "evidence", "is_reachable")
Rows = dict[str, Counter[str]]


def _replayed(spark: SparkSession, given: Path, work: Path, days: Sequence[dt.date] = DAYS) -> tuple[list[Rows], int]:
    """What follows from attempts near an isolation, day by day, and how many these were on the last one."""
    inputs = {f"inputs.{name}.path": str(given / name) for name in ("sends", "routes")}
    settings = load_settings([given / "settings.toml"], [], {"lake": str(work), **inputs})
    staged = stage_sends(spark, settings, (days[0], days[-1]), str(work / "staging"))
    opening = spark.createDataFrame([], FAULT_ITEM_STATE.schema).drop("event_date", "run_id")
    found: list[Rows] = []
    near = 0
    for date in days:
        day, materialize = Day(date, "main"), materializer(spark, str(work / str(date)))
        sends = materialize("sends", staged.sends(day))
        routes = staged.topic_brokers(day)
        items = replayed_day.replayed(sends, opening, day, settings, topic_brokers=routes, materialize=materialize)
        per_process, isolated = items.senders.per_process, items.isolations
        closing = closing_state(items.relevant_writes, isolated, per_process, opening, day.end_ms)
        opening = materialize("closing", closing)
        frames = {
            "changes": items.relevant_writes.where("change IS NOT NULL").select(*CHANGE),
            "isolations": isolated,
            "closing state": opening,
            "choices": choices(items.attempts, per_process, isolated, items.known_routes),
        }
        found.append({name: Counter(map(repr, frame.collect())) for name, frame in frames.items()})
        near = items.attempts.count()
    return found, near


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("near")
    write_seeded_sends(folder, SEED, DAYS)
    return folder


def test_a_day_of_few_attempts_says_what_the_whole_day_says(
    spark: SparkSession, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lean, near = _replayed(spark, given, tmp_path / "lean")
    _leave_nothing_out(monkeypatch)
    whole, all_attempts = _replayed(spark, given, tmp_path / "whole")
    print(f"{near} of {all_attempts} attempts near an isolation")
    assert 0 < near < all_attempts
    for of_lean, of_whole in zip(lean, whole, strict=True):
        assert all(of_whole.values())
        for name, rows in of_whole.items():
            assert of_lean[name] == rows, name


def _leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_of(attempts: DataFrame, *_: object) -> DataFrame:
        return attempts

    replacements: dict[str, Callable[..., DataFrame]] = {"attempts_near": all_of, "near_isolations": all_of}
    for name, replacement in replacements.items():
        monkeypatch.setattr(replayed_day, name, replacement)


NOON_MS = start_of(DAYS[0]) + 12 * HOUR_MS
FAILED_MS = NOON_MS + 30 * 60_000 + 4_000
"""In the half minute before the quick sends: none of the middle broker's own is near it."""


def _line(broker: str, started_at_ms: int, ended_at_ms: int, **other: object) -> str:
    """An attempt of the one client, which is of 4.9.8."""
    line = {
        "client_id": "p", "producer_group": "g", "topic": "T", "client_version": "4.9.8", "mode": "SYNC",
        "broker_name": broker, "broker_addr": f"{broker}:10911", "attempt": 1, "started_at_ms": started_at_ms,
        "ended_at_ms": ended_at_ms, "latency_ms": ended_at_ms - started_at_ms, "outcome": "SEND_OK", "thread": "t1",
        "fault_latency_enabled": True, "seq": ended_at_ms,
    }  # fmt: skip
    return json.dumps(line | other)


def test_what_clears_a_middle_broker_is_near(spark: SparkSession, tmp_path: Path) -> None:
    """`LatencyFaultToleranceImpl` (4.9.8:33-49): the last write wins. No line says that b was tried between a and c."""
    asynchronous = {"mode": "ASYNC", "submitted_at_ms": FAILED_MS - 9}
    quick = range(FAILED_MS + 56_000, FAILED_MS + 60_000, 100)
    lines = [
        *(_line(broker, NOON_MS, NOON_MS + 3) for broker in "abc"),
        _line(
            "a",
            FAILED_MS - 4_000,
            FAILED_MS,
            outcome="RemotingTooMuchRequestException",
            error="invokeAsync call the addr[c:10911] timeout",
            **(asynchronous | {"submitted_at_ms": FAILED_MS - 3_998}),
        ),
        _line("b", FAILED_MS - 10, FAILED_MS + 20, result_broker_name="b", **asynchronous | {"thread": "t2"}),
        *(_line("b", at_ms, at_ms + 3) for at_ms in quick),
        _line("b", NOON_MS + HOUR_MS, NOON_MS + HOUR_MS + 3),
    ]
    route = {
        "brokerDatas": [
            {"brokerName": name, "cluster": "main", "brokerAddrs": {"0": f"{name}:10911"}} for name in "abc"
        ],
        "queueDatas": [{"brokerName": name, "perm": 6, "readQueueNums": 4, "writeQueueNums": 4} for name in "abc"],
    }
    captured = {"captured_at_ms": start_of(DAYS[0]), "topic": "T", "code": 0, "body": json.dumps(route)}
    write_text(tmp_path / "given" / "sends" / "sends.jsonl", lines)
    write_text(tmp_path / "given" / "routes" / "routes.jsonl", [json.dumps(captured)])
    write_text(tmp_path / "given" / "settings.toml", ['cluster = "main"'])
    ([found], _) = _replayed(spark, tmp_path / "given", tmp_path / "work", DAYS[:1])
    (of_b,) = (row for row in found["isolations"] if "broker_name='b'" in row)
    assert f"start_ms={FAILED_MS}, end_ms={FAILED_MS + 20}," in of_b
    assert "ended_by='CLEARED'" in of_b
    assert "evidence='INFERRED_RETRY_MIDDLE'" in of_b
