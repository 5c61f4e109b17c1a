"""A lake on a real HDFS, in the tests' own session: both flows, and what is asked of it; more in test_on_stores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.given.commands import command
from tests.given.site import D1
from tests.stores.hdfs import Hdfs
from tests.stores.night import DAY, rows_in, run_log_of, write_settings

BOTH_FLOWS = [
    (flow, f"{D1}", status)
    for flow in ("FAULT_LATENCY", "ALLOCATION")
    for status in ("STARTED", "SUCCEEDED")
]  # fmt: skip


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hdfs")) as started:
        yield started


def test_a_lake_on_hdfs_is_published_and_asked(spark: SparkSession, hdfs: Hdfs, night: Path, tmp_path: Path) -> None:
    lake = f"{hdfs.uri}/lake"
    hdfs.put(night, "/night")
    settings = write_settings(tmp_path / "site.toml", lake, f"{hdfs.uri}/night", {})
    done = command(spark, "nightly", *DAY, "--settings", settings)
    assert done.code == 0, done.err
    published = rows_in(lake, {})
    # The time-outs at 12:00:03 and 23:59:58, the 700 ms at 12:00:06, as 550 ms earn 2 s, and the recorded refusal.
    isolated = [json.loads(row)["broker_name"] for row in published["isolation_intervals"]]
    assert sorted(isolated) == ["broker-a", "broker-a", "broker-c", "broker-ıİ"]
    assert published["queue_allocation"]
    assert [row[:3] for row in run_log_of(lake, {})] == BOTH_FLOWS

    shown = command(spark, "show", "isolations", *DAY, "--lake", lake)
    assert (shown.code, shown.err) == (0, "")
    assert "broker-ıİ" in shown.out
    page = tmp_path / "night.html"
    reported = command(spark, "report", *DAY, "--lake", lake, "--output", page)
    assert reported.code == 0, reported.err
    assert "broker-a" in page.read_text(encoding="utf-8")
