"""A machine that dies before or after any commit: days stay whole, and the next run ends in the same tables.

One run is killed for real. For all other steps the lake is copied as a run goes by: that is what would be left.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from pyspark.sql import SparkSession

from jobs.tables import POLICY_OUTCOMES, REPLAY_CHECKS, TABLES
from tests.faults.program import ROOT, ST_JOHNS_IN_ARABIC, machine_of
from tests.faults.steps import DERIVED_OF_SENDS, GROUPS, SECOND_DAY, SENDS, logged
from tests.faults.undisturbed import UndisturbedRun, run_undisturbed
from tests.given.corrected_day import CORRECTED, FIRST, LENIENT, by_day, content
from tests.given.site import D1, D2, Line, Site, published_rows
from tests.given.snapshot_site import SnapshotSite

Copied = Callable[[Path, list[Line]], Site]
Content = dict[str, list[str]]
QUICK = ("after", "queue_allocation 1")
COPIED = pytest.mark.fault(25, simulated="a death at any step but one, by a copy of the lake as it is then")


def test_every_table_of_the_flows_is_swept() -> None:
    """What-if answers are no flow: they are published by one commit, or none."""
    swept = {step.split()[0] for step in (*SENDS, *GROUPS)}
    assert swept == {table.name for table in TABLES} - {POLICY_OUTCOMES.name, REPLAY_CHECKS.name}


@pytest.mark.fault(21, 23, 25)
def test_a_killed_run_leaves_each_day_whole_and_the_next_makes_good(
    copied: Copied, tmp_path: Path, undisturbed: UndisturbedRun, after_correction: Content
) -> None:
    """Its process group is gone while up to four tables are being published, in another zone and language than here."""
    site, step = copied(tmp_path, CORRECTED), "producer_days 1"  # its writing starts last
    killed = subprocess.run(
        [sys.executable, "-m", "tests.faults.killed", str(site.folder), step],
        cwd=ROOT, env={**os.environ, **machine_of(*ST_JOHNS_IN_ARABIC)}, capture_output=True, text=True, check=False,
        start_new_session=True,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    _is_whole(site.lake, undisturbed, "before", step)
    left = content(site.lake)
    assert sum(left[table] == after_correction[table] for table in DERIVED_OF_SENDS) >= len(DERIVED_OF_SENDS) - 4
    assert site.rows("run_log", "status", run_id="run-10") == [{"status": "STARTED"}]
    site.run(D1)
    assert content(site.lake) == after_correction
    assert [row["status"] for row in site.rows("run_log", "status", run_id="run-20")] == ["STARTED", "SUCCEEDED"]
    assert not (site.lake / "_staging").exists()


@pytest.mark.fault(25)
def test_a_failed_run_is_logged_and_leaves_what_was_derived(
    copied: Copied, tmp_path: Path, published: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, before = copied(tmp_path, CORRECTED), content(published.lake)

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("no space left")

    monkeypatch.setattr("jobs.fault_latency.run.fault_latency", fails)
    with pytest.raises(RuntimeError):
        site.run(D1)
    left = content(site.lake)
    assert left["sends"] != before["sends"]
    assert {table: left[table] for table in DERIVED_OF_SENDS} == {table: before[table] for table in DERIVED_OF_SENDS}
    failed = site.rows("run_log", "event_date", "message", status="FAILED")
    assert failed == [{"event_date": D1, "message": "no space left"}]
    assert not (site.lake / "_staging").exists()


def _is_whole(lake: Path, run: UndisturbedRun, when: str, step: str) -> None:
    """Of each table, each day is as it was or as it is to be; what was to be committed says which."""
    then, now, found = by_day(run.before), by_day(run.after), by_day(content(lake))
    for key in then.keys() | now.keys() | found.keys():
        assert found.get(key, []) in (then.get(key, []), now.get(key, [])), key
    table, _, nth = step.partition(" ")
    key = (table, f"{D1 if nth == '1' else D2}")
    if table != "run_log":
        assert found.get(key, []) == (then if when == "before" else now).get(key, [])


def _is_whole_at_each_step(run: UndisturbedRun, steps: Sequence[str]) -> None:
    """The steps are those that the run has: a new table or commit at which nobody dies is noticed."""
    assert sorted(run.steps) == sorted(["staging 1", *steps])
    assert run.commits == Counter(step.split()[0] for step in steps)
    assert len(run.on_the_way) == 2 * len(run.steps)
    for (when, step), lake in run.on_the_way.items():
        _is_whole(lake, run, when, step)
        log = published_rows(lake / "run_log", ["status"], {"run_id": "run-20"})
        assert [row["status"] for row in log] == logged(steps, when, step), (when, step)


@COPIED
def test_each_day_is_whole_at_each_step(undisturbed: UndisturbedRun) -> None:
    _is_whole_at_each_step(undisturbed, SENDS)


@COPIED
def test_each_day_of_the_second_flow_is_whole_at_each_step(undisturbed_groups: UndisturbedRun) -> None:
    _is_whole_at_each_step(undisturbed_groups, GROUPS)


def _sweep(*steps: str) -> list[ParameterSet]:
    return [
        pytest.param(when, step, id=f"{when} {step}", marks=() if (when, step) == QUICK else pytest.mark.slow)
        for step in steps
        for when in ("before", "after")
    ]


def _makes_good(spark: SparkSession, site: Site | SnapshotSite, run: UndisturbedRun, when: str, step: str) -> None:
    """The next run on what was left there."""
    shutil.rmtree(site.lake)
    shutil.copytree(run.on_the_way[when, step], site.lake)
    type(site)(spark, site.folder, LENIENT, first_run=30).run(D1)
    assert content(site.lake) == run.after
    assert {row["status"] for row in site.rows("run_log", "status", run_id="run-30")} == {"STARTED", "SUCCEEDED"}
    assert not (site.lake / "_staging").exists()


@COPIED
@pytest.mark.parametrize(("when", "step"), _sweep("staging 1", *SENDS))
def test_the_next_run_makes_good(
    spark: SparkSession, copied: Copied, tmp_path: Path, undisturbed: UndisturbedRun, when: str, step: str
) -> None:
    _makes_good(spark, copied(tmp_path, CORRECTED), undisturbed, when, step)


@COPIED
@pytest.mark.parametrize(("when", "step"), _sweep(*SECOND_DAY))
def test_the_next_run_goes_on_to_the_days_that_start_from_it(
    spark: SparkSession, copied: Copied, tmp_path: Path, both_days: UndisturbedRun, when: str, step: str
) -> None:
    """The second day starts from the first: a run that corrects the first recomputes it, and dies there."""
    _makes_good(spark, copied(tmp_path, CORRECTED), both_days, when, step)


@pytest.fixture(scope="module")
def both_days(spark: SparkSession, copied: Copied, tmp_path_factory: pytest.TempPathFactory) -> UndisturbedRun:
    """A run that corrects the first day, and recomputes the second one for it."""
    first = copied(tmp_path_factory.mktemp("two-days"), FIRST)
    Site(spark, first.folder, LENIENT, first_run=10).run(D2)
    site = copied(tmp_path_factory.mktemp("both"), CORRECTED)
    shutil.rmtree(site.lake)
    shutil.copytree(first.lake, site.lake)
    run = run_undisturbed(site)
    _is_whole_at_each_step(run, [*SENDS, *SECOND_DAY])
    before, after = by_day(run.before), by_day(run.after)
    assert all(before["isolation_intervals", f"{day}"] != after["isolation_intervals", f"{day}"] for day in (D1, D2))
    return run


@COPIED
@pytest.mark.parametrize(("when", "step"), _sweep("staging 1", *GROUPS))
def test_the_next_run_of_the_second_flow_makes_good(
    spark: SparkSession,
    groups: Callable[[Path], SnapshotSite],
    undisturbed_groups: UndisturbedRun,
    tmp_path: Path,
    when: str,
    step: str,
) -> None:
    _makes_good(spark, groups(tmp_path), undisturbed_groups, when, step)
