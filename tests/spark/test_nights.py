"""Days at once over midnight; a day again, and corrected."""

from __future__ import annotations

import datetime as dt
import io
import json
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyspark.sql import SparkSession

from jobs.fault_latency.run import run_fault_latency
from jobs.runs.run import Run, RunResult
from jobs.settings.load import load_settings
from jobs.text.progress import Progress

pytestmark = pytest.mark.slow  # night after night

D1, D2, D3 = (dt.date(2026, 3, day) for day in (1, 2, 3))
MIDNIGHT = int(dt.datetime(2026, 3, 2, tzinfo=dt.UTC).timestamp() * 1000)
DERIVED = ("sends", "fault_item_changes", "isolation_intervals", "fault_item_state", "broker_windows", "producer_days")


def _send(ended_at_ms: int, outcome: str, seq: int, broker: str = "broker-a") -> dict[str, Any]:
    return {
        "client_id": "10.0.0.1@1", "producer_group": "PG", "client_version": "5.3.3", "topic": "T", "mode": "SYNC",
        "broker_name": broker, "broker_addr": "10.0.0.9:10911", "invoke_id": seq, "attempt": 1, "outcome": outcome,
        "started_at_ms": ended_at_ms - 3, "ended_at_ms": ended_at_ms, "latency_ms": 3, "seq": seq,
        "fault_latency_enabled": True,
    }  # fmt: skip


# 23:59:56 of the first day a send fails: 10 s of isolation, to 00:00:06 of the second. On the third day another.
FAILED = _send(MIDNIGHT - 4_000, "RemotingTimeoutException", 2)
LOG = [
    _send(MIDNIGHT - 9_000, "SEND_OK", 1),
    FAILED,
    _send(MIDNIGHT + 3_000, "SEND_OK", 3, "broker-b"),
    _send(MIDNIGHT + 20_000, "SEND_OK", 4),
    _send(MIDNIGHT + 86_400_000, "MQBrokerException", 5),
]


def _write(folder: Path, lines: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sends.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


def _night(spark: SparkSession, lake: Path, sends: Path, *days: dt.date, cascade: bool = True) -> RunResult:
    settings = load_settings([], [], {"lake": str(lake), "inputs.sends.path": str(sends)})
    run = Run(f"run-{days[0]}", "fault-latency", days, allow_empty=False, cascade=cascade, clock=_Clock())
    return run_fault_latency(spark, settings, run, Progress(io.StringIO()))


class _Clock:
    """Each look is a second later, over all runs."""

    now = dt.datetime(2026, 4, 1, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        type(self).now += dt.timedelta(seconds=1)
        return self.now


def _tables(lake: Path) -> dict[str, list[str]]:
    """Every derived table as sorted rows, as delta-rs reads them; none is empty."""
    found = {
        name: sorted(json.dumps(row, default=str, sort_keys=True) for row in _rows(lake, name)) for name in DERIVED
    }
    assert all(found.values()), [name for name, rows in found.items() if not rows]
    return found


def _rows(lake: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = deltalake.DeltaTable(str(lake / name)).to_pyarrow_table().to_pylist()
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("nights")


@pytest.fixture(scope="module")
def at_once(spark: SparkSession, folder: Path) -> Path:
    _night(spark, folder / "at-once", _write(folder / "log", LOG), D1, D2, D3)
    return folder / "at-once"


@pytest.mark.fault(22)
def test_isolation_is_cut_at_midnight_and_carried_over(at_once: Path) -> None:
    intervals = sorted(_rows(at_once, "isolation_intervals"), key=lambda row: row["start_ms"])
    told = [
        (str(row["event_date"]), row["start_ms"] - MIDNIGHT, row["end_ms"] - MIDNIGHT, row["cause"], row["ended_by"],
         row["continued_from_previous_day"], row["continues_next_day"], row["after_unknown_start"])
        for row in intervals
    ]  # fmt: skip
    day = 86_400_000
    assert told == [
        ("2026-03-01", -4_000, 0, "RemotingTimeoutException", "DAY_END", False, True, False),
        ("2026-03-02", 0, 6_000, "RemotingTimeoutException", "EXPIRED", True, False, False),
        ("2026-03-03", day, day + 10_000, "MQBrokerException", "EXPIRED", False, False, False),
    ]


@pytest.mark.fault(26)
def test_a_rerun_changes_nothing_and_a_correction_leaves_nothing_stale(spark: SparkSession, folder: Path) -> None:
    lake, log = folder / "corrected", _write(folder / "to-correct", LOG)
    _night(spark, lake, log, D1, D2)
    before = _tables(lake)
    again = _night(spark, lake, log, D1)
    assert [done.day.date for done in again.days] == [D1]  # the closing state is as before: no cascade
    assert _tables(lake) == before

    corrected = _write(folder / "without-failure", [line for line in LOG if line is not FAILED])
    only_reported = _night(spark, lake, corrected, D1, cascade=False)
    assert only_reported.stale_days == [D2]
    assert [str(row["event_date"]) for row in _rows(lake, "isolation_intervals")] == ["2026-03-02"]
    cascaded = _night(spark, lake, corrected, D1)
    assert [(done.day.date, done.cascaded) for done in cascaded.days] == [(D1, False), (D2, True)]
    assert _rows(lake, "isolation_intervals") == []
    assert len(_rows(lake, "sends")) == len(LOG) - 2
