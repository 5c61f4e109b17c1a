"""A machine that dies before or after any commit: days stay whole, and the next run ends in the same tables."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.faults.steps import GROUPS, SECOND_DAY, SENDS, logged
from tests.faults.undisturbed import run_undisturbed
from tests.given.corrected_day import CORRECTED, FIRST, by_day, content
from tests.given.site import D1, D2, Line, Site
from tests.given.snapshot_site import SnapshotSite

ROOT = Path(__file__).parents[2]
Copied = Callable[[Path, list[Line]], Site]
Content = dict[str, list[str]]
QUICK = {("before", "isolation_intervals 1"), ("after", "queue_allocation 1")}
"""One amid the commits of each flow; the others take a JVM each, which is minutes."""


def _sweep(*steps: str) -> list[ParameterSet]:
    return [
        pytest.param(when, step, id=f"{when} {step}", marks=() if (when, step) in QUICK else pytest.mark.slow)
        for step in steps
        for when in ("before", "after")
    ]


def _killed(site: Site | SnapshotSite, steps: Sequence[str], when: str, step: str) -> None:
    """Kill a run there: its process group is gone, and the run log says how far it came."""
    command = [sys.executable, "-m", "tests.faults.killed", str(site.folder), when, step]
    killed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, start_new_session=True)
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    found = [row["status"] for row in site.rows("run_log", "status", run_id="run-10")]
    assert found == logged(steps, when, step)


def _each_day_is_whole(left: Content, before: Content, after: Content, when: str, step: str) -> None:
    """Of each table, each day is as it was or as it is to be; what was to be committed says which."""
    then, now, found = by_day(before), by_day(after), by_day(left)
    for key in then.keys() | now.keys() | found.keys():
        assert found.get(key, []) in (then.get(key, []), now.get(key, [])), key
    table, _, nth = step.partition(" ")
    key = (table, f"{D1 if nth == '1' else D2}")
    if table != "run_log":
        assert found.get(key, []) == (then if when == "before" else now).get(key, [])


@pytest.mark.fault(25)
@pytest.mark.parametrize(("when", "step"), _sweep("staging 1", *SENDS))
def test_the_next_run_makes_good(
    copied: Copied, tmp_path: Path, published: Site, after_correction: Content, when: str, step: str
) -> None:
    site = copied(tmp_path, CORRECTED)
    _killed(site, SENDS, when, step)
    _each_day_is_whole(content(site.lake), content(published.lake), after_correction, when, step)
    site.run(D1)
    assert content(site.lake) == after_correction
    assert [row["status"] for row in site.rows("run_log", "status", run_id="run-20")] == ["STARTED", "SUCCEEDED"]
    assert not (site.lake / "_staging").exists()


@pytest.mark.fault(25)
@pytest.mark.parametrize(("when", "step"), _sweep(*SECOND_DAY))
def test_the_next_run_goes_on_to_the_days_that_start_from_it(
    two_days: Callable[[Path], Site], tmp_path: Path, after_both: Content, when: str, step: str
) -> None:
    """The second day starts from the first: a run that corrects the first recomputes it, and is killed there."""
    site = two_days(tmp_path)
    before = content(site.lake)
    _killed(site, [*SENDS, *SECOND_DAY], when, step)
    _each_day_is_whole(content(site.lake), before, after_both, when, step)
    site.run(D1)
    assert content(site.lake) == after_both


@pytest.fixture(scope="module")
def two_days(copied: Copied, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Site]:
    """Lakes with both days published and a corrected log that changes both."""
    first = copied(tmp_path_factory.mktemp("two-days"), FIRST)
    first.run(D2)

    def copy(folder: Path) -> Site:
        site = copied(folder, CORRECTED)
        shutil.rmtree(site.lake)
        shutil.copytree(first.lake, site.lake)
        return site

    return copy


@pytest.fixture(scope="module")
def after_both(two_days: Callable[[Path], Site], tmp_path_factory: pytest.TempPathFactory) -> Content:
    """The tables of both days after an undisturbed run, whose steps these are."""
    run = run_undisturbed(two_days(tmp_path_factory.mktemp("both")))
    assert sorted(run.steps) == sorted(["staging 1", *SENDS, *SECOND_DAY])
    before, after = by_day(run.before), by_day(run.after)
    assert all(before["isolation_intervals", f"{day}"] != after["isolation_intervals", f"{day}"] for day in (D1, D2))
    return run.after


@pytest.mark.fault(25)
@pytest.mark.parametrize(("when", "step"), _sweep("staging 1", *GROUPS))
def test_the_next_run_of_the_second_flow_makes_good(
    groups: Callable[[Path], SnapshotSite], groups_after_correction: Content, tmp_path: Path, when: str, step: str
) -> None:
    site = groups(tmp_path)
    before = content(site.lake)
    _killed(site, GROUPS, when, step)
    _each_day_is_whole(content(site.lake), before, groups_after_correction, when, step)
    site.run(D1)
    assert content(site.lake) == groups_after_correction
    assert not (site.lake / "_staging").exists()
