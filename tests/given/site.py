"""A small site for tests: a folder of send logs and a lake, driven through the program's own runs."""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import deltalake
from pyspark.sql import SparkSession

from jobs.fault_latency.run import run_fault_latency
from jobs.runs.run import Run, RunResult
from jobs.settings.inputs import FilesInput
from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.text.progress import Progress

Line = dict[str, Any]

D1, D2, D3 = (dt.date(2026, 3, day) for day in (1, 2, 3))
START = {D1: 1_772_323_200_000, D2: 1_772_409_600_000, D3: 1_772_496_000_000}
"""00:00 UTC of each day, epoch ms; written out, so that no test rests on the arithmetic it checks."""


def at(day: dt.date, clock: str) -> int:
    """Epoch ms of `HH:MM:SS.mmm` on the day.

    >>> at(D1, "00:00:01.500") - START[D1]
    1500
    """
    hours, minutes, seconds = clock.split(":")
    whole, _, milliseconds = seconds.partition(".")
    return START[day] + int(hours) * 3_600_000 + int(minutes) * 60_000 + int(whole) * 1_000 + int(milliseconds or 0)


def send(ended_at_ms: int, latency_ms: int = 5, outcome: str = "SEND_OK", **other: object) -> Line:
    """One sync attempt of producer p1 at broker-a, client 5.3.3 with the switch on, unless told otherwise."""
    line: Line = {
        "client_id": "p1", "producer_group": "PG", "topic": "T", "broker_name": "broker-a", "queue_id": 0,
        "client_version": "5.3.3", "client_language": "JAVA", "mode": "SYNC", "attempt": 1,
        "started_at_ms": ended_at_ms - latency_ms, "ended_at_ms": ended_at_ms, "latency_ms": latency_ms,
        "outcome": outcome, "fault_latency_enabled": True,
    }  # fmt: skip
    return line | other


def write_lines(file: Path, lines: Iterable[Mapping[str, object]]) -> None:
    """One JSON object per line."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def published_rows(table: Path, columns: Sequence[str], equal: Mapping[str, object]) -> list[dict[str, Any]]:
    """Rows of a Delta table as delta-rs reads them, the chosen columns, in the columns' order."""
    found = deltalake.DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    chosen = [row for row in found if all(row[name] == value for name, value in equal.items())]
    picked = [{name: row[name] for name in columns or row} for row in chosen]
    return sorted(picked, key=lambda row: [(value is not None, str(type(value)), value) for value in row.values()])


class Site:
    """A folder with `sends/`, `routes/` and `fault_item_updates/` if any, and a lake beside them."""

    def __init__(
        self, spark: SparkSession, folder: Path, settings: Settings | None = None, *, first_run: int = 1
    ) -> None:
        self._spark, self.folder = spark, folder
        self.lake, self._sends = folder / "lake", folder / "sends"
        self._settings = settings or load_settings([], [], {})
        self._runs = itertools.count(first_run)

    def log(self, lines: Iterable[Mapping[str, object]], file: str = "sends.jsonl") -> None:
        """Put the lines into a file of the send log, in place of what it held."""
        write_lines(self._sends / file, lines)

    def run(self, *days: dt.date, settings: Settings | None = None, **how: bool) -> RunResult:
        """Publish the days from all files of the send log."""
        chosen = settings or self._settings
        sends = (
            chosen.inputs.sends
            if chosen.inputs.sends.path
            else dataclasses.replace(chosen.inputs.sends, path=(str(self._sends),))
        )
        routes = self.folder / "routes"
        inputs = dataclasses.replace(chosen.inputs, sends=sends)
        if routes.is_dir():
            inputs = dataclasses.replace(inputs, routes=FilesInput((str(routes),)))
        if (updates := self.folder / "fault_item_updates").is_dir():
            inputs = dataclasses.replace(inputs, fault_item_updates=FilesInput((str(updates),)))
        full = dataclasses.replace(chosen, lake=str(self.lake), inputs=inputs)
        number = next(self._runs)
        call = Run(
            run_id=f"run-{number}", command="fault-latency", days=days, allow_empty=how.get("allow_empty", False),
            cascade=how.get("cascade", True), break_lock=how.get("break_lock", False),
            clock=lambda: dt.datetime(2026, 3, 5, 3, number, tzinfo=dt.UTC),
        )  # fmt: skip
        return run_fault_latency(self._spark, full, call, Progress(io.StringIO()))

    def rows(self, table: str, *columns: str, **equal: object) -> list[dict[str, Any]]:
        """Rows of a published table as delta-rs reads them, the chosen columns, in the columns' order."""
        return published_rows(self.lake / table, columns, equal)

    def version(self, table: str) -> int:
        """The Delta version of a table."""
        return deltalake.DeltaTable(str(self.lake / table)).version()
