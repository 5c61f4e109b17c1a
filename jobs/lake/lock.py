"""The run lock of a lake: one run at a time, across processes and machines; here for a lake in a local folder.

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
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from jobs.errors import LakeBusyError, LakeError
from jobs.spark.interruption import Interrupted
from jobs.text.terminal import safe

Clock = Callable[[], dt.datetime]
LEASE = dt.timedelta(minutes=2)
_RENEWED_EVERY_S = 20.0
_NAME = "_lock"
LONGEST = 4096
"""Bytes of a lock's file that are read."""


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


class RunLock(ABC):
    """A lock that is held.

    Attributes:
        taken_from: sentence about the lock that was taken over or broken, for the run log, or None.
    """

    def __init__(self, lake: str, own: Holder, taken_from: str | None) -> None:
        self._lake, self._own, self.taken_from = lake, own, taken_from

    @abstractmethod
    def named(self) -> Holder | None:
        """Holder in the lock's file.

        Raises:
            OSError: it cannot be read now, so its owner is unknown.
        """

    @abstractmethod
    def renew(self, now: dt.datetime) -> None:
        """Extend the lease."""

    @abstractmethod
    def release(self) -> None:
        """Release the lock; a file that another run has put in its place stays."""

    def is_named(self) -> bool:
        """Whether the lock's file still has this lock's holder.

        Raises:
            OSError: it cannot be read now, so its owner is unknown.
        """
        try:
            return self._own.is_same(self.named())
        except FileNotFoundError:
            return False

    def is_own(self) -> bool:
        """Whether the lock's file still is this lock's; false when it cannot be read."""
        try:
            return self.is_named()
        except OSError:
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
                f"the lock of lake {self._lake} cannot be read: {error.strerror}; nothing more is published;"
                " run it again"
            ) from error
        if not is_own:
            raise LakeBusyError(
                f"the lock of lake {self._lake} was broken by {self._other()}; nothing more is published;"
                " run it again later"
            )

    def _other(self) -> Holder | str:
        with suppress(OSError):
            return self.named() or "another run"
        return "another run"


class _FolderLock(RunLock):
    """The lock of a lake in a local folder."""

    def __init__(self, folder: Path, handle: int, own: Holder, taken_from: str | None) -> None:
        super().__init__(str(folder), own, taken_from)
        self._folder, self._handle = folder, handle

    def named(self) -> Holder | None:
        return _named(self._folder)

    def renew(self, now: dt.datetime) -> None:
        """Extend the lease. The text keeps its length, so that no reader sees half of one."""
        os.pwrite(self._handle, text_of(replace(self._own, lease_until=lease_from(now))), 0)

    def release(self) -> None:
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
    own = this_run(run_id, clock)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = _taken(folder, own, break_lock=break_lock)
    except OSError as error:
        raise LakeError(f"lake {folder} cannot be written: {error.strerror}; check its permissions") from error
    with renewed(lock, clock):
        yield lock


@contextmanager
def renewed(lock: RunLock, clock: Clock) -> Iterator[None]:
    """Renew the lock's lease during the block, and release it at its end."""
    over = threading.Event()
    renewal = threading.Thread(target=_renew, args=(lock, clock, over), daemon=True, name="faultline-lock")
    renewal.start()
    try:
        yield
    finally:
        over.set()
        renewal.join()
        lock.release()


def this_run(run_id: str, clock: Clock) -> Holder:
    """This process as holder, with a lease from now."""
    now = clock().astimezone(dt.UTC).replace(microsecond=0)
    return Holder(run_id, socket.gethostname(), os.getpid(), now, lease_from(now))


def busy(lake: object, current: Holder | None) -> LakeBusyError:
    """The error of a lake that another run holds."""
    return LakeBusyError(
        f"lake {lake} is held by {_described(current)}; try again when it has ended,"
        " or take the lock from it with --break-lock"
    )


def holder(folder: Path) -> Holder | None:
    """Holder in the lock's file, even if it died; None without a file, or when it cannot be read."""
    try:
        return _named(folder)
    except OSError:
        return None


def _named(folder: Path) -> Holder | None:
    with (folder / _NAME).open("rb") as file:
        return holder_of(file.read(LONGEST))


def _taken(folder: Path, own: Holder, *, break_lock: bool) -> RunLock:
    old, flocked = _opened(folder / _NAME)
    try:
        content = os.pread(old, LONGEST, 0)
        current = holder_of(content)
        elsewhere = current is not None and (current.host != own.host or flocked is None)
        is_held = flocked is False or (elsewhere and current is not None and current.lease_until > own.since)
        if is_held and not break_lock:
            raise busy(folder, current)
        return _FolderLock(folder, _replaced(folder, own), own, taken_over(current, content, own, was_locked=is_held))
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
        os.pwrite(handle, text_of(own), 0)
        path.replace(folder / _NAME)
    except OSError:
        os.close(handle)
        path.unlink(missing_ok=True)
        raise
    return handle


def _renew(lock: RunLock, clock: Clock, over: threading.Event) -> None:
    while not over.wait(_RENEWED_EVERY_S):
        # the next time may go better; until the lease ends nothing is lost
        with suppress(OSError, Interrupted):
            if not lock.is_named():
                return
            lock.renew(clock())


def taken_over(previous: Holder | None, content: bytes, own: Holder, *, was_locked: bool) -> str | None:
    """Sentence about the lock that `own` takes; None for one that was released."""
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


def lease_from(now: dt.datetime) -> dt.datetime:
    """End of a lease that begins now, to the second."""
    return now.astimezone(dt.UTC).replace(microsecond=0) + LEASE


def text_of(holder: Holder) -> bytes:
    """Content of a lock's file."""
    return json.dumps(asdict(holder), default=dt.datetime.isoformat).encode()


def holder_of(content: bytes) -> Holder | None:
    """Holder in the content of a lock's file; None when it names none."""
    try:
        fields = json.loads(content)
        since, until = (dt.datetime.fromisoformat(fields[name]).astimezone(dt.UTC) for name in ("since", "lease_until"))
        return Holder(safe(str(fields["run_id"])), safe(str(fields["host"])), int(fields["process"]), since, until)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
