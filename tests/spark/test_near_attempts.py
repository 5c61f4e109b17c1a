"""Attempts that are left out: a day replayed from those near an isolation says what the whole day says.

A seeded day of several versions, modes, restarts and ties, with routes, that starts from the items of the day before.
The whole day is the same program with nothing left out.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency import replayed_day
from jobs.fault_latency.effects.choices import choices
from jobs.fault_latency.fault_items.closing_state import closing_state
from jobs.fault_latency.keys import ITEM
from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.sources.staged_sends import StagedSends
from jobs.sources.staging import stage_sends
from jobs.spark.materialize import materializer
from jobs.tables import FAULT_ITEM_STATE
from jobs.tables.day import Day
from tests.given.seeded_days import write_seeded_sends

DAYS = (dt.date(2026, 3, 1), dt.date(2026, 3, 2))
SEED = 11
CHANGE = (*ITEM, "at_ms", "seq", "change", "until_ms", "earliest_ms", "latest_ms", "evidence", "is_reachable")


@pytest.fixture(scope="module")
def staged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[StagedSends, Settings]:
    folder = tmp_path_factory.mktemp("near")
    write_seeded_sends(folder, SEED, DAYS)
    inputs = {f"inputs.{name}.path": str(folder / name) for name in ("sends", "routes")}
    settings = load_settings([folder / "settings.toml"], [], {"lake": str(folder / "lake"), **inputs})
    return stage_sends(spark, settings, DAYS, str(folder / "staging")), settings


def _replayed(
    spark: SparkSession, staged: tuple[StagedSends, Settings], work: Path, date: dt.date, opening: DataFrame
) -> tuple[dict[str, DataFrame], int]:
    """What follows from attempts near an isolation, and how many these were."""
    lines, settings = staged
    day, materialize = Day(date, "main"), materializer(spark, str(work))
    of = replayed_day.DayOfProducers(lines.sends(day).localCheckpoint(), opening, lines.topic_brokers(day))
    items = replayed_day.replayed(of, day, settings, materialize)
    per_process, isolated = items.sends_per_process, items.isolations
    frames = {
        "changes": items.relevant_writes.where("change IS NOT NULL").select(*CHANGE),
        "isolations": isolated,
        "closing state": closing_state(items.relevant_writes, isolated, per_process, opening, day.end_ms),
        "choices": choices(items.near_attempts, per_process, isolated, items.known_routes),
    }
    return frames, items.near_attempts.count()


def _rows(frames: dict[str, DataFrame]) -> dict[str, Counter[str]]:
    return {name: Counter(map(repr, frame.collect())) for name, frame in frames.items()}


def test_a_day_of_few_attempts_says_what_the_whole_day_says(
    spark: SparkSession, staged: tuple[StagedSends, Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = spark.createDataFrame([], FAULT_ITEM_STATE.schema).drop("event_date", "run_id")
    before, _ = _replayed(spark, staged, tmp_path / "before", DAYS[0], nothing)
    opening = before["closing state"].localCheckpoint()
    lean, near = _replayed(spark, staged, tmp_path / "lean", DAYS[1], opening)
    of_lean = _rows(lean)
    _leave_nothing_out(monkeypatch)
    whole, all_attempts = _replayed(spark, staged, tmp_path / "whole", DAYS[1], opening)
    print(f"{near} of {all_attempts} attempts near an isolation")
    assert 0 < near < all_attempts
    for name, rows in _rows(whole).items():
        assert rows, name
        assert of_lean[name] == rows, name


def _leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_of(attempts: DataFrame, *_: object) -> DataFrame:
        return attempts

    replacements: dict[str, Callable[..., DataFrame]] = {"attempts_near": all_of, "writes_near": all_of}
    for name, replacement in replacements.items():
        monkeypatch.setattr(replayed_day, name, replacement)
