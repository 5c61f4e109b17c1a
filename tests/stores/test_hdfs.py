"""A lake on a real HDFS, in the tests' own session: both flows, the same again, and what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.given.commands import command
from tests.given.site import D1
from tests.stores.hdfs import Hdfs
from tests.stores.night import rows_in, run_log_of, write_settings

DAY = ("--date", f"{D1}")
BOTH_FLOWS = [
    (flow, f"{D1}", status)
    for flow in ("FAULT_LATENCY", "ALLOCATION")
    for status in ("STARTED", "SUCCEEDED")
]  # fmt: skip


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hdfs")) as started:
        yield started


def test_a_lake_on_hdfs_is_the_same_as_in_a_folder(
    spark: SparkSession, hdfs: Hdfs, night: Path, tmp_path: Path
) -> None:
    lake, folder = f"{hdfs.uri}/lake", str(tmp_path / "lake")
    hdfs.put(night, "/night")
    on_hdfs = write_settings(tmp_path / "hdfs.toml", lake, f"{hdfs.uri}/night", {})
    in_folder = write_settings(tmp_path / "folder.toml", folder, str(night), {})
    for settings in (in_folder, on_hdfs, on_hdfs):
        done = command(spark, "nightly", *DAY, "--settings", settings)
        assert done.code == 0, done.err
    rows = rows_in(lake, {})
    assert rows == rows_in(folder, {})
    assert {table for table, found in rows.items() if found} > {"isolation_intervals", "queue_allocation"}
    assert [row[:3] for row in run_log_of(lake, {})] == 2 * BOTH_FLOWS

    shown = command(spark, "show", "night", *DAY, "--lake", lake)
    assert (shown.code, shown.out) == (
        0,
        command(spark, "show", "night", *DAY, "--lake", folder).out.replace(folder, lake),
    )
    page = tmp_path / "night.html"
    reported = command(spark, "report", *DAY, "--lake", lake, "--output", page)
    assert reported.code == 0, reported.err
    assert "broker-a" in page.read_text(encoding="utf-8")
