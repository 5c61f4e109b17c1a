"""Attempts that are left out: a day replayed from those near an isolation says what the whole day says.

Seeded days of several versions, modes, restarts and ties, with routes; the second one starts from the first one's
items. The whole day is the same program with nothing left out.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency import replayed_day
from jobs.fault_latency.effects.choices import choices
from jobs.fault_latency.fault_items.closing_state import closing_state
from jobs.fault_latency.keys import ITEM
from jobs.settings.load import load_settings
from jobs.sources.staging import stage_sends
from jobs.spark.materialize import materializer
from jobs.tables import FAULT_ITEM_STATE
from jobs.tables.day import Day
from tests.given.seeded_days import write_seeded_sends

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
        sends = staged.sends(day).localCheckpoint()
        routes = staged.topic_brokers(day)
        items = replayed_day.replayed(replayed_day.DayOfProducers(sends, opening, routes), day, settings, materialize)
        per_process, isolated = items.sends_per_process, items.isolations
        closing = closing_state(items.relevant_writes, isolated, per_process, opening, day.end_ms)
        opening = closing.localCheckpoint()
        frames = {
            "changes": items.relevant_writes.where("change IS NOT NULL").select(*CHANGE),
            "isolations": isolated,
            "closing state": opening,
            "choices": choices(items.near_attempts, per_process, isolated, items.known_routes),
        }
        found.append({name: Counter(map(repr, frame.collect())) for name, frame in frames.items()})
        near = items.near_attempts.count()
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

    replacements: dict[str, Callable[..., DataFrame]] = {"attempts_near": all_of, "writes_near": all_of}
    for name, replacement in replacements.items():
        monkeypatch.setattr(replayed_day, name, replacement)
