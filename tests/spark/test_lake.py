"""The lake keeps its promises: constraints, one day swapped at a time, one run at a time."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import deltalake
import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

import jobs.lake.tables_io
from jobs.errors import LakeBusyError, LakeError
from jobs.lake.day_swap import DaySwap
from jobs.lake.tables_io import Lake
from jobs.settings.load import load_settings
from jobs.tables import BROKER_WINDOWS, QUARANTINE, RUN_LOG, TABLES, Table
from tests.given.site import D1, D2


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Tables with one broker minute; what a test adds is of clusters of its own."""
    made = Lake(spark, str(tmp_path_factory.mktemp("lake")))
    made.create_tables()
    _publish(spark, made, "main", D1, ("a", 5))
    return made


def _publish(spark: SparkSession, lake: Lake, cluster: str, day: dt.date, *windows: tuple[str | None, int]) -> None:
    """Broker minutes of the day: of ten attempts at a broker so many failed."""
    rows: list[tuple[Any, ...]] = [
        (day, cluster, broker, 1, _INSTANT, 10, failures, None, None, None, None, 1, 0, 0)
        for broker, failures in windows
    ]
    frame = spark.createDataFrame(rows, ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in _FIELDS))
    lake.publish_day(BROKER_WINDOWS, frame, cluster, day, {"run_id": "test"})


_FIELDS = BROKER_WINDOWS.columns
_INSTANT = dt.datetime(2026, 3, 1, 12)  # noqa: DTZ001 - createDataFrame takes it as the session's zone has it


def _published(lake: Lake, *apart: str) -> list[tuple[Any, ...]]:
    """All broker minutes but those of the clusters apart."""
    rows = deltalake.DeltaTable(lake.path(BROKER_WINDOWS)).to_pyarrow_table().to_pylist()
    found = ((row["cluster"], row["event_date"], row["broker_name"], row["failures"]) for row in rows)
    return sorted(each for each in found if each[0] not in apart)


@pytest.mark.fault(26, 37)
def test_a_day_of_a_cluster_is_swapped_and_nothing_else(spark: SparkSession, lake: Lake) -> None:
    _publish(spark, lake, "north", D1, ("a", 5), ("b", 5))
    _publish(spark, lake, "south", D1, ("a", 6))
    _publish(spark, lake, "north", D2, ("a", 7))
    _publish(spark, lake, "north", D1, ("c", 8))  # a correction with fewer rows
    rest = [("main", D1, "a", 5), ("north", D2, "a", 7), ("south", D1, "a", 6)]
    assert _published(lake, "west") == sorted([("north", D1, "c", 8), *rest])
    _publish(spark, lake, "north' OR '1'='1", D1)  # a name that ends the text ends no other cluster's day
    assert _published(lake, "west") == sorted([("north", D1, "c", 8), *rest])
    _publish(spark, lake, "north", D1)  # no rows clear the day
    assert _published(lake, "west") == rest


@pytest.fixture
def two_clusters(spark: SparkSession, tmp_path: Path) -> Lake:
    """North and south of a day, and north of the next."""
    made = Lake(spark, str(tmp_path / "lake"))
    made.create_tables((BROKER_WINDOWS,))
    for cluster, day, broker in (("north", D1, "a"), ("south", D1, "b"), ("north", D2, "c")):
        _publish(spark, made, cluster, day, (broker, 5))
    return made


_OTHERS = [("north", D2, "c", 5), ("south", D1, "b", 5)]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables of which a day was looked for in files, each time."""
    replace, found = Lake._replace, list[str]()

    def noted(lake: Lake, table: Table, *rest: Any) -> None:
        found.append(table.name)
        replace(lake, table, *rest)

    monkeypatch.setattr(Lake, "_replace", noted)
    return found


def test_no_file_is_looked_into_where_each_is_of_one_cluster(
    spark: SparkSession, two_clusters: Lake, looks: list[str]
) -> None:
    for windows in ([("d", 7), ("e", 8)], [("f", 9)], [], []):  # fewer, none, and none where none is
        _publish(spark, two_clusters, "north", D1, *windows)
        assert _published(two_clusters) == sorted([*_OTHERS, *(("north", D1, *each) for each in windows)])
    assert looks == []


@pytest.mark.fault(26, 29)
def test_a_file_with_rows_of_two_clusters_keeps_those_of_the_other(
    spark: SparkSession, two_clusters: Lake, looks: list[str]
) -> None:
    DeltaTable.forPath(spark, two_clusters.path(BROKER_WINDOWS)).optimize().executeCompaction()
    files = deltalake.DeltaTable(two_clusters.path(BROKER_WINDOWS)).file_uris()
    assert len(files) == 2
    for windows in ([("d", 7)], []):
        _publish(spark, two_clusters, "north", D1, *windows)
        assert _published(two_clusters) == sorted([*_OTHERS, *(("north", D1, *each) for each in windows)])
    assert looks[0] == "broker_windows"


@pytest.mark.fault(26, 35)
def test_a_day_is_swapped_where_delta_has_noted_no_files(
    spark: SparkSession, two_clusters: Lake, looks: list[str]
) -> None:
    for noted in Path(two_clusters.path(BROKER_WINDOWS), "_delta_log").glob("*.crc"):
        noted.unlink()
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
    _publish(spark, two_clusters, "north", D1, ("d", 7))
    assert _published(two_clusters) == sorted([*_OTHERS, ("north", D1, "d", 7)])
    assert looks == ["broker_windows"]


def test_old_days_of_a_cluster_are_forgotten_and_no_others(two_clusters: Lake) -> None:
    two_clusters.forget_before(BROKER_WINDOWS, "north", D1)
    assert _published(two_clusters) == [("north", D1, "a", 5), *_OTHERS]
    two_clusters.forget_before(BROKER_WINDOWS, "north", D2)
    assert _published(two_clusters) == _OTHERS


HOSTILE = [
    "${env:HOME}", "${system:user.home}", "${spark.app.name}", "${hivevar:x}", ":name", "?", "{x}", "'\"`", "\\", "\\'",
    "a\nb\t", "x'; DROP TABLE sends; --",
]  # fmt: skip


@pytest.mark.fault(26, 37)
def test_a_name_is_published_as_it_is_and_swapped_by_it(spark: SparkSession, tmp_path: Path) -> None:
    """Each name is that of a cluster and of its broker; all of one table, so that each is published next to others."""
    lake = Lake(spark, str(tmp_path))
    lake.create_tables((BROKER_WINDOWS,))
    for name in HOSTILE:
        _publish(spark, lake, name, D1, (name, 5), ("gone", 5))
    for name in HOSTILE:
        _publish(spark, lake, name, D1, (name, 6))
    assert _published(lake) == sorted((name, D1, name, 6) for name in HOSTILE)
    assert lake.read_day(BROKER_WINDOWS, "${env:HOME}", D1).count() == 1


@pytest.mark.parametrize("named", ["file:///{}", "file:/{}", "/{}"])
def test_a_lake_may_be_named_by_a_file_uri(spark: SparkSession, tmp_path: Path, named: str) -> None:
    """As the program's settings spell it; it is one lake, however it is named."""
    settings = load_settings([], [], {"lake": named.format(f"{tmp_path}/a b/lake".lstrip("/"))})
    lake = Lake(spark, settings.lake)
    for _ in range(2):
        lake.create_tables((BROKER_WINDOWS, RUN_LOG))
        _publish(spark, lake, "main", D1, ("a", 5))
    assert lake.exists()
    assert lake.read(BROKER_WINDOWS).count() == 1
    assert deltalake.DeltaTable(str(tmp_path / "a b/lake/broker_windows")).version() == 2
    with lake.locked("one", _clock):
        assert (tmp_path / "a b/lake/_lock").is_file()


def test_a_file_has_min_and_max_of_cluster_and_instants_only(spark: SparkSession, lake: Lake) -> None:
    _publish(spark, lake, "west", D1, ("a", 5))
    told = deltalake.DeltaTable(lake.path(BROKER_WINDOWS)).get_add_actions(flatten=True).schema.names
    assert {name.removeprefix("min.") for name in told if name.startswith("min.")} == set(BROKER_WINDOWS.skipped_by)
    assert {"cluster", "window_start_ms", "window_start_at"} == set(BROKER_WINDOWS.skipped_by)


def test_of_one_runs_two_flows_each_has_its_own_commit(spark: SparkSession, tmp_path: Path) -> None:
    """The one quarantines a line, the other none: Delta makes no commit for that, and the first one's is not taken."""
    lake = Lake(spark, str(tmp_path))
    lake.create_tables((QUARANTINE,))
    bad = {"cluster": "main", "event_date": D1, "run_id": "run-1", "source": "sends", "file": "a", "line": 1,
           "reason": "not_json", "reasons": ["not_json"], "detail": None, "raw": "{"}  # fmt: skip
    values = [tuple(bad[name] for name in QUARANTINE.schema.fieldNames())]
    one, none = (spark.createDataFrame(rows, QUARANTINE.schema) for rows in (values, []))
    run = {"run_id": "run-1"}
    assert lake.publish_day(QUARANTINE, one, "main", D1, run, only={"source": ["sends"]}).rows == 1
    assert lake.publish_day(QUARANTINE, none, "main", D1, run, only={"source": ["consumers", "routes"]}).rows == 0
    assert lake.read(QUARANTINE).count() == 1


@pytest.mark.parametrize(
    ("window", "told"),
    [
        pytest.param(("a", 20), "failures_within_sends", id="CHECK"),
        pytest.param((None, 5), "broker_name", id="NOT NULL"),
    ],
)
def test_a_bad_row_refuses_the_whole_write(
    spark: SparkSession, lake: Lake, window: tuple[str | None, int], told: str
) -> None:
    before = _published(lake)
    with pytest.raises(LakeError, match=told):
        _publish(spark, lake, "main", D1, ("good", 5), window)
    assert _published(lake) == before


def test_a_row_of_another_cluster_refuses_the_write(lake: Lake) -> None:
    before = _published(lake)
    frame = lake.read(BROKER_WINDOWS).limit(1)
    with pytest.raises(LakeError, match="cannot publish 2026-03-01 in table broker_windows"):
        lake.publish_day(BROKER_WINDOWS, frame, "elsewhere", D1, {})
    assert before
    assert _published(lake) == before


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_table_says_what_it_is(spark: SparkSession, lake: Lake, table: Table) -> None:
    detail = DeltaTable.forPath(spark, lake.path(table)).detail().collect()[0]
    assert detail["description"] == table.grain
    assert detail["properties"].get("delta.enableDeletionVectors") == "false"
    assert {name for name in detail["properties"] if name.startswith("delta.constraints.")} == {
        f"delta.constraints.{name.lower()}" for name in table.constraints
    }
    described = spark.sql(f"DESCRIBE delta.`{lake.path(table)}`").collect()
    comments = {row["col_name"]: row["comment"] for row in described[: len(table.columns)]}
    assert comments == {field.name: field.metadata["comment"] for field in table.columns}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_table_is_read_without_spark(lake: Lake, table: Table) -> None:
    found = deltalake.DeltaTable(lake.path(table))
    assert [field.name for field in found.schema().fields] == table.schema.fieldNames()
    assert [field.nullable for field in found.schema().fields] == [field.nullable for field in table.columns]
    assert all(field.metadata["comment"] for field in found.schema().fields)
    assert found.protocol().min_reader_version == 1
    assert found.metadata().partition_columns == ["event_date"]


@pytest.mark.fault(17)
def test_the_reason_of_a_quarantined_line_is_the_first_of_its_reasons(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, str(tmp_path / "lake"))
    lake.create_tables((QUARANTINE,))

    def add(*reasons: str) -> None:
        row = (D1, "main", "sends", "/a", 2, "not_json", list(reasons), None, None, "run")
        lake.append(QUARANTINE, spark.createDataFrame([row], QUARANTINE.schema))

    for reasons, check in (
        (("not_json", "because"), "reasons_is_known"),
        (("wrong_type", "not_json"), "reason_is_the_first"),
        ((), "reason_is_the_first"),
    ):
        with pytest.raises(LakeError, match=check):
            add(*reasons)
    add("not_json", "wrong_type")
    assert [row["reasons"] for row in lake.read(QUARANTINE).collect()] == [["not_json", "wrong_type"]]


@pytest.mark.fault(17, 35)
def test_a_table_of_another_version_is_refused(spark: SparkSession, tmp_path: Path, lake: Lake) -> None:
    other = Lake(spark, str(tmp_path / "lake"))
    shutil.copytree(lake.root, other.root)
    where = other.path(BROKER_WINDOWS)
    spark.sql(f"ALTER TABLE delta.`{where}` SET TBLPROPERTIES ('faultline.tableVersion' = '9')")
    with pytest.raises(LakeError, match="broker_windows has version 9, this program writes 1"):
        other.create_tables()


@pytest.mark.fault(27, 28)
def test_a_run_that_lost_the_lock_writes_nothing_and_leaves_the_others_staging(spark: SparkSession, lake: Lake) -> None:
    before, breaker = _published(lake), Lake(spark, lake.root)
    with lake.locked("slow", _clock), breaker.locked("breaker", _clock, break_lock=True) as told:
        assert told is not None
        assert told.startswith("broke the lock of run slow (process ")
        writes: list[Callable[[], None]] = [
            lambda: _publish(spark, lake, "main", D1, ("late", 5)),
            lambda: lake.append(BROKER_WINDOWS, lake.read(BROKER_WINDOWS)),
            lambda: lake.forget_before(BROKER_WINDOWS, "south", D2),
            lake.create_tables,
        ]
        for write in writes:
            with pytest.raises(LakeBusyError, match=r"was broken by run breaker .*; nothing more is published"):
                write()
        for run_id in ("slow", "breaker"):
            (Path(lake.staging) / run_id).mkdir(parents=True)
        lake.clear_staging("slow")
        assert [path.name for path in Path(lake.staging).iterdir()] == ["breaker"]
        breaker.clear_staging("breaker")
        assert not Path(lake.staging).exists()
    assert before
    assert _published(lake) == before


def test_a_lock_that_is_lost_while_rows_are_written_is_noticed_before_they_are_committed(
    spark: SparkSession, lake: Lake
) -> None:
    before, breaker = _published(lake), Lake(spark, lake.root)
    with lake.locked("slow", _clock), ExitStack() as breaking:
        commit = DaySwap.commit

        def broken_meanwhile(*written: Any) -> None:
            breaking.enter_context(breaker.locked("breaker", _clock, break_lock=True))
            commit(*written)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(DaySwap, "commit", broken_meanwhile)
            with pytest.raises(LakeBusyError, match="was broken by run breaker"):
                _publish(spark, lake, "main", D1, ("late", 5))
    assert _published(lake) == before


def _clock() -> dt.datetime:
    return dt.datetime(2026, 3, 5, tzinfo=dt.UTC)


def test_on_another_store_all_staging_goes_while_the_lake_is_held_and_only_the_runs_own_when_it_was_lost(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.lake.tables_io, "local_folder", lambda _: None)
    staging, slow, breaker = tmp_path / "_staging", Lake(spark, tmp_path.as_uri()), Lake(spark, tmp_path.as_uri())

    def left_after(run_id: str) -> list[str]:
        for other in ("slow", "other"):
            (staging / other / "sends").mkdir(parents=True, exist_ok=True)
        slow.clear_staging(run_id)
        return [path.name for path in staging.iterdir()] if staging.exists() else []

    with slow.locked("slow", _clock):
        assert [path.name for path in (tmp_path / "_lock").glob("0*")] == ["00000001"]
        assert left_after("slow") == []
        with pytest.raises(LakeBusyError, match="is held by run slow"), breaker.locked("second", _clock):
            pass
        with breaker.locked("breaker", _clock, break_lock=True):
            assert left_after("slow") == ["other"]
            assert sorted(left_after("never-was")) == ["other", "slow"]
    assert (tmp_path / "_lock/00000002").read_bytes() == b"released"
