"""Deploy mode cluster on a real YARN: settings come with the program, the lake, input and answer are on HDFS."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.hdfs import Hdfs
from tests.stores.night import DAY, rows_in, write_settings
from tests.stores.programs import Ended
from tests.stores.standalone import HOME, pack, submit
from tests.stores.yarn import Yarn

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3_600)]  # a whole program: `make test-stores`
_LAUNCHED = {
    "spark.yarn.jars": f"local:{HOME}/jars/*",  # otherwise 300 MB go to HDFS
    "spark.yarn.appMasterEnv.PYSPARK_PYTHON": sys.executable,
    "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
    "spark.executorEnv.PYSPARK_PYTHON": sys.executable,
    "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
    "spark.executor.instances": "1",
    "spark.driver.memory": "1500m",
    "spark.ui.enabled": "false",
}


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory, hdfs: Hdfs) -> Iterator[Yarn]:
    with Yarn(tmp_path_factory.mktemp("yarn"), hdfs.uri) as started:
        yield started


def test_a_driver_on_yarn_publishes_the_same(
    yarn: Yarn, hdfs: Hdfs, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    lake, archive = f"{hdfs.uri}/lake", tmp_path / "faultline.zip"
    pack(archive)
    settings = write_settings(tmp_path / "site.toml", lake, f"{hdfs.uri}/night", {})
    options = ("--master", "yarn", "--deploy-mode", "cluster", "--files", settings)
    nightly = ("nightly", *DAY, "--settings", settings.name, "--json-to", f"{hdfs.uri}/ops/night.json")
    with submit(tmp_path, archive, options, _LAUNCHED, nightly, HADOOP_CONF_DIR=str(yarn.conf)) as run:
        assert run.ended() == Ended(0, ""), yarn.said_by_containers()
    assert rows_in(lake, {}) == expected
    assert json.loads(hdfs.text("/ops/night.json"))["lake"] == lake
