"""The lake's lock: two processes, a killed holder, other machines, a broken lock; no Spark."""

from __future__ import annotations

import datetime as dt
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import jobs.lake.lock
from jobs.errors import LakeBusyError, LakeError
from jobs.lake.lock import hold, holder

pytestmark = pytest.mark.fault(28)

ROOT = Path(__file__).parents[2]
NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
HERE = socket.gethostname()
HOLDING = """
import datetime as dt, sys
from pathlib import Path
from jobs.lake.lock import hold

with hold(Path(sys.argv[1]), "first", lambda: dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)) as lock:
    print("held", flush=True)
    sys.stdin.readline()
    lock.check()
    print("still own")
"""


def test_a_lease_outlives_two_renewals_that_fail() -> None:
    assert jobs.lake.lock.LEASE.total_seconds() >= 3 * jobs.lake.lock._RENEWED_EVERY_S


@contextmanager
def _held_elsewhere(lake: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lake until it gets a line; then it says whether it may still write."""
    command = [sys.executable, "-c", HOLDING, str(lake)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def _left(lake: Path, **other: object) -> dict[str, object]:
    """A lock's file as a run on another machine left it at noon."""
    named = {"run_id": "far", "host": "host-b", "process": 7, "since": "2026-03-01T11:00:00+00:00",
            "lease_until": "2026-03-01T12:02:00+00:00"} | other  # fmt: skip
    lake.mkdir(exist_ok=True)
    (lake / "_lock").write_text(json.dumps(named), encoding="utf-8")
    return named


def _taken(lake: Path, *, at: dt.datetime = NOON, break_lock: bool = False) -> str | None:
    with hold(lake, "second", lambda: at, break_lock=break_lock) as lock:
        lock.check()
        return lock.taken_from


def test_the_file_has_the_holder_and_is_empty_afterwards(tmp_path: Path) -> None:
    lake = tmp_path / "new" / "lake"
    with hold(lake, "first", lambda: NOON.replace(microsecond=5)) as lock:
        assert json.loads((lake / "_lock").read_text(encoding="utf-8")) == {
            "run_id": "first", "host": HERE, "process": os.getpid(),
            "since": "2026-03-01T12:00:00+00:00", "lease_until": "2026-03-01T12:02:00+00:00",
        }  # fmt: skip
        found = holder(lake)
        assert found is not None
        assert str(found) == f"run first (process {os.getpid()} on host {HERE})"
        assert lock.taken_from is None
    assert (lake / "_lock").read_bytes() == b""
    assert holder(lake) is None
    assert holder(tmp_path / "nowhere") is None
    assert [file.name for file in lake.iterdir()] == ["_lock"]
    assert _taken(lake) is None


def test_a_second_process_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    with _held_elsewhere(tmp_path) as first:
        with pytest.raises(LakeBusyError) as refused:
            _taken(tmp_path, at=NOON + dt.timedelta(days=1))  # here flock answers, whatever the lease says
        assert str(refused.value) == (
            f"lake {tmp_path} is held by run first (process {first.pid} on host {HERE}) since 2026-03-01 12:00:00 UTC,"
            " lease until 2026-03-01 12:02:00 UTC; try again when it has ended, or take the lock from it with"
            " --break-lock"
        )
        assert first.communicate("go\n")[0] == "still own\n"
    assert _taken(tmp_path) is None


@pytest.mark.fault(28)
def test_a_killed_holder_releases_at_once_and_is_reported(tmp_path: Path) -> None:
    with _held_elsewhere(tmp_path) as first:
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert _taken(tmp_path) == (
            f"took over the lock of run first (process {first.pid} on host {HERE}), which is gone;"
            " its lease ran until 2026-03-01 12:02:00 UTC"
        )


@pytest.mark.fault(28)
def test_a_broken_lock_fences_the_run_that_held_it(tmp_path: Path) -> None:
    with _held_elsewhere(tmp_path) as first, hold(tmp_path, "second", lambda: NOON, break_lock=True) as lock:
        assert lock.taken_from == (
            f"broke the lock of run first (process {first.pid} on host {HERE}) since 2026-03-01 12:00:00 UTC,"
            " lease until 2026-03-01 12:02:00 UTC"
        )
        said = first.communicate("go\n")[1].splitlines()[-1]
        assert said == (
            f"jobs.errors.LakeBusyError: the lock of lake {tmp_path} was broken by run second (process {os.getpid()} on"
            f" host {HERE}); nothing more is published; run it again later"
        )
        lock.check()  # and the end of the first took nothing from the second
        with pytest.raises(LakeBusyError, match="is held by run second"):
            _taken(tmp_path)
    assert _taken(tmp_path) is None


def test_who_lost_the_lock_sees_it_after_the_other_has_ended_too(tmp_path: Path) -> None:
    with hold(tmp_path, "first", lambda: NOON) as lock:
        assert _taken(tmp_path, break_lock=True)
        with pytest.raises(LakeBusyError, match="was broken by another run; nothing more is published"):
            lock.check()


@pytest.mark.parametrize("name", ["_lock", "."])
def test_a_lock_whose_file_is_gone_is_lost(tmp_path: Path, name: str) -> None:
    lake = tmp_path / "lake"
    with hold(lake, "first", lambda: NOON) as lock:
        (lake / "_lock").unlink()
        if name == ".":
            lake.rmdir()
        with pytest.raises(LakeBusyError):
            lock.check()


def test_a_live_lease_of_another_machine_is_respected(tmp_path: Path) -> None:
    _left(tmp_path)
    with pytest.raises(LakeBusyError, match=r"held by run far \(process 7 on host host-b\) since 2026-03-01 11:00:00"):
        _taken(tmp_path)
    assert _taken(tmp_path, break_lock=True) == (
        "broke the lock of run far (process 7 on host host-b) since 2026-03-01 11:00:00 UTC,"
        " lease until 2026-03-01 12:02:00 UTC"
    )


@pytest.mark.fault(28, simulated="another machine")
def test_an_ended_lease_of_another_machine_is_taken_over(tmp_path: Path) -> None:
    _left(tmp_path)
    assert _taken(tmp_path, at=NOON + dt.timedelta(minutes=2)) == (
        "took over the lock of run far (process 7 on host host-b), whose lease ended at 2026-03-01 12:02:00 UTC"
    )


def test_where_the_disk_knows_no_flock_the_lease_counts_on_one_machine_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with hold(tmp_path, "first", lambda: NOON), pytest.raises(LakeBusyError, match="held by run first"):
        _taken(tmp_path)
    assert _taken(tmp_path) is None


@pytest.mark.parametrize(
    "content",
    [
        b"process 123\n",
        b"\xff\xfe\x00",
        b"{",
        b"null",
        b"[" * 5000,
        b'{"run_id": "a", "host": "b", "process": 1e999, "since": "2026-03-01", "lease_until": "2026-03-01"}',
        b'{"run_id": "a", "host": "b", "process": 1, "since": 5, "lease_until": "never"}',
    ],
)
def test_an_unreadable_lock_is_taken_over_and_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "_lock").write_bytes(content)
    assert holder(tmp_path) is None
    assert _taken(tmp_path) == "took over a lock with an unreadable file"
    assert (tmp_path / "_lock").read_bytes() == b""


def test_a_hostile_name_in_the_file_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    _left(tmp_path, run_id="\x1b[31mred\n")
    found = holder(tmp_path)
    assert found is not None
    assert found.run_id == r"\x1b[31mred\n"


def test_the_lease_is_renewed_while_the_lock_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs.lake.lock, "_RENEWED_EVERY_S", 0.01)
    looks = iter(range(1000))
    with hold(tmp_path, "first", lambda: NOON + dt.timedelta(minutes=next(looks))) as lock:
        for _ in range(1000):
            found = holder(tmp_path)
            assert found is not None  # nobody ever reads half a text
            if found.lease_until >= NOON + dt.timedelta(minutes=5):
                break
            time.sleep(0.01)
        else:
            pytest.fail("the lease stands still")
        lock.check()
        assert found.since == NOON


def test_what_stands_in_the_new_holders_file_is_never_renewed_by_the_old(tmp_path: Path) -> None:
    with hold(tmp_path, "first", lambda: NOON) as old:
        with hold(tmp_path, "second", lambda: NOON, break_lock=True):
            old.renew(NOON + dt.timedelta(hours=1))
            found = holder(tmp_path)
        assert found is not None
        assert (found.run_id, found.lease_until) == ("second", NOON + dt.timedelta(minutes=2))


def test_a_file_that_is_replaced_between_two_looks_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder's file is replaced, and the old one let go, just after this run found it held."""
    flocked = jobs.lake.lock._flocked
    found: list[bool | None] = []

    def told_held(handle: int) -> bool | None:
        found.append(flocked(handle) if found else False)
        return found[-1]

    (tmp_path / "_lock").write_bytes(b"")
    monkeypatch.setattr(jobs.lake.lock, "_flocked", told_held)
    with pytest.raises(LakeBusyError):
        _taken(tmp_path)
    assert found == [False]


def test_a_lock_that_cannot_be_read_for_a_while_is_renewed_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.lake.lock, "_RENEWED_EVERY_S", 0.01)
    looks = iter(range(100_000))
    with hold(tmp_path, "first", lambda: NOON + dt.timedelta(minutes=next(looks))) as lock:
        (tmp_path / "aside").hardlink_to(tmp_path / "_lock")
        (tmp_path / "loop").symlink_to("_lock")
        (tmp_path / "loop").replace(tmp_path / "_lock")  # opening it is an error, and none that says that it is gone
        with pytest.raises(LakeError, match="cannot be read: Too many levels of symbolic links; nothing more is publ"):
            lock.check()
        assert not lock.is_own()
        time.sleep(0.1)
        (tmp_path / "aside").replace(tmp_path / "_lock")
        before = holder(tmp_path)
        for _ in range(1000):
            found = holder(tmp_path)
            if found and before and found.lease_until > before.lease_until:
                break
            time.sleep(0.01)
        else:
            pytest.fail("the lease stands still")
        lock.check()


def _refused(lake: Path) -> str:
    with pytest.raises(LakeError) as refused, hold(lake, "first", lambda: NOON):
        pass
    return str(refused.value)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    lake = tmp_path / "file" / "lake"
    assert _refused(lake) == f"lake {lake} cannot be written: Not a directory; check its permissions"
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    is_root = os.geteuid() == 0
    if is_root:  # root may write everywhere: try it as somebody else
        os.seteuid(65534)
    try:
        assert _refused(closed) == f"lake {closed} cannot be written: Permission denied; check its permissions"
    finally:
        if is_root:
            os.seteuid(0)
