"""A disk that is full or read-only: a sentence, tables as they were, and a next run that ends in the same tables."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from jobs.errors import FaultlineError, LakeError
from jobs.spark.failures import failure
from tests.faults.program import run_program
from tests.faults.steps import GROUPS, SENDS, watched
from tests.given.corrected_day import CORRECTED, content, versions
from tests.given.site import D1, Line, Site, at, send, write_lines
from tests.given.small_disk import small_disk
from tests.given.snapshot_site import SnapshotSite

SLOW = pytest.mark.slow  # each is two runs, and all are minutes
SAID: dict[str | tuple[str, str], str] = {
    "full": "No space left",
    "read-only": "Read-only file system",
    ("read-only", "staging"): "a folder cannot be made",  # Java does not say why
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


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with small_disk(tmp_path / "disk", "64m") as folder:
        yield Disk(folder)


@pytest.fixture
def small(copied: Callable[[Path, list[Line]], Site], disk: Disk) -> Site:
    """The published lake on the small disk, and a corrected log."""
    return copied(disk.at, CORRECTED)


def _survive(
    site: Site | SnapshotSite, disk: Disk, fault: str, where: str, corrected: dict[str, list[str]], untouched: set[str]
) -> None:
    """The run ends with a sentence and without this commit, the next one in the corrected tables.

    Args:
        where: the step before which the disk takes no more.
        untouched: the steps that come before any commit to a table but the run log.
    """
    before, pending = versions(site.lake), [disk.fill if fault == "full" else disk.protect]

    def break_it(step: str) -> None:
        if step == where and pending:
            pending.pop()()

    with watched(break_it), pytest.raises((FaultlineError, Py4JError, PySparkException)) as caught:
        site.run(D1)
    assert pending == []
    found = caught.value
    said = str(found if isinstance(found, FaultlineError) else failure(found, str(site.lake)))  # as the program says it
    table = where.split(maxsplit=1)[0]
    assert SAID.get((fault, table), SAID[fault]) in said
    after = versions(site.lake)
    assert after.keys() == before.keys()
    assert after == before if where in untouched else after.get(table) == before.get(table)

    if fault == "full":
        disk.free()
    else:
        disk.unprotect()
    status = {row["status"] for row in site.rows("run_log", "status", run_id="run-20")}
    assert status - {"FAILED"} == (set() if where in {"staging 1", "run_log 1"} else {"STARTED"})
    site.run(D1)
    assert content(site.lake) == corrected
    assert not (site.lake / "_staging").exists()


def _everywhere(steps: Sequence[str], read_only: Sequence[str], quick: str = "") -> list[ParameterSet]:
    """Full before staging and each commit; read-only before some."""
    places = [*(("full", step) for step in ("staging 1", *steps)), *(("read-only", step) for step in read_only)]
    return [
        pytest.param(
            fault, where, id=f"{fault} before {where}", marks=() if (fault, where) == ("full", quick) else SLOW
        )
        for fault, where in places
    ]


@pytest.mark.fault(31)
@pytest.mark.parametrize(
    ("fault", "where"), _everywhere(SENDS, ("staging 1", "sends 1", "producer_days 1"), quick="sends 1")
)
def test_a_disk_that_takes_no_more(
    small: Site, disk: Disk, after_correction: dict[str, list[str]], fault: str, where: str
) -> None:
    _survive(small, disk, fault, where, after_correction, {"staging 1", "run_log 1", "sends 1"})


@pytest.mark.fault(31)
@pytest.mark.parametrize(("fault", "where"), _everywhere(GROUPS, ("staging 1", "queue_ownership 1")))
def test_a_disk_that_takes_no_more_of_the_second_flow(
    groups: Callable[[Path], SnapshotSite],
    disk: Disk,
    groups_after_correction: dict[str, list[str]],
    fault: str,
    where: str,
) -> None:
    _survive(groups(disk.at), disk, fault, where, groups_after_correction, {"staging 1", "run_log 1", "quarantine 1"})


@pytest.mark.fault(31)
def test_a_read_only_lake_is_refused_at_once(small: Site, disk: Disk) -> None:
    before = versions(small.lake)
    disk.protect()
    with pytest.raises(LakeError, match=r"lake .* cannot be written: Read-only file system; check its permissions"):
        small.run(D1)
    assert versions(small.lake) == before


@SLOW
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
