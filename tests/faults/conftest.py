"""One published day of each flow for all these tests, never run again itself, and what its correction must give."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults.lakes import CORRECTED, FIRST, LENIENT, content
from tests.site import D1, Line, Site, at
from tests.snapshots import SnapshotSite, connection, route, running_info

DERIVED_OF_GROUPS = ("topic_queues", "route_changes", "group_members", "queue_allocation", "queue_ownership",
                     "allocation_findings", "rebalances", "strategy_comparison")  # fmt: skip


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


@pytest.fixture(scope="session")
def groups(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], SnapshotSite]:
    """Lakes of the second flow with the day published, and corrected snapshots beside them."""
    noon = at(D1, "12:00:00")
    first = SnapshotSite(spark, tmp_path_factory.mktemp("groups"), LENIENT)
    first.log("consumers", [connection(noon, ["x"]), {"captured_at_ms": noon}])
    first.log("routes", [route(noon, a=4), route(noon + 1_000, a=2, b=2)])
    first.run(D1)

    def copy(folder: Path) -> SnapshotSite:
        site = SnapshotSite(spark, folder, LENIENT, first_run=20)
        shutil.copytree(first.lake, site.lake)
        site.log("consumers", [connection(noon, ["x", "y"]), connection(noon + 60_000, ["y"]), {}])
        site.log("routes", [route(noon, a=4), route(noon + 2_000, a=4, b=1)])
        site.log("running_info", [running_info(noon, "x", "AllocateMessageQueueAveragelyByCircle")])
        return site

    return copy


@pytest.fixture(scope="session")
def groups_after_correction(
    groups: Callable[[Path], SnapshotSite], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """The second flow's tables after an undisturbed run of the corrected snapshots; each is another than before."""
    corrected = groups(tmp_path_factory.mktemp("groups-undisturbed"))
    before = content(corrected.lake)
    corrected.run(D1)
    after = content(corrected.lake)
    assert {name for name in after if after[name] != before[name]} >= {"quarantine", *DERIVED_OF_GROUPS}
    return after
