"""Recordings run through the program as one day: their clients, brokers and topics get names of their own.

A run costs far more than the lines of a recording. What is published has the recording's own names again.
"""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyspark.sql import SparkSession

from jobs.fault_latency.run import run_fault_latency
from jobs.runs.run import Run, RunResult
from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.tables.day import Day
from jobs.text.progress import Progress
from jobs.verify.run import run_verify

Rows = list[dict[str, Any]]
_HOST = "127.0.0.1"


@dataclass(frozen=True)
class Names:
    """Names of one recording among others; `number` is from 1 to 99."""

    number: int

    @property
    def _tag(self) -> str:
        return f"r{self.number:02}-"

    @property
    def _host(self) -> str:
        return f"127.0.{self.number}.1"

    def apart(self, text: str) -> str:
        """Lines of a recording, with names that no other recording has.

        >>> Names(7).apart('{"client_id":"127.0.0.1@p","topic":"T","broker_name":"broker-a"}')
        '{"client_id":"127.0.7.1@p","topic":"r07-T","broker_name":"r07-broker-a"}'
        """
        text = text.replace(_HOST, self._host).replace("broker-", f"{self._tag}broker-")
        return text.replace('"topic":"', f'"topic":"{self._tag}').replace("PG_", f"{self._tag}PG_")

    def own(self, rows: Iterable[dict[str, Any]]) -> Rows:
        """The rows of this recording, under its names."""
        return [self._back(row) for row in rows if self._has(row)]

    def _has(self, row: dict[str, Any]) -> bool:
        if (client := row.get("client_id")) is not None:
            return bool(client.startswith(f"{self._host}@"))
        return self._tag in json.dumps(row, default=str)

    def _back(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._back(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._back(each) for each in value]
        return value.replace(self._host, _HOST).replace(self._tag, "") if isinstance(value, str) else value


class Merged:
    """Recordings of one day, published together once, as a cluster of their own.

    Args:
        spark: the session.
        folder: an empty folder.
        recordings: the folders of the recordings.
        inputs: setting to the name of its file in each recording.
        toml: what a site would write in its settings, without inputs; names as in the recordings.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        recordings: Iterable[Path],
        inputs: dict[str, str],
        toml: dict[str, str] | None = None,
    ) -> None:
        self._spark, self._folder, self._lake, self._inputs = spark, folder, folder / "lake", inputs
        self._recordings = {each.name: (each, Names(number)) for number, each in enumerate(recordings, 1)}
        self._toml = toml or {}
        self._tables: dict[str, Rows] = {}

    def rows(self, run: str, table: str) -> Rows:
        """The published rows of a recording, as delta-rs reads them."""
        return self._recordings[run][1].own(self.all_rows(table))

    def all_rows(self, table: str) -> Rows:
        """The published rows of all recordings."""
        if table not in self._tables:
            _ = self.result
            self._tables[table] = deltalake.DeltaTable(str(self._lake / table)).to_pyarrow_table().to_pylist()
        return self._tables[table]

    def verify(self, logs: dict[str, str]) -> None:
        """Publish `replay_checks`; `logs` has the name of the client log in some of the recordings."""
        given = {"inputs.client_logs.path": [self._named(run, name) for run, name in logs.items()]} if logs else {}
        day = self.result.days[0].day
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("jobs.verify.run.days_with_sends", lambda *_: [Day(day.date, day.cluster)])
            run_verify(self._spark, self._read(given), self._call("verify", day.date), Progress(io.StringIO()))

    @cached_property
    def result(self) -> RunResult:
        """What the run says of itself."""
        inputs = {
            f"inputs.{setting}.path": [self._named(run, name) for run in self._recordings]
            for setting, name in self._inputs.items()
        }
        (self._folder / "settings.toml").write_text(
            "\n\n".join(names.apart(self._toml.get(run, "")) for run, (_, names) in self._recordings.items())
        )
        call = self._call("fault-latency", self._day())
        return run_fault_latency(self._spark, self._read(inputs), call, Progress(io.StringIO()))

    def _read(self, given: dict[str, Any]) -> Settings:
        return load_settings([self._folder / "settings.toml"], [], {"lake": str(self._lake), **given})

    def _named(self, run: str, file: str) -> str:
        """The recording's file, under names of its own."""
        folder, names = self._recordings[run]
        to = self._folder / names.apart("PG_files") / file
        to.parent.mkdir(exist_ok=True)
        to.write_bytes(gzip.compress(names.apart(gzip.decompress((folder / file).read_bytes()).decode()).encode(), 1))
        return str(to)

    def _day(self) -> dt.date:
        folder = next(folder for folder, _ in self._recordings.values())
        with gzip.open(folder / self._inputs["sends"], "rt", encoding="utf-8") as lines:
            ended_at_ms = json.loads(next(lines))["ended_at_ms"]
        return dt.datetime.fromtimestamp(ended_at_ms / 1000, dt.UTC).date()

    def _call(self, command: str, day: dt.date) -> Run:
        return Run(f"run-{command}", command, (day,), allow_empty=False, cascade=True, clock=_clock)


def _clock() -> dt.datetime:
    return dt.datetime(2026, 11, 30, 3, tzinfo=dt.UTC)
