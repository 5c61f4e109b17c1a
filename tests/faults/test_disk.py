"""A disk that is full or read-only: a sentence, tables as they were, and a next run that ends in the same tables."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from jobs.errors import FaultlineError, LakeError
from jobs.ingest import stage_sends, stage_snapshots
from jobs.lake import Lake
from jobs.spark_errors import failure
from tests.faults.lakes import CORRECTED, content, versions
from tests.faults.program import run_program
from tests.site import D1, Line, Site, at, send, write_lines
from tests.snapshots import SnapshotSite

pytestmark = pytest.mark.slow  # each is a run of the whole program, or several


TOLD: dict[str | tuple[str, str], str] = {
    "full": "No space left",
    "read-only": "Read-only file system",
    ("read-only", "staging"): "a folder cannot be made",  # Java does not tell why
    ("read-only", "queue_ownership"): "a folder cannot be made",  # that of the day, which had no row before
}


class Disk:
    """A small file system of its own."""

    def __init__(self, at: Path) -> None:
        self.at, self._filler = at, at / "filler"

    def fill(self) -> None:
        """Leave no room."""
        with self._filler.open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(65_536))
            except OSError:
                pass

    def free(self) -> None:
        self._filler.unlink()

    def protect(self) -> None:
        """Make it read-only to all who look from now on; as a whole the kernel refuses, for the lock file is open."""
        subprocess.run(["mount", "--bind", self.at, self.at], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", self.at], check=True)

    def unprotect(self) -> None:
        subprocess.run(["umount", "--lazy", self.at], check=True)


def _mounted(folder: Path, size: str) -> bool:
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False)
    return done.returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid() != 0 or not _mounted(tmp_path / "disk", "64m"):
        pytest.skip("mounting a small disk needs root")
    yield Disk(tmp_path / "disk")
    while (tmp_path / "disk").is_mount():
        subprocess.run(["umount", "--lazy", tmp_path / "disk"], check=True)


@pytest.fixture
def small(copied: Callable[[Path, list[Line]], Site], disk: Disk) -> Site:
    """The published lake on the small disk, and a corrected log."""
    return copied(disk.at, CORRECTED)


def _before(monkeypatch: pytest.MonkeyPatch, where: str, happens: Callable[[], None]) -> None:
    """Let it happen once: before staging, or before the commit to a table."""
    publish, pending = Lake.publish_day, [happens]

    def staging(stage: Callable[..., Any]) -> Callable[..., Any]:
        def staged(*given: Any) -> Any:
            if where == "staging" and pending:
                pending.pop()()
            return stage(*given)

        return staged

    def publishing(lake: Lake, table: Any, *given: Any, **named: Any) -> Any:
        if where == table.name and pending:
            pending.pop()()
        return publish(lake, table, *given, **named)

    monkeypatch.setattr("jobs.nightly.stage_sends", staging(stage_sends))
    monkeypatch.setattr("jobs.allocation_run.stage_snapshots", staging(stage_snapshots))
    monkeypatch.setattr(Lake, "publish_day", publishing)


def _survive(site: Site | SnapshotSite, disk: Disk, fault: str, where: str, corrected: dict[str, list[str]]) -> None:
    """The run ends with a sentence and without this commit or any after it, the next one in the corrected tables."""
    before = versions(site.lake)
    with pytest.raises((FaultlineError, Py4JError, PySparkException)) as caught:
        site.run(D1)
    found = caught.value
    told = str(found if isinstance(found, FaultlineError) else failure(found, str(site.lake)))  # as the program says it
    assert TOLD.get((fault, where), TOLD[fault]) in told
    after = versions(site.lake)
    assert after == before if where in {"staging", "sends"} else after[where] == before[where]

    if fault == "full":
        disk.free()
    else:
        disk.unprotect()
    site.run(D1)
    assert content(site.lake) == corrected
    assert not (site.lake / "_staging").exists()


@pytest.mark.fault(31)
@pytest.mark.parametrize("where", ["staging", "sends", "producer_days"])
@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_a_disk_that_takes_no_more(
    small: Site,
    disk: Disk,
    after_correction: dict[str, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    where: str,
) -> None:
    _before(monkeypatch, where, disk.fill if fault == "full" else disk.protect)
    _survive(small, disk, fault, where, after_correction)


@pytest.mark.fault(31)
@pytest.mark.parametrize("where", ["staging", "queue_ownership"])
@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_a_disk_that_takes_no_more_of_the_second_flow(
    groups: Callable[[Path], SnapshotSite],
    disk: Disk,
    groups_after_correction: dict[str, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    where: str,
) -> None:
    site = groups(disk.at)
    _before(monkeypatch, where, disk.fill if fault == "full" else disk.protect)
    _survive(site, disk, fault, where, groups_after_correction)


@pytest.mark.fault(31)
def test_a_read_only_lake_is_refused_at_once(small: Site, disk: Disk) -> None:
    before = versions(small.lake)
    disk.protect()
    with pytest.raises(LakeError, match=r"lake .* cannot be written: Read-only file system; check its permissions"):
        small.run(D1)
    assert versions(small.lake) == before


@pytest.mark.fault(31)
def test_no_room_for_what_spark_shuffles(disk: Disk, tmp_path: Path) -> None:
    """Shuffled rows go below SPARK_LOCAL_DIRS; the lake has room."""
    day = [send(at(D1, "06:00:00") + place, client_id=f"p{place % 999}", seq=place) for place in range(20_000)]
    write_lines(tmp_path / "sends/sends.jsonl", day)
    disk.fill()

    def run() -> subprocess.CompletedProcess[str]:
        return run_program(tmp_path, "--date", f"{D1}", environ={"SPARK_LOCAL_DIRS": str(disk.at)})

    full = run()
    assert full.returncode in {1, 2}
    assert "No space left on device" in full.stderr.splitlines()[-1]
    assert not (tmp_path / "lake/sends").exists() or versions(tmp_path / "lake")["sends"] == 0
    disk.free()
    assert run().returncode == 0
    assert len(content(tmp_path / "lake")["sends"]) == 20_000
