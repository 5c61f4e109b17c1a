"""A signal at any step of a run: one sentence, a FAILED row, nothing left behind, and a next run that makes good."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.given.corrected_day import CORRECTED, content, versions
from tests.given.site import D1, Line, Site
from tests.given.snapshot_site import SnapshotSite

pytestmark = pytest.mark.slow  # each is a run of the whole program, or several

ROOT = Path(__file__).parents[2]
Copied = Callable[[Path, list[Line]], Site]
LENIENT = ("--date", f"{D1}", "--set", "max_bad_fraction=0.5", "--set", "spark.sql.shuffle.partitions=2")


def _interrupted(
    site: Site | SnapshotSite, name: str, how: str, step: str, after_s: float
) -> subprocess.CompletedProcess[str]:
    """The command's end, after a signal at that step; no process of it is left by then."""
    (site.folder / "no-settings.toml").touch()
    is_second = isinstance(site, SnapshotSite)
    command = "allocation" if is_second else "fault-latency"
    kinds = ["consumers", "routes", "running-info"] if is_second else ["sends", "routes", "fault-item-updates"]
    inputs = [word for kind in kinds for word in (f"--{kind}", str(site.folder / kind.replace("-", "_")))]
    where = ["--lake", str(site.lake), "--settings", str(site.folder / "no-settings.toml"), *LENIENT]
    mark = uuid.uuid4().hex
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.interrupted", name, how, step, str(after_s), command, *inputs, *where],
        cwd=ROOT, env={**os.environ, "FAULTLINE_TEST": mark}, capture_output=True, text=True, check=False,
        timeout=600, process_group=0,
    )  # fmt: skip
    until = time.monotonic() + 60
    while _alive(mark) and time.monotonic() < until:
        time.sleep(0.2)
    assert _alive(mark) == []
    return done


def _alive(mark: str) -> list[str]:
    """Processes whose environment carries the mark."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in environ.read_bytes():
                found.append(environ.parent.name)
        except OSError:  # it has just ended
            continue
    return found


def _said(done: subprocess.CompletedProcess[str], name: str) -> None:
    """One sentence after the steps that the run went through, and nothing else."""
    head, *steps, last = done.stderr.splitlines()
    assert last == f"faultline: interrupted by {name}; run it again, other days stay whole", done.stderr
    assert (head.startswith("faultline "), done.stdout) == (True, "")
    assert [line for line in steps if not re.fullmatch(r"[a-z][\w -]+: \d+\.\d s", line)] == []


def _left(site: Site | SnapshotSite) -> None:
    """Staging is gone, and the lock says nothing."""
    assert not (site.lake / "_staging").exists()
    assert (site.lake / "_lock").read_text() == ""


@pytest.mark.fault(25)
@pytest.mark.parametrize(
    ("name", "how", "step", "after_s"),
    [
        ("SIGINT", "once", "staging 1", 0.3),
        ("SIGTERM", "twice", "sends 1", 0.2),
        ("SIGINT", "once", "sends 1", 0.8),
        ("SIGHUP", "once", "isolation_intervals 1", 0.3),
        ("SIGTERM", "once", "findings 1", 0.8),
        ("SIGTERM", "once", "run_log 1", 0.0),
    ],
)
def test_a_signal_ends_a_run_in_order(
    copied: Copied,
    tmp_path: Path,
    after_correction: dict[str, list[str]],
    name: str,
    how: str,
    step: str,
    after_s: float,
) -> None:
    site = copied(tmp_path, CORRECTED)
    done = _interrupted(site, name, how, step, after_s)
    _said(done, name)
    assert done.returncode == 128 + signal.Signals[name]
    failed = site.rows("run_log", "event_date", "message", status="FAILED")
    assert failed == [{"event_date": D1, "message": f"interrupted by {name}; run it again, other days stay whole"}]
    _left(site)
    site.run(D1)
    assert content(site.lake) == after_correction


@pytest.mark.fault(25)
def test_a_signal_ends_the_second_flow_in_order(
    groups: Callable[[Path], SnapshotSite], groups_after_correction: dict[str, list[str]], tmp_path: Path
) -> None:
    """It has Python workers, which the terminal's SIGINT does not reach."""
    site = groups(tmp_path)
    done = _interrupted(site, "SIGINT", "once", "queue_allocation 1", 0.5)
    _said(done, "SIGINT")
    assert done.returncode == 130
    assert len(site.rows("run_log", "status", status="FAILED")) == 1
    _left(site)
    site.run(D1)
    assert content(site.lake) == groups_after_correction


@pytest.mark.fault(25)
@pytest.mark.parametrize(
    ("name", "step", "after_s"), [("SIGTERM", "jvm 1", 0.5), ("SIGINT", "context 1", 0.0), ("SIGHUP", "context 1", 1.0)]
)
def test_a_signal_while_spark_starts_touches_nothing(
    copied: Copied, tmp_path: Path, name: str, step: str, after_s: float
) -> None:
    site = copied(tmp_path, CORRECTED)
    before, log = versions(site.lake), site.version("run_log")
    done = _interrupted(site, name, "once", step, after_s)
    _said(done, name)
    assert done.returncode == 128 + signal.Signals[name]
    assert (versions(site.lake), site.version("run_log")) == (before, log)


@pytest.mark.fault(25)
def test_a_signal_when_the_jvm_is_dead_leaves_no_more_than_its_death(copied: Copied, tmp_path: Path) -> None:
    """Nobody can write the FAILED row then; the lock and the staging folder are no matter of the JVM."""
    site = copied(tmp_path, CORRECTED)
    done = _interrupted(site, "SIGTERM", "dead", "staging 1", 0.3)
    assert done.returncode in (1, 143)
    assert "Traceback" not in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("faultline: ")]) == 1
    _left(site)


@pytest.mark.fault(25)
def test_a_second_signal_ends_it_at_once(
    copied: Copied, tmp_path: Path, after_correction: dict[str, list[str]]
) -> None:
    site = copied(tmp_path, CORRECTED)
    done = _interrupted(site, "SIGTERM", "again", "staging 1", 0.3)
    assert done.returncode == -signal.SIGTERM
    assert "Traceback" not in done.stderr
    site.run(D1)
    assert content(site.lake) == after_correction


@pytest.mark.fault(25)
def test_a_signal_when_all_is_published_changes_nothing(
    copied: Copied, tmp_path: Path, after_correction: dict[str, list[str]]
) -> None:
    site = copied(tmp_path, CORRECTED)
    done = _interrupted(site, "SIGTERM", "once", "stop 1", 0.0)
    assert (done.returncode, "faultline: " in done.stderr) == (0, False), done.stderr
    assert done.stdout
    assert content(site.lake) == after_correction
    _left(site)
