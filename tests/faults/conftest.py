"""One published day of each flow for all these tests, never run again itself, and what its correction must give."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults.undisturbed import UndisturbedRun, run_undisturbed
from tests.given.corrected_day import CORRECTED, CORRECTED_ROUTES, CORRECTED_UPDATES, FIRST, LENIENT
from tests.given.site import D1, Line, Site, at, write_lines
from tests.given.snapshot_site import SnapshotSite, connection, route, running_info


@pytest.fixture(scope="session")
def published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The first day."""
    site = Site(spark, tmp_path_factory.mktemp("published"), LENIENT)
    site.log(FIRST)
    site.run(D1)
    return site


@pytest.fixture(scope="session")
def copied(spark: SparkSession, published: Site) -> Callable[[Path, list[Line]], Site]:
    """Copies of the published lake: a folder and the log beside it, with routes when it is the corrected one."""

    def copy(folder: Path, log: list[Line]) -> Site:
        site = Site(spark, folder, LENIENT, first_run=20)
        shutil.copytree(published.lake, site.lake)
        site.log(log)
        if log is CORRECTED:
            write_lines(folder / "routes/routes.jsonl", CORRECTED_ROUTES)
            write_lines(folder / "fault_item_updates/updates.jsonl", CORRECTED_UPDATES)
        return site

    return copy


@pytest.fixture
def site(copied: Callable[[Path, list[Line]], Site], tmp_path: Path) -> Site:
    """A copy of the published lake with its own log."""
    return copied(tmp_path, FIRST)


@pytest.fixture(scope="session")
def undisturbed(copied: Callable[[Path, list[Line]], Site], tmp_path_factory: pytest.TempPathFactory) -> UndisturbedRun:
    """A run of the corrected day to which nothing happens."""
    return run_undisturbed(copied(tmp_path_factory.mktemp("undisturbed"), CORRECTED))


@pytest.fixture(scope="session")
def after_correction(undisturbed: UndisturbedRun) -> dict[str, list[str]]:
    """The tables after it; each is another than before."""
    assert undisturbed.changed() == undisturbed.after.keys()
    return undisturbed.after


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
def undisturbed_groups(
    groups: Callable[[Path], SnapshotSite], tmp_path_factory: pytest.TempPathFactory
) -> UndisturbedRun:
    """A run of the corrected snapshots to which nothing happens."""
    return run_undisturbed(groups(tmp_path_factory.mktemp("groups-undisturbed")))


@pytest.fixture(scope="session")
def groups_after_correction(undisturbed_groups: UndisturbedRun) -> dict[str, list[str]]:
    """The second flow's tables after it; each is another than before."""
    assert undisturbed_groups.changed() == undisturbed_groups.after.keys()
    return undisturbed_groups.after
