"""Which later days a run recomputes: those whose start changed, up to one that it publishes itself."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from jobs.fault_latency.run import FAULT_LATENCY_FLOW
from jobs.runs import runner
from jobs.runs.context import RunContext
from jobs.runs.run import DayResult, PublishedDay, Run, RunResult
from jobs.tables.day import Day

D1, D2, D3, D4 = (Day(dt.date(2026, 3, day), "north") for day in range(1, 5))
RUN = Run("r", "nightly", (D1.date, D2.date, D3.date), allow_empty=False, cascade=True, clock=dt.datetime.now)


def _done(day: Day, closing_state: str) -> DayResult:
    return DayResult(day, None, PublishedDay("PREVIOUS_DAY", "", closing_state=closing_state), {})


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[Day]:
    """The days that are recomputed; all four are published and start from a state that is no longer."""
    found: list[Day] = []

    def derive(*given: Any, cascaded: bool) -> DayResult:
        assert cascaded
        found.append(given[2])
        if len(found) == 3:
            raise OSError("no space left")
        return _done(given[2], "new")

    published = {day: PublishedDay("PREVIOUS_DAY", "old") for day in (D1, D2, D3, D4)}
    monkeypatch.setattr(runner, "known_days", lambda *_: published)
    monkeypatch.setattr(runner, "derive", derive)
    monkeypatch.setattr(runner, "log_run", lambda *_, **__: None)
    return found


def _cascade(result: RunResult, *days: Day) -> None:
    nothing: Any = None
    flow = replace(FAULT_LATENCY_FLOW, can_recompute=lambda *_: True)
    runner.cascade(flow, RunContext(nothing, SimpleNamespace(), nothing, RUN, nothing), result, days)  # type: ignore[arg-type]


def test_it_stops_before_a_day_that_the_run_publishes_from_its_own_lines(derived: list[Day]) -> None:
    """The cluster has lines of the first day and the third, and none of the second."""
    result = RunResult(RUN, [_done(D1, "new")])
    _cascade(result, D1, D3)
    assert derived == [D2]
    assert [done.day for done in result.days] == [D1, D2]


def test_the_day_that_fails_is_known(derived: list[Day]) -> None:
    result = RunResult(RUN, [_done(D1, "new")])
    with pytest.raises(OSError, match="no space left"):
        _cascade(result, D1)
    assert derived == [D2, D3, D4]
    assert (result.cascading, result.days[-1].day) == (D4, D3)
