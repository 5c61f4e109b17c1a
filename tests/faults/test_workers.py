"""Executors and Python workers that die in the middle of their work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.spark_errors import failure
from tests.faults.lakes import content
from tests.site import D1, START, Site
from tests.snapshots import SnapshotSite, connection, members, route

pytestmark = pytest.mark.slow  # each is a run of the whole program, or several

ROOT = Path(__file__).parents[2]


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
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one machine Spark tries no task again; on a cluster it does."""
    hour = START[D1] + 3_600_000
    sites = [SnapshotSite(spark, tmp_path_factory.mktemp(name)) for name in ("well", "ill")]
    for site in sites:
        site.log("consumers", [connection(hour, ["c1", "c2"]), members(hour, ["c1", "c2"])])
        site.log("routes", [route(hour, a=4)])
    well, ill = sites
    well.run(D1)

    def dying(strategies: pa.Array, topics: pa.Array, queues: pa.Array, client_ids: pa.Array) -> pa.Array:
        os._exit(len(strategies) + len(topics) + len(queues) + len(client_ids))

    with monkeypatch.context() as patched:
        patched.setattr("udfs.allocation_udf._shares_of_batch", dying)
        with pytest.raises((Py4JError, PySparkException)) as caught:
            ill.run(D1)
    told = str(failure(caught.value, str(ill.lake)))
    assert told.startswith("a Python worker died, killed or out of memory; run it again; other days stay whole (")
    failed = ill.rows("run_log", "status", "message", status="FAILED")
    assert [row["message"] for row in failed] == [told]
    assert ill.rows("queue_allocation") == []
    ill.run(D1)
    assert ill.rows("queue_allocation") == well.rows("queue_allocation")
    assert well.rows("queue_allocation")
