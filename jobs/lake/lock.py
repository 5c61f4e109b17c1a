"""The run lock of a lake in a local folder: one run at a time, across processes and machines.

`flock` on the file decides on one machine, and is released as soon as a run dies. The lease in the file,
renewed while the run lives, decides where a shared disk does not carry `flock` between machines. A run that takes the
lock replaces the file: a run that lost it notices before it publishes, and stops.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from jobs.errors import LakeBusyError, LakeError
from jobs.text.terminal import safe

Clock = Callable[[], dt.datetime]
LEASE = dt.timedelta(minutes=2)
_RENEWED_EVERY_S = 20.0
_NAME = "_lock"
_LONGEST = 4096


@dataclass(frozen=True)
class Holder:
    """Holder of a lake, from the lock's file; instants are UTC, to the second."""

    run_id: str
    host: str
    process: int
    since: dt.datetime
    lease_until: dt.datetime

    def __str__(self) -> str:
        return f"run {self.run_id} (process {self.process} on host {self.host})"

    def is_same(self, other: Holder | None) -> bool:
        """Whether both are the same acquisition of the lock; only the lease may differ."""
        return other is not None and replace(other, lease_until=self.lease_until) == self


class RunLock:
    """A lock that is held.

    Attributes:
        taken_from: sentence about the lock that was taken over or broken, for the run log, or None.
    """

    def __init__(self, folder: Path, handle: int, own: Holder, taken_from: str | None) -> None:
        self._folder, self._handle, self._own, self.taken_from = folder, handle, own, taken_from

    def is_own(self) -> bool:
        """Whether the file on disk still is this lock's; false when it cannot be read."""
        return self._own.is_same(holder(self._folder))

    def is_named(self) -> bool:
        """Whether the file on disk still has this lock's holder.

        Raises:
            OSError: it cannot be read now, so its owner is unknown.
        """
        try:
            return self._own.is_same(_named(self._folder))
        except FileNotFoundError:
            return False

    def check(self) -> None:
        """Call this before each write.

        Raises:
            LakeBusyError: another run broke the lock or took it over.
            LakeError: the lock's file cannot be read.
        """
        try:
            is_own = self.is_named()
        except OSError as error:
            raise LakeError(
                f"the lock of lake {self._folder} cannot be read: {error.strerror}; nothing more is published;"
                " run it again"
            ) from error
        if not is_own:
            other = holder(self._folder) or "another run"
            raise LakeBusyError(
                f"the lock of lake {self._folder} was broken by {other}; nothing more is published; run it again later"
            )

    def renew(self, now: dt.datetime) -> None:
        """Extend the lease. The text keeps its length, so that no reader sees half of one."""
        os.pwrite(self._handle, _text(replace(self._own, lease_until=_lease(now))), 0)

    def release(self) -> None:
        """Release the lock; a file that another run has put in its place stays."""
        with suppress(OSError):
            os.ftruncate(self._handle, 0)
        os.close(self._handle)


@contextmanager
def hold(folder: Path, run_id: str, clock: Clock, *, break_lock: bool = False) -> Iterator[RunLock]:
    """Hold the lock of the lake in `folder`, which is created if missing.

    Args:
        break_lock: take the lock even from a run that holds it; that run publishes nothing more.

    Raises:
        LakeBusyError: another run holds it.
        LakeError: the folder cannot be written.
    """
    now = clock().astimezone(dt.UTC).replace(microsecond=0)
    own = Holder(run_id, socket.gethostname(), os.getpid(), now, _lease(now))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = _taken(folder, own, break_lock=break_lock)
    except OSError as error:
        raise LakeError(f"lake {folder} cannot be written: {error.strerror}; check its permissions") from error
    over = threading.Event()
    renewal = threading.Thread(target=_renew, args=(lock, clock, over), daemon=True, name="faultline-lock")
    renewal.start()
    try:
        yield lock
    finally:
        over.set()
        renewal.join()
        lock.release()


def holder(folder: Path) -> Holder | None:
    """Holder in the lock's file, even if it died; None without a file, or when it cannot be read."""
    try:
        return _named(folder)
    except OSError:
        return None


def _named(folder: Path) -> Holder | None:
    with (folder / _NAME).open("rb") as file:
        return _holder(file.read(_LONGEST))


def _taken(folder: Path, own: Holder, *, break_lock: bool) -> RunLock:
    old, flocked = _opened(folder / _NAME)
    try:
        content = os.pread(old, _LONGEST, 0)
        current = _holder(content)
        elsewhere = current is not None and (current.host != own.host or flocked is None)
        is_held = flocked is False or (elsewhere and current is not None and current.lease_until > own.since)
        if is_held and not break_lock:
            raise LakeBusyError(
                f"lake {folder} is held by {_described(current)}; try again when it has ended,"
                " or take the lock from it with --break-lock"
            )
        return RunLock(folder, _replaced(folder, own), own, _sentence(current, content, own, was_locked=is_held))
    finally:
        os.close(old)


def _opened(path: Path) -> tuple[int, bool | None]:
    """The current file, and whether it could be flocked: it may be replaced between open and flock."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        flocked = _flocked(handle)
        with suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(handle).st_ino:
                return handle, flocked
        os.close(handle)


def _flocked(handle: int) -> bool | None:
    """Whether this process has the flock; None when the disk does not support it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _replaced(folder: Path, own: Holder) -> int:
    """A new file in place of the lock's, flocked before it takes the name."""
    path = folder / f"{_NAME}.{own.run_id}"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        _flocked(handle)
        os.pwrite(handle, _text(own), 0)
        path.replace(folder / _NAME)
    except OSError:
        os.close(handle)
        path.unlink(missing_ok=True)
        raise
    return handle


def _renew(lock: RunLock, clock: Clock, over: threading.Event) -> None:
    while not over.wait(_RENEWED_EVERY_S):
        with suppress(OSError):  # the next time may go better; until the lease ends nothing is lost
            if not lock.is_named():
                return
            lock.renew(clock())


def _sentence(previous: Holder | None, content: bytes, own: Holder, *, was_locked: bool) -> str | None:
    if was_locked:
        return f"broke the lock of {_described(previous)}"
    if previous is None:
        return "took over a lock with an unreadable file" if content.strip() else None
    ended = "whose lease ended at" if previous.lease_until <= own.since else "which is gone; its lease ran until"
    return f"took over the lock of {previous}, {ended} {_shown(previous.lease_until)}"


def _described(holder: Holder | None) -> str:
    if holder is None:
        return "an unknown run"
    return f"{holder} since {_shown(holder.since)}, lease until {_shown(holder.lease_until)}"


def _shown(instant: dt.datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC"


def _lease(now: dt.datetime) -> dt.datetime:
    return now.astimezone(dt.UTC).replace(microsecond=0) + LEASE


def _text(holder: Holder) -> bytes:
    return json.dumps(asdict(holder), default=dt.datetime.isoformat).encode()


def _holder(content: bytes) -> Holder | None:
    try:
        fields = json.loads(content)
        since, until = (dt.datetime.fromisoformat(fields[name]).astimezone(dt.UTC) for name in ("since", "lease_until"))
        return Holder(safe(str(fields["run_id"])), safe(str(fields["host"])), int(fields["process"]), since, until)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
