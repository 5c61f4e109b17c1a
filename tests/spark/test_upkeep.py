"""A published lake is maintained without a change of its rows."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.errors import InputMissingError, LakeBusyError
from jobs.lake.maintenance import MaintainedLake
from jobs.lake.tables_io import Lake
from jobs.runs.run import Run
from jobs.settings.load import load_settings
from jobs.settings.model import Settings
from jobs.tables import ISOLATION_INTERVALS, RUN_LOG, SENDS, TABLES
from jobs.text.progress import Progress
from jobs.upkeep.maintain import TableFiles, Upkeep, run_maintain
from jobs.upkeep.maintain_text import upkeep_text
from tests.given.lakes import LiteralLake
from tests.given.site import D1, D2, Site

RUN_1 = {"run_id": "run-1"}
MARCH_9 = dt.datetime(2026, 3, 9, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def few_tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Two days of the north and one of the south, literally: sends, of the first also intervals; no run."""
    site = Site(spark, tmp_path_factory.mktemp("few-tables"))
    rows = LiteralLake(site.folder / "rows", (SENDS, ISOLATION_INTERVALS))
    rows.add("sends", D1, *({"cluster": name, "row_hash": number} for name in ("north", "south") for number in (1, 2)))
    rows.add("sends", D2, {"cluster": "north"})
    rows.add("isolation_intervals", D1, {"cluster": "north"})
    lake = Lake(spark, str(site.lake))
    lake.create_tables((SENDS, ISOLATION_INTERVALS, RUN_LOG))
    literal = Lake(spark, str(rows.folder))
    for cluster, day in (("north", D1), ("north", D2), ("south", D1)):
        lake.publish_day(SENDS, literal.read_day(SENDS, cluster, day), cluster, day, RUN_1)
    lake.publish_day(ISOLATION_INTERVALS, literal.read_day(ISOLATION_INTERVALS, "north", D1), "north", D1, RUN_1)
    return site


@pytest.fixture
def untidy(spark: SparkSession, few_tables: Site, tmp_path: Path) -> Site:
    """A copy of its own."""
    return _copied(spark, few_tables, tmp_path)


def _copied(spark: SparkSession, site: Site, folder: Path) -> Site:
    shutil.copytree(site.folder, folder, dirs_exist_ok=True)
    return Site(spark, folder)


def _settings(site: Site) -> Settings:
    """As `Site.run` publishes with."""
    return load_settings([], [], {"lake": str(site.lake), "inputs.sends.path": str(site.folder / "sends")})


def _run(*days: dt.date) -> Run:
    return Run("upkeep", "maintain", days, allow_empty=False, cascade=True, clock=lambda: MARCH_9)


def _progress() -> Progress:
    return Progress(io.StringIO())


def _maintained(spark: SparkSession, site: Site, *, apply: bool) -> Upkeep:
    return run_maintain(spark, _settings(site), _run(), _progress(), apply=apply)


def _content(site: Site) -> dict[str, list[str]]:
    return {
        table.name: sorted(json.dumps(row, default=str, sort_keys=True) for row in site.rows(table.name))
        for table in TABLES
        if (site.lake / table.name).is_dir()
    }


def _versions(site: Site) -> dict[str, int]:
    return {name: site.version(name) for name in _content(site)}


def _files(site: Site, table: str) -> dict[str, list[Any]]:
    """Path and size of each file of the newest version, as delta-rs knows them."""
    added = pa.table(deltalake.DeltaTable(str(site.lake / table)).get_add_actions(flatten=True))
    return {name: added[name].to_pylist() for name in ("path", "size_bytes")}


def _of(found: Upkeep, table: str) -> TableFiles:
    return next(each for each in found.tables if each.table == table)


def _orphan(site: Site, name: str, *, days_old: int) -> Path:
    file = site.lake / "sends" / f"event_date={D1}" / name
    file.write_bytes(b"x" * 1_000_000)
    old = file.stat().st_mtime - days_old * 86_400
    os.utime(file, (old, old))
    return file


def test_a_dry_run_counts_and_writes_nothing(spark: SparkSession, untidy: Site) -> None:
    _orphan(untidy, "old.parquet", days_old=8)
    _orphan(untidy, "young.parquet", days_old=6)
    before = _versions(untidy)
    with Lake(spark, str(untidy.lake)).locked("nightly", lambda: MARCH_9):  # it may be asked during a run
        found = _maintained(spark, untidy, apply=False)
    sends = _of(found, "sends")
    added = _files(untidy, "sends")
    assert (sends.files, sends.size_bytes) == (len(added["path"]), sum(added["size_bytes"]))
    of_first = sum(f"event_date={D1}" in path for path in added["path"])
    assert (sends.days, sends.files_to_merge) == (2, of_first)
    assert of_first == 2  # one of each cluster
    assert (sends.files_to_delete, sends.bytes_to_delete) == (1, 1_000_000)
    assert (found.applied, found.leftover_bytes) == (False, 0)
    assert {each.table for each in found.tables} == set(before)
    assert _versions(untidy) == before
    told = upkeep_text(found)
    assert "(nothing done; --apply does it)" in told
    assert "  sends " in told


def test_maintained_tables_hold_the_same_rows_in_fewer_files(spark: SparkSession, untidy: Site) -> None:
    old, young = _orphan(untidy, "old.parquet", days_old=8), _orphan(untidy, "young.parquet", days_old=6)
    left = untidy.lake / "_staging" / "killed" / "sends"
    left.mkdir(parents=True)
    (left / "part.parquet").write_bytes(b"x" * 500)
    before, versions = _content(untidy), _versions(untidy)
    found = _maintained(spark, untidy, apply=True)
    assert (found.applied, found.leftover_bytes) == (True, 500)
    assert _content(untidy) == before
    for name in before:
        table = deltalake.DeltaTable(str(untidy.lake / name))
        days = [path.split("/")[0] for path in _files(untidy, name)["path"]]
        assert len(days) == len(set(days)), name  # one file a day is left
        assert table.protocol().min_reader_version == 1
        assert (table.version() > versions[name]) == bool(_of(found, name).files_to_merge)
    assert [old.exists(), young.exists(), left.parents[1].exists()] == [False, True, False]
    after = _versions(untidy)
    again = _maintained(spark, untidy, apply=True)
    assert sum(each.files_to_merge + each.files_to_delete for each in again.tables) == 0
    assert _versions(untidy) == after

    # A merged file holds both clusters: a day of one is still swapped alone, and its rows are still counted right.
    lake = Lake(spark, str(untidy.lake))
    north = lake.read_day(SENDS, "north", D1).localCheckpoint()
    assert lake.publish_day(SENDS, north, "north", D1, {"run_id": "again"}).rows == 2
    assert _content(untidy)["sends"] == before["sends"]
    history = deltalake.DeltaTable(str(untidy.lake / "sends")).history()
    optimized = [each for each in history if each["operation"] == "OPTIMIZE"]
    assert [json.loads(each["userMetadata"])["run_id"] for each in optimized] == ["upkeep"]


def _a_swapped_day(spark: SparkSession, site: Site, broker: str) -> set[str]:
    """Publish the first day of the north with all sends to the broker; the files that the swap put out of use."""
    lake = Lake(spark, str(site.lake))
    rows = lake.read_day(SENDS, "north", D1).withColumn("broker_name", F.lit(broker)).localCheckpoint()
    before = set(_files(site, "sends")["path"])
    lake.publish_day(SENDS, rows, "north", D1, {"run_id": broker})
    return before - set(_files(site, "sends")["path"])


def _days_later(site: Site, folder: Path, days: int) -> Path:
    """A copy of the lake on which so many days have passed since all that was done to it."""
    shutil.copytree(site.lake, folder)
    for commit in folder.glob("*/_delta_log/*.json"):
        aged = re.sub(
            r'"(deletionTimestamp|modificationTime|timestamp|inCommitTimestamp)":(\d+)',
            lambda match: f'"{match[1]}":{int(match[2]) - days * 86_400_000}',
            commit.read_text(encoding="utf-8"),
        )
        commit.write_text(aged, encoding="utf-8")
    for checksum in folder.glob("*/_delta_log/*.crc"):
        checksum.unlink()
    for file in folder.rglob("*"):
        old = file.stat().st_mtime - days * 86_400
        os.utime(file, (old, old))
    return folder


@pytest.mark.fault(29, simulated="the days that pass before a vacuum")
def test_a_vacuum_deletes_what_only_old_versions_need_and_nothing_else(
    spark: SparkSession, untidy: Site, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of three versions of a day the first has been out of use for 8 days, the second since a moment ago."""
    long_unused = _a_swapped_day(spark, untidy, "second")
    folder = tmp_path_factory.mktemp("later")
    _days_later(untidy, folder / "lake", days=8)
    site = Site(spark, folder)
    just_unused = _a_swapped_day(spark, site, "third")
    in_use = set(_files(site, "sends")["path"])
    assert long_unused
    assert just_unused
    table = site.lake / "sends"
    before, version = site.rows("sends"), site.version("sends")
    opened = Lake(spark, str(site.lake)).read(SENDS)  # a reader who came before the vacuum
    assert {row["broker_name"] for row in before if row["cluster"] == "north"} >= {"third"}

    found = _of(_maintained(spark, site, apply=True), "sends")
    assert found.files_to_delete == len(long_unused)
    left = {f"{file.relative_to(table)}" for file in table.rglob("*.parquet") if "_delta_log" not in file.parts}
    assert left & long_unused == set()
    assert left >= just_unused | in_use
    assert site.rows("sends") == before
    assert opened.count() == len(before) > 0
    earlier = deltalake.DeltaTable(str(table), version=version - 1).to_pyarrow_table().to_pylist()
    assert {row["broker_name"] for row in earlier if row["cluster"] == "north"} >= {"second"}


@pytest.mark.fault(29)
def test_maintenance_and_runs_exclude_each_other(
    spark: SparkSession, untidy: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(spark, str(untidy.lake))
    with lake.locked("nightly", lambda: MARCH_9), pytest.raises(LakeBusyError, match="is held by run nightly"):
        _maintained(spark, untidy, apply=True)

    def meanwhile(*_: object, **__: object) -> None:
        with pytest.raises(LakeBusyError, match="is held by run upkeep"):
            untidy.run(D1)
        raise InterruptedError

    monkeypatch.setattr(MaintainedLake, "holds", meanwhile)
    with pytest.raises(InterruptedError):
        _maintained(spark, untidy, apply=True)


def test_a_lake_without_tables_is_named(spark: SparkSession, tmp_path: Path) -> None:
    empty = Site(spark, tmp_path)
    with pytest.raises(InputMissingError, match="holds no table; run faultline nightly first"):
        _maintained(spark, empty, apply=False)
    assert not empty.lake.exists()
