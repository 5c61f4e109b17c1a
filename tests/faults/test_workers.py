"""Executors and Python workers that die in the middle of their work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyspark
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.spark.delta_jars import delta_jars
from jobs.spark.failures import failure
from tests.given.corrected_day import content
from tests.given.scripts import script
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


def snapshots(spark: SparkSession | None, folder: Path) -> SnapshotSite:
    """Two consumers of four queues."""
    hour = START[D1] + 3_600_000
    site = SnapshotSite(spark, folder)  # type: ignore[arg-type]  # only a run needs the session
    site.log("consumers", [connection(hour, ["c1", "c2"]), members(hour, ["c1", "c2"])])
    site.log("routes", [route(hour, a=4)])
    return site


@pytest.mark.fault(30)
def test_a_python_worker_that_dies_fails_the_run_and_the_next_makes_good(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one machine Spark tries no task again; on a cluster it does."""
    site = snapshots(spark, tmp_path)

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


@pytest.mark.fault(30)
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ModuleNotFoundError("No module named 'pyarrow'"), "Python workers lack a package; set PYSPARK_PYTHON to "),
        (ValueError("no a"), "a Python worker failed; run it again with -v and report it; "),
    ],
)
def test_a_python_worker_that_fails_is_told_by_its_error(spark: SparkSession, error: Exception, told: str) -> None:
    def failing(_batches: Iterable[pa.RecordBatch]) -> NoReturn:
        raise error

    with pytest.raises(PySparkException) as caught:
        spark.range(1).mapInArrow(failing, "id bigint").collect()
    said = str(failure(caught.value, "lake"))
    assert said.startswith(told)
    assert said.endswith(f" ({type(error).__name__}: {error})")


@pytest.fixture
def site(tmp_path: Path) -> SnapshotSite:
    """A site for spark-submit."""
    (tmp_path / "site.toml").write_text(
        'lake = "lake"\n[inputs.consumers]\npath = "consumers"\n[inputs.routes]\npath = "routes"\n'
        '[spark]\n"spark.sql.shuffle.partitions" = "2"\n'
    )
    return snapshots(None, tmp_path)


def submitted(folder: Path, executor_python: Path | str, *options: str) -> subprocess.CompletedProcess[str]:
    """The second flow on a cluster of one executor, whose Python has nothing but what the options give it."""
    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": str(executor_python),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": str(ROOT),
    }
    submit = [
        str(home / "bin/spark-submit"), "--master", "local-cluster[1,1,1024]", "--conf", "spark.ui.enabled=false",
        "--jars", ",".join(str(jar) for jar in delta_jars()), *options, str(ROOT / "bin/submit.py"),
        "allocation", "--settings", "site.toml", "--date", str(D1),
    ]  # fmt: skip
    return subprocess.run(submit, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.fault(36)
def test_an_executor_without_pyarrow_is_refused_before_anything_is_read(site: SnapshotSite) -> None:
    bare = site.folder / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    done = submitted(site.folder, bare / "bin/python")
    assert done.returncode == 2, done.stderr[-3_000:]
    said = done.stdout.splitlines()[-1]  # spark-submit in client mode prints there what Python writes on stderr
    assert re.match(
        rf"faultline: on executor \S+ {bare}/bin/python cannot import pyarrow"
        r" \(ModuleNotFoundError: No module named 'pyarrow'\); executors need Python>=",
        said,
    )
    assert not site.lake.exists()


@pytest.mark.slow  # a cluster of two JVMs, and a package from the registry
@pytest.mark.fault(36)
def test_an_executor_without_pyarrow_publishes_with_the_archive(site: SnapshotSite) -> None:
    environment, archive = script("executor_env"), site.folder / "env.tar.gz"
    pinned = environment.pins((ROOT / "requirements.lock").read_text(), ["pyarrow"])
    environment.pack(environment.THIS_PYTHON, pinned, archive)
    done = submitted(site.folder, "./environment/bin/python", "--archives", f"{archive}#environment")
    assert done.returncode == 0, done.stderr[-3_000:]
    shares = site.rows("queue_allocation", "client_id", "queue_id")
    assert [(row["client_id"], row["queue_id"]) for row in shares] == [("c1", 0), ("c1", 1), ("c2", 2), ("c2", 3)]
