"""The package on a cluster of Spark's own with its lake on HDFS, while parts of either are killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.given.site import D1
from tests.stores.hdfs import Hdfs
from tests.stores.night import DAY, rows_in, write_settings
from tests.stores.programs import Ended, Running
from tests.stores.servers import kill_all
from tests.stores.standalone import Standalone

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3_600), pytest.mark.fault(30)]  # whole programs: `make test-stores`


@dataclass(frozen=True)
class Scene:
    """A run on its cluster."""

    cluster: Standalone
    hdfs: Hdfs
    run: Running


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory, night: Path) -> Iterator[Hdfs]:
    with Hdfs(tmp_path_factory.mktemp("hdfs"), data_nodes=2) as started:
        started.put(night, "/night")
        yield started


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with Standalone(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def executor(scene: Scene) -> None:
    kill_all(scene.cluster.executors()[:1])


def worker(scene: Scene) -> None:
    scene.cluster.kill("worker 1")


def data_node(scene: Scene) -> None:
    scene.hdfs.kill("data node 0")
    time.sleep(5)
    scene.hdfs.start_data_node(0)


def name_node(scene: Scene) -> None:
    scene.hdfs.kill("name node")
    scene.hdfs.start_name_node()


def driver(scene: Scene) -> None:
    scene.run.kill()


@pytest.mark.parametrize("deed", [executor, worker, data_node, name_node, driver])
def test_the_tables_are_the_same_or_the_next_run_makes_good(
    deed: Callable[[Scene], None], cluster: Standalone, hdfs: Hdfs, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    lake = f"{hdfs.uri}/lake-{deed.__name__}"
    settings = write_settings(tmp_path / "site.toml", lake, f"{hdfs.uri}/night", {"spark.hadoop.dfs.replication": "2"})
    nightly = ("nightly", *DAY, "--settings", settings)
    with cluster.submit(tmp_path / "first", *nightly) as run:
        run.wait_until_said(f"publishing lines of {D1}")
        assert len(cluster.executors()) == 2
        deed(Scene(cluster, hdfs, run))
        ended = run.ended()
    if deed is worker:
        cluster.start_worker(1)
    hdfs.wait_until_whole()
    if ended.code:
        assert deed is driver or ended.sentence, ended
        with cluster.submit(tmp_path / "next", *nightly, "--break-lock") as run:
            assert run.ended() == Ended(0, "")
    assert rows_in(lake, {}) == expected
