"""Where a run leaves later days alone: reported, when they start otherwise now; without a word, when they do not."""

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

D1, D2 = (Day(dt.date(2026, 3, day), "north") for day in (1, 2))


@pytest.mark.parametrize(
    ("start", "cascades", "is_forgotten", "derived", "stale"),
    [
        pytest.param(("PREVIOUS_DAY", "old"), True, False, [D2], [], id="another start"),
        pytest.param(("EMPTY", "new"), True, False, [D2], [], id="it started from nothing"),
        pytest.param(("PREVIOUS_DAY", "new"), True, False, [], [], id="the same start"),
        pytest.param(("PREVIOUS_DAY", "old"), False, False, [], [D2.date], id="--no-cascade"),
        pytest.param(("PREVIOUS_DAY", "new"), False, False, [], [], id="--no-cascade, and the same start"),
        pytest.param(("PREVIOUS_DAY", "old"), True, True, [], [D2.date], id="its sends are no longer kept"),
        pytest.param(None, True, False, [], [], id="it is not published"),
    ],
)
def test_the_day_after(
    monkeypatch: pytest.MonkeyPatch,
    start: tuple[str, str] | None,
    *,
    cascades: bool,
    is_forgotten: bool,
    derived: list[Day],
    stale: list[dt.date],
) -> None:
    """The first day was just published and ends as "new"."""
    found: list[Day] = []

    def derive(*given: Any, cascaded: bool) -> DayResult:
        assert cascaded
        found.append(given[2])
        return DayResult(given[2], None, "PREVIOUS_DAY", "", "end", {})

    monkeypatch.setattr(runner, "published_days", lambda *_: {D2: PublishedDay(*start)} if start else {})
    monkeypatch.setattr(runner, "derive", derive)
    monkeypatch.setattr(runner, "log_run", lambda *_: None)
    run = Run("r", "nightly", (D1.date,), allow_empty=False, cascade=cascades, clock=dt.datetime.now)
    result = RunResult(run, [DayResult(D1, None, "EMPTY", "", "new", {})])
    nothing: Any = None
    flow = replace(FAULT_LATENCY_FLOW, can_recompute=lambda *_: not is_forgotten)
    runner.cascade(flow, RunContext(nothing, SimpleNamespace(), nothing, run, nothing), result, [D1])  # type: ignore[arg-type]
    assert (found, result.stale_days) == (derived, stale)
