"""The lock of a lake on a store: contenders between any two requests, killed holders, unfit stores; no Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path

import pytest

from jobs.answers.delta_table import lock_on_store
from jobs.errors import LakeBusyError, LakeError, SettingValueError
from jobs.lake.lock import RunLock, holder_of
from jobs.lake.store_lock import hold_on_store
from tests.given.store_in_memory import Refuses, StoreInMemory

pytestmark = pytest.mark.fault(28)

LAKE = "s3a://bucket/lake"
NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
NOON_MS = int(NOON.timestamp() * 1000)
MINUTE = dt.timedelta(minutes=1)
FIT: tuple[Refuses, ...] = ("at create", "at close")


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> dt.datetime:
        return self.now


def _taken(
    store: StoreInMemory, run_id: str, until: ExitStack, *, clock: Callable[[], dt.datetime] = lambda: NOON,
    break_lock: bool = False, single_writer: bool = False,
) -> RunLock:  # fmt: skip
    held = hold_on_store(store, LAKE, run_id, clock, break_lock=break_lock, single_writer=single_writer)
    return until.enter_context(held)


@pytest.mark.parametrize("refuses", FIT)
def test_a_second_run_is_refused_until_the_first_ends(refuses: Refuses) -> None:
    store = StoreInMemory(refuses)
    with ExitStack() as first, ExitStack() as second:
        lock = _taken(store, "first", first)
        with pytest.raises(
            LakeBusyError, match=r"lake s3a://bucket/lake is held by run first \(process .*--break-lock"
        ):
            _taken(store, "second", second)
        lock.check()
        assert lock.taken_from is None
        assert list(store.contents) == ["00000001"]
        first.close()
        assert store.contents == {"00000001": b"released"}
        assert _taken(store, "second", second).taken_from is None
        assert list(store.contents) == ["00000002"]


@pytest.mark.parametrize("refuses", FIT)
def test_a_killed_holder_is_followed_when_its_lease_has_ended(refuses: Refuses) -> None:
    killed, store = StoreInMemory(refuses), StoreInMemory(refuses)
    with ExitStack() as first:
        _taken(killed, "first", first)
        store.contents, store.changed_ms = dict(killed.contents), dict(killed.changed_ms)
    with ExitStack() as second:
        with pytest.raises(LakeBusyError, match="lease until 2026-03-01 12:02:00 UTC"):
            _taken(store, "second", second, clock=lambda: NOON + MINUTE)
        lock = _taken(store, "second", second, clock=lambda: NOON + 2 * MINUTE)
        assert lock.taken_from is not None
        assert lock.taken_from.startswith("took over the lock of run first (process ")
        assert lock.taken_from.endswith("), whose lease ended at 2026-03-01 12:02:00 UTC")


def test_a_broken_lock_fences_the_run_that_held_it() -> None:
    store = StoreInMemory()
    with ExitStack() as first, ExitStack() as second:
        old = _taken(store, "first", first)
        new = _taken(store, "second", second, break_lock=True)
        assert new.taken_from is not None
        assert new.taken_from.startswith("broke the lock of run first (process ")
        with pytest.raises(LakeBusyError, match=f"the lock of lake {LAKE} was broken by run second"):
            old.check()
        first.close()  # nor does its end take anything from the second
        new.check()
        with pytest.raises(LakeBusyError):
            _taken(store, "third", first)


@pytest.mark.parametrize("refuses", FIT)
@pytest.mark.parametrize("left", [{}, {"00000004": b"released"}, {"00000004": b"{"}], ids=["new", "ended", "dead"])
@pytest.mark.parametrize("request_number", range(1, 16))
def test_contenders_between_any_two_requests_never_both_hold_the_lake(
    refuses: Refuses, left: dict[str, bytes], request_number: int
) -> None:
    """Before one request of the first run a second one comes and goes, and a third comes and stays."""
    store = StoreInMemory(refuses, NOON_MS, dict(left), dict.fromkeys(left, NOON_MS - 600_000))
    locks: list[RunLock] = []
    with ExitStack() as until:

        def others(number: int) -> None:
            if number == request_number:
                store.before = lambda _: None
                with suppress(LakeBusyError), ExitStack() as gone:
                    _taken(store, "second", gone)
                with suppress(LakeBusyError):
                    locks.append(_taken(store, "third", until))

        store.before = others
        with suppress(LakeBusyError):
            locks.append(_taken(store, "first", until))
        store.before = lambda _: None
        assert sum(lock.is_named() for lock in locks) == 1


@pytest.mark.parametrize("refuses", FIT)
def test_a_create_whose_first_answer_was_lost_and_whose_second_was_no_still_takes_the_lake(refuses: Refuses) -> None:
    store = StoreInMemory(refuses, lost="00000001")
    with ExitStack() as until:
        _taken(store, "first", until).check()


def test_a_run_whose_lease_ended_publishes_nothing_more_as_another_may_have_come() -> None:
    store, clock = StoreInMemory(), Clock()
    with ExitStack() as until:
        lock = _taken(store, "first", until, clock=clock)
        clock.now = NOON + 3 * MINUTE
        with pytest.raises(LakeError, match="its lease ended before it could be renewed; nothing more is published"):
            lock.check()
        assert not lock.is_own()


def test_a_signal_or_an_error_in_the_probe_leaves_no_lock() -> None:
    store = StoreInMemory()

    def fail(number: int) -> None:
        if store.contents and number > 4:
            store.before = lambda _: None
            raise KeyboardInterrupt

    store.before = fail
    with ExitStack() as until, pytest.raises(KeyboardInterrupt):
        _taken(store, "first", until)
    assert store.contents["00000001"] == b"released"


def test_a_store_that_gives_one_file_to_two_runs_is_refused_unless_one_run_ever_writes() -> None:
    store = StoreInMemory("never")
    with ExitStack() as until:
        with pytest.raises(SettingValueError, match="could lose days; use another store, or set single_writer = true"):
            _taken(store, "first", until)
        assert store.contents == {"00000001": b"released"}
        _taken(store, "first", until, single_writer=True).check()


@pytest.mark.parametrize(("minutes_later", "is_held"), [(1, True), (3, False)])
def test_a_file_without_a_holder_counts_by_its_last_change(minutes_later: int, *, is_held: bool) -> None:
    """HDFS shows a file that is being replaced as empty."""
    store = StoreInMemory(now_ms=NOON_MS, contents={"00000007": b""}, changed_ms={"00000007": NOON_MS})
    refused = pytest.raises(LakeBusyError, match="is held by an unknown run") if is_held else nullcontext()
    with ExitStack() as until, refused:
        _taken(store, "first", until, clock=lambda: NOON + minutes_later * MINUTE).check()


def test_a_store_that_does_not_answer_ends_the_run_and_not_the_lock() -> None:
    store = StoreInMemory()
    with ExitStack() as until:
        lock = _taken(store, "first", until)
        store.down = True
        with pytest.raises(LakeError, match="cannot be read: the store is down; nothing more is published"):
            lock.check()
        store.down = False
        lock.check()
        store.down = True
        with pytest.raises(LakeError, match="cannot be written: the store is down; check its address"):
            _taken(store, "second", until)
        until.close()


def test_a_lease_that_could_not_be_renewed_in_time_is_renewed_before_a_write() -> None:
    store, clock = StoreInMemory(), Clock()
    with ExitStack() as until:
        lock = _taken(store, "first", until, clock=clock)
        clock.now = NOON + 90 * dt.timedelta(seconds=1)
        lock.check()
        assert b'"lease_until": "2026-03-01T12:03:30+00:00"' in store.contents["00000001"]
        with pytest.raises(LakeBusyError):
            _taken(store, "second", until, clock=lambda: NOON + 3 * MINUTE)


def test_doctor_sees_who_holds_it_and_that_nobody_does(tmp_path: Path) -> None:
    def seen() -> str:
        for name, content in store.contents.items():
            (tmp_path / "_lock" / name).write_bytes(content)
        return f"{holder_of(lock_on_store(tmp_path.as_uri(), {}))}"

    store = StoreInMemory()
    assert seen() == "None"
    (tmp_path / "_lock").mkdir()
    with ExitStack() as first, ExitStack() as second:
        _taken(store, "first", first)
        _taken(store, "second", second, break_lock=True)
        assert seen().startswith("run second (process ")
    assert seen() == "None"
