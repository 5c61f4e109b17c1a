"""One Spark session for all tests and doctests, as a site on one machine has it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.answers import store
from tests.given.small_plans import SMALL

pytest_plugins = ["tests.faults.summary", "tests.harness.order", "tests.harness.untouched"]

# What Hypothesis remembers of failures stays from run to run, and out of the checkout.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", f"{tempfile.gettempdir()}/faultline-hypothesis-{os.getuid()}")

# Programs that tests start see a few lines and end: Java's second compiler would take a third of their CPU.
os.environ["SPARK_SUBMIT_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m"


AS_OF_MANY = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "2",
}
"""How a night of many lines runs."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of the whole run; small, as the data is."""
    from jobs.spark.session import open_session
    from tests.harness.empty_tables import copied

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SPARK_SUBMIT_OPTS")
        session = open_session(
            {
                "spark.default.parallelism": "2",
                "spark.driver.extraJavaOptions": "-Dsite=tests",
                "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
                **SMALL,
            }
        )
    with copied(tmp_path_factory.mktemp("tables")):
        yield session
    session.stop()


@pytest.fixture(scope="module")
def generated_code(spark: SparkSession) -> Iterator[None]:
    """Spark compiles each plan, as it does in a night of many lines."""
    with generating(spark), pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobs.spark.few_lines.FEW_LINES", -1)
        yield


@contextmanager
def generating(spark: SparkSession) -> Iterator[None]:
    """The session is set to compile plans, until the block ends."""
    for name, value in AS_OF_MANY.items():
        spark.conf.set(name, value)
    yield
    for name, value in SMALL.items():
        spark.conf.set(name, value)


@pytest.fixture
def same_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of the program get the tests' session and cannot end it."""
    monkeypatch.setattr("jobs.spark.session.open_session", lambda *_, **__: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test stands in a folder of its own, with no settings but its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAULTLINE_HOME", raising=False)


@pytest.fixture
def no_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test knows no cloud that this machine says something of."""
    for name in (*store.CREDENTIALS, *store.ENDPOINT, *store.REGION):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")


@pytest.fixture(autouse=True)
def _doctest_names(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Doctests that show a frame find `spark` and `F`; those that do not start no session."""
    doctest = getattr(request.node, "dtest", None)
    if doctest is not None and "spark." in str(doctest.docstring):
        doctest_namespace["spark"] = request.getfixturevalue("spark")
        doctest_namespace["F"] = F
