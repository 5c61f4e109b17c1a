"""A run that queues for the lake; no Spark."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from jobs.errors import LakeBusyError
from jobs.lake.tables_io import Lake
from jobs.runs import held as waiting
from jobs.runs.held import held
from jobs.runs.run import Run
from jobs.settings.model import Settings
from jobs.text.progress import Progress

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


class BusyLake:
    """A lake that another run holds for so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks, self.is_held = looks, False

    @contextmanager
    def locked(self, *_: object, **_how: Any) -> Iterator[None]:
        self.looks -= 1
        if self.looks >= 0:
            raise LakeBusyError("lake /lake is held by run q")
        self.is_held = True
        yield None

    def check(self) -> None:
        assert self.is_held


def _held(lake: BusyLake, wait: dt.timedelta) -> str:
    said = io.StringIO()
    run = Run("r", "nightly", (), allow_empty=False, cascade=True, clock=lambda: NOON, wait=wait)
    with held(cast("Lake", lake), Settings(), run, Progress(said)):
        lake.check()
    return said.getvalue()


def test_a_run_waits_for_the_lake_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_LOOKS_EVERY_S", 0.001)
    assert _held(BusyLake(3), dt.timedelta(minutes=1)) == "lake /lake is held by run q; waiting for it\n"


def test_it_gives_up_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_LOOKS_EVERY_S", 0.001)
    with pytest.raises(LakeBusyError, match="is held by run q"):
        _held(BusyLake(1_000_000), dt.timedelta(milliseconds=20))


def test_without_a_wait_it_is_refused_at_once() -> None:
    with pytest.raises(LakeBusyError):
        _held(BusyLake(1), dt.timedelta())


def test_what_the_run_itself_finds_busy_is_not_waited_for() -> None:
    lake = BusyLake(0)
    run = Run("r", "nightly", (), allow_empty=False, cascade=True, clock=lambda: NOON, wait=dt.timedelta(hours=1))
    with pytest.raises(LakeBusyError, match="another writer"), held(cast("Lake", lake), Settings(), run, Progress()):
        raise LakeBusyError("another writer changed it")
