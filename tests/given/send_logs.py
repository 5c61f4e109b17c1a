"""Send logs for tests: one good line to change, files to write it to, and what became of each line."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.sources.staged import Staged
from jobs.sources.staged_sends import StagedSends
from jobs.sources.staging import stage_sends
from jobs.tables.day import Day

DATE = dt.date(2026, 11, 21)
DAY = Day(DATE, "main")
NOON_MS = 1_795_262_400_000  # 2026-11-21 12:00 UTC

GOOD: dict[str, object] = {
    "client_id": "10.0.1.1@1",
    "producer_group": "PG",
    "client_version": "5.1.4",
    "topic": "orders",
    "broker_name": "broker-a",
    "broker_addr": "10.0.0.1:10911",
    "mode": "SYNC",
    "ended_at_ms": NOON_MS,
    "latency_ms": 10,
    "outcome": "SEND_OK",
}

MODES = " (allowed: SYNC, ASYNC, ONEWAY)"
OUTCOMES = " (allowed: SEND_OK, FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE, SENT, exceptions by name)"
"""How the detail of a bad line ends where a mode, or an outcome, is none."""


def line(**changes: object) -> bytes:
    """The good line with these fields changed."""
    return json.dumps({**GOOD, **changes}).encode()


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """The files below `folder`."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


def write_parquet(folder: Path, name: str, columns: Mapping[str, Any]) -> None:
    """A Parquet file of these columns below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(dict(columns)), folder / name)


def stage(spark: SparkSession, folder: Path, *paths: str, settings: Settings | None = None) -> StagedSends:
    """Stage the paths below `folder`, or all of it, for the day."""
    given = {"inputs.sends.path": [str(folder / path) for path in paths] or [str(folder)]}
    merged = load_settings([], [], given) if settings is None else settings
    return stage_sends(spark, merged, (DATE, DATE), f"{folder}.staging")


def fates(staged: StagedSends) -> dict[str, int]:
    """Disposition to number of lines."""
    counts: Counter[str] = Counter()
    for (fate, _, _), count in staged.line_counts.items():
        counts[fate] += count
    return dict(counts)


def bad_lines(staged: StagedSends, folder: Path) -> dict[tuple[str, int], tuple[str, str | None]]:
    """File below `folder` and line number to reason and detail."""
    return {
        (row["file"].removeprefix(f"{folder}/"), row["line"]): (row["reason"], row["detail"])
        for row in staged.quarantine(DAY, "run").collect()
    }


def all_reasons(staged: Staged) -> dict[tuple[str, int], tuple[list[str], str | None]]:
    """Name of the file and line number to all reasons and the detail; the first of the reasons is `reason`."""
    rows = staged.quarantine(DAY, "run").collect()
    assert [row["reasons"][0] for row in rows] == [row["reason"] for row in rows]
    return {(Path(row["file"]).name, row["line"]): (row["reasons"], row["detail"]) for row in rows}
