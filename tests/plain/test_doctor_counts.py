"""What the doctor counts of a lake's tables, which run of the log it believes, and what it says of a failing store."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from jobs.doctor import tables as looked_into
from jobs.doctor.check import Check
from jobs.doctor.lake import lake, leftovers
from jobs.tables import PRODUCER_DAYS, RUN_LOG, TABLES, Table
from tests.given.lakes import LiteralLake, write_rows

DAY = dt.date(2026, 11, 20)
TABLE = PRODUCER_DAYS.name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A lake of two tables, the second at version 3."""
    made = LiteralLake(tmp_path / "lake", (RUN_LOG, PRODUCER_DAYS))
    for number in range(3):
        made.add(TABLE, DAY, {"client_id": f"c{number}"})
    return made.folder


def said(root: Path | str) -> list[tuple[str, str]]:
    """Each table's problem, and the line on all tables."""
    return [(check.name, check.found) for check in lake(str(root)) if check.name.startswith("table")]


def wrong(root: Path) -> list[str]:
    return [found for name, found in said(root) if name == f"table {TABLE}"]


def succeeded(
    seq: int | None, hour: int, versions: dict[str, int] | None = None, status: str = "SUCCEEDED"
) -> dict[str, Any]:
    at = dt.datetime(2026, 11, 23, hour, tzinfo=dt.UTC)
    told = json.dumps(versions) if versions else None
    return {"event_date": DAY, "status": status, "logged_at": at, "event_seq": seq, "table_versions": told}


def test_tables_files_and_bytes_are_those_of_the_disk(folder: Path) -> None:
    noise = os.urandom(400_000).hex()  # nothing makes it much smaller
    for _ in range(2):
        LiteralLake(folder, ()).add(TABLE, DAY, {"client_id": noise})
    size = sum(file.stat().st_size for file in folder.rglob("event_date=*/*.parquet"))
    assert size > 800_000
    assert said(folder) == [
        ("tables", f"2 of {len(TABLES)} tables, 5 files, {size / 1_000_000:.1f} MB; logs whole, every file there")
    ]


def test_five_problems_of_a_table_are_all_said_and_it_counts_as_one(folder: Path) -> None:
    for number in range(2):
        LiteralLake(folder, ()).add(TABLE, DAY, {"client_id": f"more {number}"})
    files = sorted(folder.rglob("event_date=*/*.parquet"))
    for file in files[:4]:
        file.unlink()
    files[4].write_bytes(files[4].read_bytes() + b"and more")
    *problems, (_, last) = said(folder)
    assert len(problems) == 5
    assert not [found for _, found in problems if "more problems" in found]
    assert last.endswith("; 1 with problems")
    size = files[4].stat().st_size
    (longer,) = [found for _, found in problems if " is missing" not in found]
    assert longer.endswith(f" has {size} bytes, the log says {size - 8}")


BACK = "it is at version 3, the run log says that {} was published"


@pytest.mark.parametrize(
    ("events", "found"),
    [
        pytest.param([succeeded(1, 1, {TABLE: 3})], [], id="as published"),
        pytest.param([succeeded(1, 1, {TABLE: 4})], [BACK.format(4)], id="a commit is gone"),
        pytest.param([succeeded(1, 1, {TABLE: 4}), succeeded(2, 2, {"sends": 1})], [BACK.format(4)], id="earlier"),
        pytest.param([succeeded(1, 9, {TABLE: 7}), succeeded(2, 1, {TABLE: 3})], [], id="a clock was set back"),
        pytest.param([succeeded(2, 1, {TABLE: 7}), succeeded(1, 9, {TABLE: 3})], [BACK.format(7)], id="and not"),
        pytest.param([succeeded(None, 9, {TABLE: 7}), succeeded(2, 1, {TABLE: 3})], [], id="of an earlier release"),
        pytest.param([succeeded(None, 9, {TABLE: 7}), succeeded(None, 1, {TABLE: 3})], [BACK.format(7)], id="time"),
        pytest.param([succeeded(1, 1, {TABLE: 3}), succeeded(2, 2)], [], id="a success that names none"),
        pytest.param([succeeded(1, 1, {TABLE: 9}, "FAILED")], [], id="no success"),
    ],
)  # fmt: skip
def test_the_last_success_of_each_table_counts(folder: Path, events: list[dict[str, Any]], found: list[str]) -> None:
    write_rows(folder, RUN_LOG, events)
    assert wrong(folder) == found


def test_a_run_log_of_an_earlier_release_goes_by_time(tmp_path: Path) -> None:
    LiteralLake(tmp_path, (PRODUCER_DAYS,))
    events = [succeeded(None, 2, {TABLE: 2}), succeeded(None, 1, {TABLE: 9})]
    write_rows(tmp_path, RUN_LOG, events, leave_out=("event_seq",))
    assert wrong(tmp_path) == ["it is at version 0, the run log says that 2 was published"]


def test_a_table_that_the_log_names_and_the_lake_lacks_is_left_to_the_others(folder: Path) -> None:
    write_rows(folder, RUN_LOG, [succeeded(1, 1, {"sends": 4})])
    assert [name for name, _ in said(folder)] == ["tables"]


def test_a_table_without_days_is_looked_into(tmp_path: Path) -> None:
    """Another tool made it so."""
    place, rows = tmp_path / TABLE, pa.table({"a": [1]})
    version = {"faultline.tableVersion": str(PRODUCER_DAYS.version)}
    deltalake.DeltaTable.create(str(place), rows.schema, configuration=version, raise_if_key_not_exists=False)
    deltalake.write_deltalake(str(place), rows, mode="append")
    assert wrong(tmp_path) == []


def test_the_run_log_is_read_before_the_tables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that goes on meanwhile publishes tables first, and says so last."""
    order: list[str] = []

    def looked(_: object, table: Table, __: object) -> list[tuple[str, str]]:
        order.append(table.name)
        return []

    monkeypatch.setattr(looked_into, "_looked_into", looked)
    assert said(folder)
    assert order[0] == "run_log"
    assert sorted(order) == sorted(table.name for table in TABLES)


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (PermissionError(13, "Permission denied"), "[Errno 13] Permission denied"),
        (pa.ArrowInvalid("\x1b[31mno such bucket\x1b[0m\nbacktrace"), "no such bucket"),
        (OSError(""), "OSError"),
        (OSError("x" * 1_000), "x" * 300),
    ],
)
def test_a_store_that_fails_is_a_line_for_each_table(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, found: str
) -> None:
    def fails(_: str) -> None:
        raise error

    monkeypatch.setattr(looked_into, "_store", fails)
    checks = [check for check in lake(str(folder)) if check.name == "table sends"]
    assert checks == [
        Check("table sends", "wrong", found, "see whether the store can be reached, and with which rights")
    ]


def test_a_lake_that_the_first_run_will_make_has_no_tables_to_look_into(tmp_path: Path) -> None:
    assert said(tmp_path / "lake") == [("tables", f"{tmp_path}/lake does not exist yet; the first run makes it")]


def test_of_another_store_only_the_tables_are_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looked_into, "tables", lambda root: [Check("tables", "ok", root)])
    assert list(lake("s3://bucket/lake/")) == [Check("tables", "ok", "s3://bucket/lake")]


def test_leftovers_are_summed_though_some_vanish_meanwhile(tmp_path: Path) -> None:
    for name, size in (("r1/a", 1_500_000), ("r1/b", 700_000), ("r2/c", 300_000)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    (tmp_path / "r1/gone").symlink_to("nowhere")
    found = leftovers(tmp_path)
    assert (found.verdict, found.found) == (
        "warning", f"{tmp_path} holds 2.5 MB of a run that goes on or was killed",
    )  # fmt: skip
    assert leftovers(tmp_path / "none") == Check("leftovers", "ok", "none staged")
