"""A table that lost a part of itself, or that another tool changed: words that name it, never a part of its rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.errors import FaultlineError, LakeError
from jobs.lake.tables_io import Lake
from jobs.spark.failures import failure
from jobs.tables import FAULT_ITEM_STATE, SENDS
from tests.given.corrected_day import content
from tests.given.site import D1, D2, Site

SLOW = pytest.mark.slow  # a run of the whole program, or several


def _lost_commit(table: Path) -> None:
    """The first one: later ones rest on it. A lost last one looks like a commit that never was."""
    (table / "_delta_log/00000000000000000000.json").unlink()


def _newest(table: Path) -> Path:
    return max((table / "_delta_log").glob("0*.json"))


def _cut_commit(table: Path) -> None:
    newest = _newest(table)
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
    newest.with_suffix(".crc").unlink(missing_ok=True)


def _rotten_commit(table: Path) -> None:
    newest = _newest(table)
    newest.write_bytes(newest.read_bytes()[:-40] + b"\xff" * 40)  # its checksum file stays


def _empty_commit(table: Path) -> None:
    """As a machine leaves it that lost its power; Delta itself reads over it."""
    _newest(table).write_bytes(b"")
    _newest(table).with_name(f".{_newest(table).name}.crc").unlink(missing_ok=True)


def _lost_file(table: Path) -> None:
    for file in table.glob("event_date=2026-03-01/*.parquet"):
        file.unlink()


def _cut_file(table: Path) -> None:
    for file in table.glob("event_date=2026-03-01/*.parquet"):
        file.write_bytes(file.read_bytes()[:100])
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


QUICK = (_cut_commit, "sends")


@pytest.mark.fault(33)
@pytest.mark.parametrize(
    ("breaks", "table"),
    [
        pytest.param(breaks, table, id=f"{breaks.__name__[1:]}-{table}", marks=() if (breaks, table) == QUICK else SLOW)
        for breaks in (_cut_commit, _empty_commit, _lost_commit, _rotten_commit)
        for table in ("fault_item_state", "run_log", "sends")
    ],
)
def test_a_broken_log_stops_the_run_with_a_sentence(site: Site, breaks: Callable[[Path], None], table: str) -> None:
    before = content(site.lake, but=table)
    breaks(site.lake / table)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its class and text are looked at below
        site.run(D2)
    assert isinstance(caught.value, FaultlineError), repr(caught.value)
    assert table in str(caught.value)
    assert "; its _delta_log is broken: restore it from a copy, or " in str(caught.value)
    assert "\n" not in str(caught.value)
    assert content(site.lake, but=table) == before


@SLOW
@pytest.mark.fault(33)
@pytest.mark.parametrize(
    ("breaks", "sentence"),
    [
        pytest.param(_lost_file, "cannot read table fault_item_state in {}: [PATH_NOT_FOUND] ", id="lost_file"),
        pytest.param(_cut_file, "table fault_item_state in {} cannot be read (", id="cut_file"),
    ],
)
def test_a_lost_file_of_the_day_before_is_not_an_empty_day(
    site: Site, breaks: Callable[[Path], None], sentence: str
) -> None:
    breaks(site.lake / "fault_item_state")
    with pytest.raises((LakeError, Py4JError, PySparkException)) as caught:
        site.run(D2)
    error = caught.value
    told = str(error if isinstance(error, LakeError) else failure(error, str(site.lake)))  # as the command line says it
    assert told.startswith(sentence.format(site.lake))
    assert told.endswith("; restore the file from a copy, or delete that day from the table and publish it again")
    assert [row["status"] for row in site.rows("run_log", "status", run_id="run-20")] == ["FAILED", "STARTED"]
    assert site.rows("isolation_intervals", event_date=D2) == []


@SLOW
@pytest.mark.fault(33)
def test_publishing_the_day_again_mends_a_lost_file(site: Site, published: Site) -> None:
    """A file in which Delta has noted one cluster alone is left out unread."""
    for table in ("sends", "fault_item_state"):
        _lost_file(site.lake / table)
    site.run(D1)
    assert content(site.lake) == content(published.lake)


@SLOW
@pytest.mark.fault(33)
def test_deleting_the_day_and_publishing_it_again_mends_a_lost_file_of_which_nothing_is_noted(
    spark: SparkSession, site: Site, published: Site
) -> None:
    """Publishing alone does not: the other clusters' rows of the day are kept, so the old files are read."""
    broken = [site.lake / table for table in ("sends", "fault_item_state")]
    for table in broken:
        _lost_file(table)
        for noted in (table / "_delta_log").glob("*.crc"):
            noted.unlink()
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
    with pytest.raises(LakeError, match=r"in table sends: FileNotFoundException.*; .* delete that day"):
        site.run(D1)
    for table in broken:
        spark.sql(f"DELETE FROM delta.`{table}` WHERE event_date = DATE'2026-03-01'")  # whole days: no file is read
    site.run(D1)
    assert content(site.lake) == content(published.lake)


@SLOW
@pytest.mark.fault(33)
def test_a_broken_hint_of_a_checkpoint_changes_nothing(site: Site, published: Site) -> None:
    for table in ("sends", "run_log", "fault_item_state"):
        (site.lake / table / "_delta_log/_last_checkpoint").write_text('{"version": 99, "size"')
    site.run(D1)
    assert content(site.lake) == content(published.lake)


@SLOW
@pytest.mark.fault(35)
def test_a_table_with_deletion_vectors_is_swapped_whole(spark: SparkSession, site: Site, published: Site) -> None:
    """Another tool has deleted a row: reading sees it gone, publishing the day brings it back."""
    where = site.lake / "sends"
    spark.sql(f"ALTER TABLE delta.`{where}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM delta.`{where}` WHERE seq = 2")
    lake = Lake(spark, str(site.lake))
    assert lake.read_day(SENDS, "main", D1).where("seq = 2").isEmpty()
    assert list(where.rglob("*.bin"))
    site.run(D1)
    assert lake.read_day(SENDS, "main", D1).where("seq = 2").count() == 1
    assert lake.read(SENDS).count() == len(content(published.lake)["sends"])


@SLOW
@pytest.mark.fault(35)
def test_a_table_with_mapped_columns_is_swapped_whole(spark: SparkSession, site: Site, published: Site) -> None:
    where = site.lake / "fault_item_state"
    spark.sql(
        f"ALTER TABLE delta.`{where}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name',"
        " 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')"
    )
    site.run(D1)
    lake = Lake(spark, str(site.lake))
    assert lake.read(FAULT_ITEM_STATE).count() == len(content(published.lake)["fault_item_state"])


@SLOW
@pytest.mark.fault(35)
@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("ALTER TABLE {} SET TBLPROPERTIES ('faultline.tableVersion' = '99')", "has version 99, this program writes"),
        ("ALTER TABLE {} UNSET TBLPROPERTIES ('faultline.tableVersion')", "has version None, this program writes"),
    ],
)
def test_a_table_that_is_not_ours_is_refused(spark: SparkSession, site: Site, sql: str, told: str) -> None:
    before = content(site.lake)
    spark.sql(sql.format(f"delta.`{site.lake / 'fault_item_state'}`"))
    with pytest.raises(LakeError, match=f"fault_item_state {told}"):
        site.run(D1)
    assert content(site.lake) == before
