"""Executors and Python workers that die in the middle of their work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.spark.failures import failure
from tests.given.corrected_day import content
from tests.given.site import D1, START, Site
from tests.given.snapshot_site import SnapshotSite, connection, members, route

ROOT = Path(__file__).parents[2]


@pytest.mark.slow  # a cluster of three JVMs
@pytest.mark.fault(30)
def test_executors_that_die_change_nothing(published: Site, tmp_path: Path) -> None:
    (tmp_path / "sends").symlink_to(published.folder / "sends")
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.executors", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "2 died\n"), done.stderr[-3_000:]
    assert content(tmp_path / "lake") == content(published.lake)


@pytest.mark.fault(30)
def test_a_python_worker_that_dies_fails_the_run_and_the_next_makes_good(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one machine Spark tries no task again; on a cluster it does."""
    hour = START[D1] + 3_600_000
    site = SnapshotSite(spark, tmp_path)
    site.log("consumers", [connection(hour, ["c1", "c2"]), members(hour, ["c1", "c2"])])
    site.log("routes", [route(hour, a=4)])

    def dying(*of_group: object) -> NoReturn:
        os._exit(len(of_group))

    with monkeypatch.context() as patched:
        patched.setattr("jobs.allocation.group_days.group_day", dying)
        with pytest.raises((Py4JError, PySparkException)) as caught:
            site.run(D1)
    said = str(failure(caught.value, str(site.lake)))
    assert said.startswith("a Python worker died, killed or out of memory; run it again; other days stay whole (")
    failed = site.rows("run_log", "status", "message", status="FAILED")
    assert [row["message"] for row in failed] == [said]
    assert site.rows("queue_allocation") == []
    site.run(D1)
    shares = site.rows("queue_allocation", "client_id", "queue_id")
    assert [(row["client_id"], row["queue_id"]) for row in shares] == [("c1", 0), ("c1", 1), ("c2", 2), ("c2", 3)]
