"""One Spark session for all tests and doctests, as a site on one machine has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

pytest_plugins = ["tests.faults.summary"]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session of the whole run; small, as the data is."""
    from jobs.session import open_session

    session = open_session({"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"})
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _doctest_names(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Doctests that show a frame find `spark` and `F`; those that do not start no session."""
    if isinstance(request.node, pytest.DoctestItem) and "spark." in str(request.node.dtest.docstring):  # type: ignore[attr-defined]
        doctest_namespace["spark"] = request.getfixturevalue("spark")
        doctest_namespace["F"] = F
