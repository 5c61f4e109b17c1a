"""The doctor's look into a lake: each kind of damage, done for real, is a line of its own with its remedy."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from jobs.doctor.check import Check
from jobs.doctor.lake import lake
from jobs.doctor.tables import _sizes, _store
from jobs.sources.local_files import list_local
from jobs.tables import PRODUCER_DAYS, RUN_LOG, TABLES
from tests.given.lakes import LiteralLake

DAYS = [dt.date(2026, 11, day) for day in (20, 21, 22)]
TABLE = PRODUCER_DAYS.name


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two tables and three nights; versions 0 to 3 each."""
    lake = LiteralLake(tmp_path_factory.mktemp("doctor") / "lake", (PRODUCER_DAYS, RUN_LOG))
    for number, day in enumerate(DAYS, 1):
        lake.add(TABLE, day, {"client_id": "c1"})
        succeeded = {"status": "SUCCEEDED", "logged_at": dt.datetime(2026, 11, 23, number, tzinfo=dt.UTC)}
        lake.add(RUN_LOG.name, day, {**succeeded, "table_versions": json.dumps({TABLE: number})})
    return lake.folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(whole, tmp_path / "lake"))


def log(folder: Path, name: int | str, table: str = TABLE) -> Path:
    return folder / table / "_delta_log" / (f"{name:020}.json" if isinstance(name, int) else name)


def data_file(folder: Path, day: dt.date = DAYS[0]) -> Path:
    (file,) = (folder / TABLE / f"event_date={day}").glob("*.parquet")
    return file


def with_checkpoint(folder: Path) -> Path:
    """At version 3; one commit follows it."""
    deltalake.DeltaTable(str(folder / TABLE)).create_checkpoint()
    LiteralLake(folder, ()).add(TABLE, DAYS[2], {"client_id": "c2"})
    (file,) = (folder / TABLE / "_delta_log").glob("*.checkpoint.parquet")
    return file


def wrong(root: Path | str) -> list[Check]:
    checks = list(lake(str(root)))
    assert [check.name for check in checks][-1] == "tables"
    told = [check for check in checks[:-1] if check.verdict == "wrong"]
    assert checks[-1].verdict == ("wrong" if told else "ok")
    return told


def only_wrong(root: Path | str) -> Check:
    (check,) = wrong(root)
    assert check.name == f"table {TABLE}"
    return check


@pytest.mark.parametrize("as_uri", [False, True])
def test_a_whole_lake_is_one_line(folder: Path, *, as_uri: bool) -> None:
    assert wrong(folder.as_uri() if as_uri else folder) == []
    told = list(lake(str(folder)))[-1].found
    assert told.startswith(f"2 of {len(TABLES)} tables, 6 files, ")


def test_a_whole_lake_with_a_checkpoint_and_without_the_commits_before_it_is_whole(folder: Path) -> None:
    with_checkpoint(folder)
    for version in range(3):
        log(folder, version).unlink()
    assert wrong(folder) == []
    log(folder, 3).unlink()
    assert wrong(folder) == []


def test_a_lake_that_is_not_there_yet_is_no_fault(tmp_path: Path) -> None:
    assert {check.verdict for check in lake(str(tmp_path / "none"))} == {"ok"}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_missing_commit(folder: Path, version: int) -> None:
    log(folder, version).unlink()
    check = only_wrong(folder)
    assert check.found == f"_delta_log/{version:020}.json is missing"
    assert check.fix.startswith("put it back from a copy of the lake, or move the table's folder away")


def test_a_missing_last_commit_shows_against_the_run_log(folder: Path) -> None:
    log(folder, 3).unlink()
    check = only_wrong(folder)
    assert check.found == "it is at version 2, the run log says that 3 was published"


def test_a_commit_missing_between_checkpoint_and_end(folder: Path) -> None:
    with_checkpoint(folder)
    LiteralLake(folder, ()).add(TABLE, DAYS[2], {"client_id": "c3"})
    log(folder, 4).unlink()
    assert only_wrong(folder).found == f"_delta_log/{4:020}.json is missing"


@pytest.mark.parametrize("cut", [0, 40], ids=["empty", "cut short"])
@pytest.mark.parametrize("version", [1, 3])
def test_a_broken_commit(folder: Path, version: int, cut: int) -> None:
    path = log(folder, version)
    path.write_bytes(path.read_bytes()[:cut])
    check = only_wrong(folder)
    what = "line 1 is no JSON" if cut else "is empty"
    assert check.found == f"_delta_log/{version:020}.json {what}"
    last = check.fix.startswith("it is the last commit: delete it")
    assert last == (version == 3)


def test_deleting_a_last_commit_that_was_cut_short_heals_the_table(folder: Path) -> None:
    LiteralLake(folder, ()).add(TABLE, DAYS[2], {"client_id": "c3"})  # never told to the run log
    path = log(folder, 4)
    path.write_bytes(path.read_bytes()[:-20])
    assert "delete it" in only_wrong(folder).fix
    path.unlink()
    assert wrong(folder) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{'ver", "is no JSON with a version"),
        ("[3]", "is no JSON with a version"),
        ('{"size": 3}', "is no JSON with a version"),
        ('{"version": 2, "size": 3}', "names the checkpoint 2, which is not there"),
    ],
)
def test_a_wrecked_last_checkpoint_and_its_remedy(folder: Path, text: str, found: str) -> None:
    with_checkpoint(folder)
    log(folder, "_last_checkpoint").write_text(text)
    check = only_wrong(folder)
    assert (check.found, check.fix[:9]) == (f"_delta_log/_last_checkpoint {found}", "delete it")
    log(folder, "_last_checkpoint").unlink()
    assert wrong(folder) == []


def test_a_wrecked_checkpoint_and_its_remedy(folder: Path) -> None:
    checkpoint = with_checkpoint(folder)
    checkpoint.write_bytes(checkpoint.read_bytes()[:-8])
    check = only_wrong(folder)
    assert check.found == f"_delta_log/{checkpoint.name} is no Parquet file"
    assert check.fix == "delete it and _delta_log/_last_checkpoint; the commits before it are all there"
    checkpoint.unlink()
    log(folder, "_last_checkpoint").unlink()
    assert wrong(folder) == []


def test_a_missing_data_file_and_its_remedy(folder: Path) -> None:
    path = data_file(folder)
    path.unlink()
    check = only_wrong(folder)
    assert check.found == f"event_date=2026-11-20/{path.name} is missing"
    assert f"DeltaTable('{folder / TABLE}').repair()\", then publish 2026-11-20 again" in check.fix
    deltalake.DeltaTable(str(folder / TABLE)).repair()
    assert wrong(folder) == []


def test_a_data_file_of_another_size(folder: Path) -> None:
    path = data_file(folder)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-1])
    assert only_wrong(folder).found == f"event_date=2026-11-20/{path.name} has {size - 1} bytes, the log says {size}"


def test_a_file_that_no_version_needs_is_no_fault(folder: Path) -> None:
    (folder / TABLE / "event_date=2026-11-20" / "part-orphan.parquet").write_bytes(b"x")
    assert wrong(folder) == []


def test_a_table_of_another_version(folder: Path) -> None:
    table = deltalake.DeltaTable(str(folder / TABLE))
    table.alter.set_table_properties({"faultline.tableVersion": "99"}, raise_if_not_exists=False)
    check = only_wrong(folder)
    assert check.found == f"it has version 99, this program has {PRODUCER_DAYS.version}"
    assert check.fix == "use the program that made it, or another --lake"


@pytest.mark.parametrize(
    ("protocol", "named"),
    [
        ({"minReaderVersion": 2, "minWriterVersion": 5}, "reader version 2 (column mapping)"),
        (
            {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["deletionVectors"],
                "writerFeatures": ["deletionVectors"],
            },
            "reader version 3 (deletionVectors)",
        ),
    ],
    ids=["column mapping", "deletion vectors"],
)
def test_a_reader_feature_that_another_tool_added(folder: Path, protocol: dict[str, Any], named: str) -> None:
    log(folder, 4).write_text(json.dumps({"protocol": protocol}) + "\n")
    assert only_wrong(folder).found == f"another tool raised it to {named}"


def test_a_folder_that_is_no_table(folder: Path) -> None:
    shutil.rmtree(folder / TABLE / "_delta_log")
    assert only_wrong(folder).found == f"{folder / TABLE} holds files but no _delta_log"


def test_damage_in_two_tables_is_two_lines(folder: Path) -> None:
    log(folder, 1).unlink()
    log(folder, 2, RUN_LOG.name).write_text("{")
    assert [check.name for check in wrong(folder)] == ["table run_log", f"table {TABLE}"]


def test_a_table_that_lost_much_does_not_fill_the_screen(folder: Path) -> None:
    for number in range(8):
        LiteralLake(folder, ()).add(TABLE, dt.date(2026, 12, 1 + number), {"client_id": "c1"})
    for file in (folder / TABLE).glob("event_date=2026-12-*/*.parquet"):
        file.unlink()
    told = wrong(folder)
    assert len(told) == 6
    assert told[-1].found == "3 more problems of this table"


def test_another_store_is_listed_the_same(folder: Path) -> None:
    """The way to S3 and its like, tried on files."""
    local, other = _store(str(folder / TABLE)), _store(f"file://{folder / TABLE}")
    assert type(local) is not type(other)
    assert _sizes(other) == _sizes(local) != {}
    with other.open_input_stream(f"_delta_log/{0:020}.json") as stream:
        assert b"metaData" in stream.read()


def test_leftovers_of_a_killed_run_are_told(folder: Path) -> None:
    staged = folder / "_staging" / "r1" / "part.parquet"
    staged.parent.mkdir(parents=True)
    staged.write_bytes(bytes(2_500_000))
    (check,) = (check for check in lake(str(folder)) if check.name == "leftovers")
    assert (check.verdict, check.found.partition(" holds ")[2][:6]) == ("warning", "2.5 MB")


@pytest.mark.parametrize(
    ("lock", "found"),
    [
        (None, "held by nobody"),
        ("", "held by nobody"),
        ("process 17\n", "held by nobody"),
        (
            (
                '{"run_id": "r1", "host": "h1", "process": 17, "since": "2026-03-01T12:00:00+00:00",'
                ' "lease_until": "2026-03-01T12:02:00+00:00"}'
            ),
            "held by run r1 (process 17 on host h1), unless it was killed; lease until 2026-03-01 12:02:00 UTC",
        ),
    ],
)
def test_the_holder_of_the_lock_is_named(tmp_path: Path, lock: str | None, found: str) -> None:
    if lock is not None:
        (tmp_path / "_lock").write_text(lock)
    (check,) = (check for check in lake(str(tmp_path)) if check.name == "lock")
    assert (check.verdict, check.found) == ("ok", found)


def test_a_lake_that_cannot_be_written_is_wrong() -> None:
    for folder in ("/proc/lake", "/dev/null/lake"):
        check = next(iter(lake(folder)))
        assert (check.name, check.verdict) == ("lake", "wrong"), check


def test_a_lake_that_may_not_be_looked_into_is_wrong(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "lake" / "_staging").mkdir(parents=True)
    closed.chmod(0o000)
    is_root = os.geteuid() == 0
    if is_root:  # root may look everywhere: try it as somebody else
        os.seteuid(65534)
    try:
        first, *_ = lake(str(closed / "lake"))
        assert list_local([str(closed / "lake")]).files == ()
    finally:
        if is_root:
            os.seteuid(0)
        closed.chmod(0o755)
    assert (first.name, first.verdict) == ("lake", "wrong")
    assert "cannot be written: Permission denied" in first.found


def test_without_the_extra_it_says_that_it_did_not_look(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.delitem(sys.modules, "jobs.doctor.tables")
    check = list(lake(str(folder)))[-1]
    assert (check.name, check.verdict) == ("tables", "warning")
    assert check.found.startswith("not looked into, as a package cannot be imported: import of deltalake halted")
    assert "faultline[report]" in check.fix


def test_a_name_with_a_space_in_a_partition_is_found(tmp_path: Path) -> None:
    """The log writes such a path escaped."""
    place = tmp_path / TABLE
    rows = pa.table({"a": [1], "event_date": ["a b%c"]})
    deltalake.DeltaTable.create(
        str(place),
        rows.schema,
        partition_by=["event_date"],
        configuration={"faultline.tableVersion": str(PRODUCER_DAYS.version)},
        raise_if_key_not_exists=False,
    )
    deltalake.write_deltalake(str(place), rows, mode="append")
    assert wrong(tmp_path) == []
