"""Rows that are lost on the way are noticed: exit 6, a sentence that says where, and nothing derived from the rest."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameWriter

from jobs.errors import ReconciliationError
from jobs.lake.tables_io import Lake
from jobs.settings.model import Settings
from jobs.sources.fit_to_publish import check_fit_to_publish
from jobs.sources.staged import Counts, Staged
from jobs.tables.day import Day
from tests.given.commands import Said, command
from tests.given.site import D1, START, at, published_rows, send, write_lines
from tests.given.snapshot_site import connection, route

LENIENT = ("--set", "max_bad_fraction=0.9")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two good sends and a bad line, in two files; a group's members and a route, and a bad line of each."""
    folder = tmp_path_factory.mktemp("lost")
    for number in (1, 2):
        write_lines(folder / "sends" / f"{number}.jsonl", [send(at(D1, f"12:00:0{number}"))])
    write_lines(folder / "consumers" / "a.jsonl", [connection(START[D1], ["c1"])])
    write_lines(folder / "routes" / "a.jsonl", [route(START[D1], a=1)])
    for kind in ("sends", "consumers"):
        (folder / kind / "bad.jsonl").write_text("{\n", encoding="utf-8")
    return folder


@pytest.fixture
def run(spark: SparkSession, folder: Path) -> Callable[[str], Said]:
    """Publish the day with one of the flows; all into one lake."""

    def call(flow: str) -> Said:
        kinds = ("sends",) if flow == "fault-latency" else ("consumers", "routes")
        inputs = [part for kind in kinds for part in (f"--{kind}", folder / kind)]
        return command(spark, flow, "--date", D1, "--lake", folder / "lake", *inputs, *LENIENT)

    return call


def _is_refused(said: Said, folder: Path, sentence: str, flow: str = "FAULT_LATENCY") -> None:
    """The program says the sentence and ends with 6; the run log has it; nothing rests on what was lost."""
    assert (said.code, said.sentence) == (6, f"faultline: {sentence}")
    assert said.out == ""
    log = published_rows(folder / "lake" / "run_log", ("status", "message"), {"flow": flow})
    assert {"status": "FAILED", "message": sentence} in log
    assert "SUCCEEDED" not in {row["status"] for row in log}
    derived = ("producer_days", "send_calls", "fault_item_state") if flow == "FAULT_LATENCY" else ("queue_allocation",)
    assert [published_rows(folder / "lake" / name, (), {}) for name in derived] == [[]] * len(derived)
    assert not (folder / "lake" / "_staging").exists()


def test_a_line_that_is_lost_while_the_input_is_staged(
    folder: Path, run: Callable[[str], Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of what was written is no longer there when it is read back."""
    write = DataFrameWriter.parquet

    def loses_a_part(self: DataFrameWriter, path: str, *rest: Any, **more: Any) -> None:
        write(self, path, *rest, **more)
        if path.endswith("/sends"):
            parts = sorted(Path(path).glob("part-*.parquet"), key=lambda part: part.stat().st_size)
            assert len(parts) > 1
            os.unlink(parts[-1])  # noqa: PTH108 - one that holds lines

    sends = folder / "lake" / "sends"
    before = published_rows(sends, (), {}) if sends.is_dir() else []
    monkeypatch.setattr(DataFrameWriter, "parquet", loses_a_part)
    said = run("fault-latency")
    staged = int(said.sentence.split("but ")[1].split()[0])
    assert 0 < staged < 3
    _is_refused(said, folder, f"3 lines of sends were read but {staged} staged; run again and report it")
    assert published_rows(sends, (), {}) == before


@pytest.mark.parametrize(
    ("flow", "table", "counted"),
    [("fault-latency", "sends", 2), ("fault-latency", "quarantine", 1), ("allocation", "quarantine", 1)],
)
def test_a_row_that_is_lost_while_it_is_published(
    folder: Path,
    run: Callable[[str], Said],
    monkeypatch: pytest.MonkeyPatch,
    flow: str,
    table: str,
    counted: int,
) -> None:
    publish = Lake.publish_day

    def loses_a_row(self: Lake, to: Any, rows: DataFrame, *rest: Any, **more: Any) -> Any:
        return publish(self, to, rows.limit(counted - 1) if to.name == table else rows, *rest, **more)

    monkeypatch.setattr(Lake, "publish_day", loses_a_row)
    sentence = f"{table} of {D1} got {counted - 1} rows, {counted} were counted; run the day again"
    _is_refused(run(flow), folder, sentence, flow.upper().replace("-", "_"))


@pytest.mark.parametrize(
    "counts",
    [Counts(9, 5, 1, 1, 1, 0), Counts(9, 5, 1, 1, 1, 2), Counts(9, 5, 1, 1, 2, 1)],
    ids=["a line too few", "a line too many", "a line of another cluster too many"],
)
def test_lines_read_are_published_quarantined_duplicates_or_of_other_days_or_clusters(
    monkeypatch: pytest.MonkeyPatch, counts: Counts
) -> None:
    monkeypatch.setattr(Staged, "counts", lambda *_: counts)
    staged, day = Staged(()), Day(dt.date(2026, 11, 21), "main")
    with pytest.raises(ReconciliationError) as refused:
        check_fit_to_publish(staged, [day], Settings(max_bad_fraction=1), needed=[], allow_empty=False)
    assert str(refused.value).startswith("counts of 2026-11-21 do not add up: ")
    monkeypatch.setattr(Staged, "counts", lambda *_: Counts(9, 5, 1, 1, 1, 1))
    check_fit_to_publish(staged, [day], Settings(max_bad_fraction=1), needed=[], allow_empty=False)
