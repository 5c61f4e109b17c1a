"""Days read from the files that Delta notes are the days that Delta itself reads; where it has to read, it does."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from chispa import assert_df_equality
from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.errors import LakeError
from jobs.lake import noted_files
from jobs.lake.definitions import sql_name
from jobs.lake.noted_files import rows_of_days
from jobs.lake.tables_io import Lake
from jobs.tables import ORDER_KEY_MOVES
from tests.given.site import D1, D2, D3

DAYS = [(D1, "main"), (D2, "main"), (D2, "other")]


@pytest.fixture(scope="module", params=["lake", "la[k]e {a,b} 100%"])
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Two days of a table, the second of two clusters; also below a folder whose name would be a pattern."""
    folder: Path = tmp_path_factory.mktemp("noted") / request.param
    lake = Lake(spark, str(folder))
    lake.create_tables([ORDER_KEY_MOVES])
    for day, cluster in DAYS:
        lake.publish_day(ORDER_KEY_MOVES, _rows(spark, day, cluster), cluster, day, {})
    return folder


@pytest.fixture
def lake(spark: SparkSession, published: Path, tmp_path: Path) -> Lake:
    """A copy of it."""
    return Lake(spark, str(shutil.copytree(published, tmp_path / published.name)))


def _rows(spark: SparkSession, day: dt.date, cluster: str, count: int = 2) -> DataFrame:
    """Some rows, to be one file, each column of another value where its type lets it be."""
    fixed = {
        "event_date": F.lit(day),
        "cluster": F.lit(cluster),
        "to_queue_id": F.col("id") + 7,
        "cause": F.lit("RETRIED"),
    }
    columns = [
        fixed.get(field.name, F.lit(None) if field.nullable else _value(field.dataType.typeName()))
        .cast(field.dataType)
        .alias(field.name)
        for field in ORDER_KEY_MOVES.schema
    ]
    return spark.range(count).coalesce(1).select(*columns)


def _value(type_name: str) -> Column:
    return F.lit(True) if type_name == "boolean" else F.col("id")


def _noted(spark: SparkSession, lake: Lake, *days: dt.date) -> DataFrame | None:
    return rows_of_days(spark, lake.path(ORDER_KEY_MOVES), lake.newest(ORDER_KEY_MOVES), days)


def _same(lake: Lake, clusters: Sequence[str], days: Sequence[dt.date], count: int) -> None:
    """`read_days` gives what Delta reads, and that many rows."""
    own = lake.read(ORDER_KEY_MOVES).where(F.col("event_date").isin(*days) & F.col("cluster").isin(*clusters))
    found = lake.read_days(ORDER_KEY_MOVES, clusters, days)
    assert_df_equality(found, own, ignore_nullable=True, ignore_metadata=True, ignore_row_order=True)
    assert found.count() == count


@pytest.mark.parametrize(
    ("clusters", "days", "count"),
    [
        (["main"], [D1], 2),
        (["main"], [D2], 2),
        (["main", "other"], [D1, D2], 6),
        (["other"], [D1], 0),
        (["main"], [D3], 0),
    ],
)
def test_the_rows_are_those_that_delta_reads(
    spark: SparkSession, lake: Lake, clusters: Sequence[str], days: Sequence[dt.date], count: int
) -> None:
    assert _noted(spark, lake, *days) is not None
    _same(lake, clusters, days, count)


def test_a_replaced_day_is_read_again(spark: SparkSession, lake: Lake) -> None:
    lake.publish_day(ORDER_KEY_MOVES, _rows(spark, D1, "main").limit(1), "main", D1, {})
    assert _noted(spark, lake, D1) is not None
    _same(lake, ["main"], [D1], 1)


def _altered(*statements: str) -> Callable[[SparkSession, Lake], None]:
    def alter(spark: SparkSession, lake: Lake) -> None:
        for statement in statements:
            spark.sql(statement.format(sql_name(lake.path(ORDER_KEY_MOVES))))

    return alter


DELETE_ONE = "DELETE FROM {} WHERE event_date = '2026-03-01' AND from_queue_id = 1"


@pytest.mark.parametrize(
    ("alter", "count"),
    [
        pytest.param(_altered("ALTER TABLE {} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"), 2, id="names"),
        pytest.param(
            _altered("ALTER TABLE {} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')", DELETE_ONE),
            1,
            id="deletion vectors",
        ),
    ],
)
def test_what_another_tool_switched_on_delta_reads(
    spark: SparkSession, lake: Lake, alter: Callable[[SparkSession, Lake], None], count: int
) -> None:
    alter(spark, lake)
    assert _noted(spark, lake, D1) is None
    _same(lake, ["main"], [D1], count)


def test_more_files_than_spark_lists_without_a_job_delta_reads(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noted_files, "AT_MOST", 2)
    assert _noted(spark, lake, D2) is not None
    assert _noted(spark, lake, D1, D2) is None
    _same(lake, ["main", "other"], [D1, D2], 6)


def test_of_a_table_of_many_days_the_files_are_noted_too(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, str(tmp_path / "lake"))
    lake.create_tables([ORDER_KEY_MOVES])
    lake.publish_day(ORDER_KEY_MOVES, _rows(spark, D1, "main", 120).repartition(60), "main", D1, {})
    noted = noted_files.noted_files(spark._jvm, lake.newest(ORDER_KEY_MOVES))
    assert noted is not None
    assert len(noted) == 60
    lake.publish_day(ORDER_KEY_MOVES, _rows(spark, D1, "main"), "main", D1, {})
    _same(lake, ["main"], [D1], 2)


def test_of_a_version_without_notes_delta_reads(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noted_files, "noted_files", lambda *_: None)
    assert _noted(spark, lake, D1) is None
    _same(lake, ["main"], [D1], 2)


def test_a_missing_file_is_not_a_day_without_rows(lake: Lake) -> None:
    (gone,) = (Path(lake.path(ORDER_KEY_MOVES)) / f"event_date={D1}").glob("*.parquet")
    gone.unlink()
    with pytest.raises((LakeError, Py4JJavaError), match=r"PATH_NOT_FOUND|FILE_NOT_EXIST"):
        lake.read_day(ORDER_KEY_MOVES, "main", D1).collect()
