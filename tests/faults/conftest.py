"""One published day for all these tests, never run again itself, and what a correction of it must give."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults.lakes import CORRECTED, FIRST, LENIENT, content
from tests.site import D1, Line, Site


@pytest.fixture(scope="session")
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The first day."""
    site = Site(spark, tmp_path_factory.mktemp("published"), LENIENT)
    site.log(FIRST)
    site.run(D1)
    return site


@pytest.fixture(scope="session")
def copied(spark: SparkSession, published: Site) -> Callable[[Path, list[Line]], Site]:
    """Copies of the published lake: a folder and the log beside it."""

    def copy(folder: Path, log: list[Line]) -> Site:
        site = Site(spark, folder, LENIENT, first_run=20)
        shutil.copytree(published.lake, site.lake)
        site.log(log)
        return site

    return copy


@pytest.fixture
def site(copied: Callable[[Path, list[Line]], Site], tmp_path: Path) -> Site:
    """A copy of the published lake with its own log."""
    return copied(tmp_path, FIRST)


@pytest.fixture(scope="session")
def after_correction(
    copied: Callable[[Path, list[Line]], Site], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """The tables after an undisturbed run of the corrected day."""
    site = copied(tmp_path_factory.mktemp("undisturbed"), CORRECTED)
    before = content(site.lake)
    site.run(D1)
    after = content(site.lake)
    assert {name for name in after if after[name] != before[name]} >= {"sends", "isolation_intervals", "findings"}
    return after
