"""A machine that dies at any step of a run: what was published stays, and the next run ends in the same tables."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.lakes import CORRECTED, FIRST, content
from tests.site import D1, D2, Line, Site
from tests.snapshots import SnapshotSite

pytestmark = pytest.mark.slow  # each is a run of the whole program, or several

ROOT = Path(__file__).parents[2]
Copied = Callable[[Path, list[Line]], Site]
DERIVED = ("fault_item_changes", "isolation_intervals", "fault_item_state", "broker_windows", "broker_incidents",
           "producer_days", "send_calls", "findings")  # fmt: skip
STEPS_OF_GROUPS = [
    ("after", "staging 1"),
    ("after", "quarantine 1"),
    ("after", "queue_allocation 1"),
    ("before", "run_log 2"),
]
STEPS = [
    ("after", "staging 1"),
    ("before", "run_log 1"),
    ("after", "run_log 1"),
    ("before", "sends 1"),
    *(("after", f"{table} 1") for table in ("sends", "quarantine", "topic_brokers", "order_key_moves", *DERIVED)),
    ("before", "findings 1"),
    ("before", "run_log 2"),
    ("after", "run_log 2"),
]


def _killed(site: Site | SnapshotSite, when: str, step: str) -> list[str]:
    """What the run log holds of a run that was killed there, sorted."""
    command = [sys.executable, "-m", "tests.faults.killed", str(site.folder), when, step]
    killed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, start_new_session=True)
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    return [row["status"] for row in site.rows("run_log", "status", run_id="run-10")]


@pytest.mark.fault(25)
@pytest.mark.parametrize(
    ("when", "step"),
    [pytest.param(*each, id=" ".join(each)) for each in STEPS],
)
def test_the_next_run_makes_good(
    copied: Copied, tmp_path: Path, after_correction: dict[str, list[str]], when: str, step: str
) -> None:
    site = copied(tmp_path, CORRECTED)
    left = {"after staging 1": [], "before run_log 1": [], "after run_log 2": ["STARTED", "SUCCEEDED"]}
    assert _killed(site, when, step) == left.get(f"{when} {step}", ["STARTED"])
    site.run(D1)
    assert content(site.lake) == after_correction
    assert [row["status"] for row in site.rows("run_log", "status", run_id="run-20")] == ["STARTED", "SUCCEEDED"]
    assert not (site.lake / "_staging").exists()


@pytest.mark.fault(25)
@pytest.mark.parametrize(
    ("when", "step", "left"),
    [
        ("before", "run_log 3", ["STARTED", "SUCCEEDED"]),
        ("before", "isolation_intervals 2", ["STARTED", "STARTED", "SUCCEEDED"]),
        ("after", "fault_item_state 2", ["STARTED", "STARTED", "SUCCEEDED"]),
        ("before", "run_log 4", ["STARTED", "STARTED", "SUCCEEDED"]),
        ("after", "run_log 4", ["STARTED", "STARTED", "SUCCEEDED", "SUCCEEDED"]),
    ],
)
def test_the_next_run_goes_on_to_the_days_that_start_from_it(
    two_days: Callable[[Path], Site],
    tmp_path: Path,
    after_both: dict[str, list[str]],
    when: str,
    step: str,
    left: list[str],
) -> None:
    """The second day starts from the first: a run that corrects the first recomputes it, and is killed there."""
    site = two_days(tmp_path)
    assert _killed(site, when, step) == left
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
def after_both(two_days: Callable[[Path], Site], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    site = two_days(tmp_path_factory.mktemp("both"))
    assert [done.day.date for done in site.run(D1).days] == [D1, D2]
    return content(site.lake)


@pytest.mark.fault(25)
@pytest.mark.parametrize(("when", "step"), [pytest.param(*each, id=" ".join(each)) for each in STEPS_OF_GROUPS])
def test_the_next_run_of_the_second_flow_makes_good(
    groups: Callable[[Path], SnapshotSite],
    groups_after_correction: dict[str, list[str]],
    tmp_path: Path,
    when: str,
    step: str,
) -> None:
    site = groups(tmp_path)
    assert _killed(site, when, step) == ([] if step == "staging 1" else ["STARTED"])
    site.run(D1)
    assert content(site.lake) == groups_after_correction
    assert not (site.lake / "_staging").exists()


def test_every_step_of_a_run_is_in_the_sweep(site: Site) -> None:
    """Nothing is killed: the steps that there are."""
    command = [sys.executable, "-m", "tests.faults.killed", str(site.folder), "after", "never 1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, start_new_session=True)
    steps = {step.rpartition(":")[0] for step in done.stdout.split()}
    assert steps == {step.split()[0] for _, step in STEPS}
