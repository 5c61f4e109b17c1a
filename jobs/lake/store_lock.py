"""The run lock of a lake on a store: files with numbers, of which the highest is the holder's.

To take the lake is to create the next number, which a store gives to one run alone: HDFS by create without overwrite,
S3 by a conditional PUT. A run writes only its own file: to renew its lease, and to say that it has ended. The highest
number is never deleted, so that a slow contender, who saw it last, cannot become a second holder.
"""

from __future__ import annotations

import datetime as dt
import errno
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from jobs.errors import LakeError, SettingValueError
from jobs.lake.lock import (
    LEASE,
    LONGEST,
    Clock,
    Holder,
    RunLock,
    busy,
    holder_of,
    lease_from,
    renewed,
    taken_over,
    text_of,
    this_run,
)
from jobs.spark.interruption import Interrupted, give_back
from jobs.spark.store_folder import StoreFolder

_ENDED = b"released"


class _StoreLock(RunLock):
    """The lock of a lake on a store."""

    def __init__(
        self, lake: str, folder: StoreFolder, number: int, own: Holder, taken_from: str | None, clock: Clock
    ) -> None:
        super().__init__(lake, own, taken_from)
        self._folder, self._number, self._clock = folder, number, clock
        self._lease_until = own.lease_until
        self._one_at_a_time = threading.Lock()

    def named(self) -> Holder | None:
        number = _newest(self._folder.files())
        return self._own if number == self._number else holder_of(self._folder.read(_name(number), LONGEST))

    def is_named(self) -> bool:
        """Whether no other run came later.

        When renewals have failed for half a lease it is renewed first, so that a write has time to end.

        Raises:
            OSError: the store does not answer, or the lease has ended, so that another run may come at any time.
        """
        self._renew_before(LEASE / 2)
        return super().is_named()

    def renew(self, now: dt.datetime) -> None:  # noqa: ARG002 - the clock is asked once it is this thread's turn
        self._renew_before(LEASE)

    def _renew_before(self, left: dt.timedelta) -> None:
        """Renew the lease unless more of it is left; two writes of one file at once would fail on HDFS."""
        with self._one_at_a_time:
            now = self._clock()
            if now > self._lease_until:
                raise OSError(errno.ETIMEDOUT, "its lease ended before it could be renewed")
            if self._lease_until - now <= left:
                until = lease_from(now)
                self._folder.write(_name(self._number), text_of(replace(self._own, lease_until=until)))
                self._lease_until = until

    def release(self) -> None:
        try:
            self._end()
        except Interrupted:
            give_back()
            self._end()
            raise

    def _end(self) -> None:
        with suppress(OSError), self._one_at_a_time:  # the lease will end it
            if super().is_named():
                self._folder.write(_name(self._number), _ENDED)

    def delete_older(self) -> None:
        """Delete the files of former holders, and what killed probes left."""
        with suppress(OSError):  # they cost a few bytes
            for name in self._folder.files():
                if _number_of(name) < self._number:
                    self._folder.delete(name)


@contextmanager
def hold_on_store(
    folder: StoreFolder, lake: str, run_id: str, clock: Clock, *, break_lock: bool = False, single_writer: bool = False
) -> Iterator[RunLock]:
    """Hold the lock of a lake on a store.

    Args:
        folder: `_lock` in the lake.
        lake: its URI.
        run_id: of this run.
        clock: of this machine.
        break_lock: take the lock even from a run that holds it; that run publishes nothing more.
        single_writer: the site sees to it that no two runs write at once, so that the store need not.

    Raises:
        LakeBusyError: another run holds it.
        LakeError: the store does not answer, or does not let this run write.
        SettingValueError: the store gives one file to two runs.
    """
    own = this_run(run_id, clock)
    with ExitStack() as until:
        try:
            lock = _taken(folder, lake, own, clock, break_lock=break_lock)
            until.enter_context(renewed(lock, clock))
            is_latest = lock.is_named()
            is_fit = single_writer or _refuses_second(folder, run_id)
        except OSError as error:
            raise LakeError(
                f"lake {lake} cannot be written: {error.strerror}; check its address and permissions"
            ) from error
        if not is_latest:
            raise busy(lake, None)
        if not is_fit:
            raise SettingValueError(
                f"lake {lake} is on a store that gives one file to two runs, so that two runs at once could lose days;"
                " use another store, or set single_writer = true if nothing else ever writes to this lake"
            )
        lock.delete_older()
        yield lock


def _taken(folder: StoreFolder, lake: str, own: Holder, clock: Clock, *, break_lock: bool) -> _StoreLock:
    files = folder.files()
    newest = _newest(files)
    try:
        content = folder.read(_name(newest), LONGEST) if newest else _ENDED
    except FileNotFoundError:  # a newer holder deleted it
        raise busy(lake, None) from None
    current = holder_of(content)
    is_held = content != _ENDED and _lease_until(current, files[_name(newest)]) > own.since
    if is_held and not break_lock:
        raise busy(lake, current)
    try:
        folder.create(_name(newest + 1)).finish(text_of(own))
    except OSError:
        if _newest(folder.files()) <= newest:
            raise
        other = holder_of(folder.read(_name(newest + 1), LONGEST))
        if not own.is_same(other):  # a store may also refuse its own repeated request: what the file says counts
            raise busy(lake, other) from None
    taken_from = None if content == _ENDED else taken_over(current, content, own, was_locked=is_held)
    return _StoreLock(lake, folder, newest + 1, own, taken_from, clock)


def _lease_until(holder: Holder | None, changed_ms: int) -> dt.datetime:
    """End of the lease; of a file without a holder, such as one that HDFS just replaces, by its last change."""
    return holder.lease_until if holder else dt.datetime.fromtimestamp(changed_ms / 1000, dt.UTC) + LEASE


def _refuses_second(folder: StoreFolder, run_id: str) -> bool:
    """Whether the store gives a file to one of two that create it at once."""
    name = f"probe-{run_id}"
    try:
        first, second = folder.create(name), None
        with suppress(OSError):
            second = folder.create(name)
        first.finish(b"1")
        with suppress(OSError):
            if second:
                second.finish(b"2")
                return False
        return folder.read(name, 1) == b"1"
    finally:
        folder.delete(name)


def _newest(names: Iterable[str]) -> int:
    """The highest number; 0 when there is none."""
    return max(map(_number_of, names), default=0)


def _name(number: int) -> str:
    return f"{number:08d}"


def _number_of(name: str) -> int:
    return int(name) if name.isdecimal() else 0
