"""Where a run leaves later days alone: reported, when they start otherwise now; without a word, when they do not.

It looks at every later day: an earlier run may have been killed between two of them.
"""

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

D1, D2, D3, D4 = (Day(dt.date(2026, 3, day), "north") for day in (1, 2, 3, 4))
OLD = PublishedDay("PREVIOUS_DAY", "old", closing_state="old")
"""As it was before the first day changed."""
ANEW = PublishedDay("PREVIOUS_DAY", "new", closing_state="new")
"""As it is when the first day's change has reached it."""
BROKEN_OFF = replace(ANEW, is_broken_off=True)


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
    published = {D2: PublishedDay(*start)} if start else {}
    found = _cascade(monkeypatch, published, cascades=cascades, forgotten=[D2] if is_forgotten else [])
    assert found == (derived, stale)


@pytest.mark.fault(25)
@pytest.mark.parametrize(
    ("published", "forgotten", "derived", "stale"),
    [
        pytest.param([ANEW, ANEW, ANEW], [], [], [], id="all start so"),
        pytest.param([ANEW, OLD, OLD], [], [D3, D4], [], id="a run was killed after the second day"),
        pytest.param([ANEW, OLD, ANEW], [], [D3], [], id="a run was killed then, and the fourth day was published"),
        pytest.param([ANEW, BROKEN_OFF, ANEW], [], [D3], [], id="a run was killed in the third day"),
        pytest.param([BROKEN_OFF, ANEW, ANEW], [], [D2], [], id="a run was killed in the second day"),
        pytest.param([OLD, OLD, OLD], [D3], [D2], [D3.date], id="the third day cannot be recomputed"),
        pytest.param([ANEW, OLD, OLD], [D3], [], [D3.date], id="nor by the next run, which says so again"),
        pytest.param([OLD, ANEW, ANEW], [D2, D3], [], [D2.date, D3.date], id="two of them cannot"),
        pytest.param([ANEW, BROKEN_OFF, ANEW], [D3], [], [D3.date], id="what broke off cannot be recomputed"),
        pytest.param([ANEW, None, OLD], [], [], [], id="the third day is not published"),
    ],
)
def test_the_days_after(
    monkeypatch: pytest.MonkeyPatch,
    published: list[PublishedDay | None],
    forgotten: list[Day],
    derived: list[Day],
    stale: list[dt.date],
) -> None:
    """The first day was just published and ends as "new", as each day does that starts so."""
    days = {day: made for day, made in zip((D2, D3, D4), published, strict=True) if made}
    assert _cascade(monkeypatch, days, cascades=True, forgotten=forgotten) == (derived, stale)


def _cascade(
    monkeypatch: pytest.MonkeyPatch, published: dict[Day, PublishedDay], *, cascades: bool, forgotten: list[Day]
) -> tuple[list[Day], list[dt.date]]:
    """The days that are recomputed, and those that are left, after the first day was published and ends as "new"."""
    found: list[Day] = []

    def derive(*given: Any, cascaded: bool) -> DayResult:
        assert cascaded
        found.append(given[2])
        return DayResult(given[2], None, ANEW, {})

    monkeypatch.setattr(runner, "known_days", lambda *_: published)
    monkeypatch.setattr(runner, "derive", derive)
    monkeypatch.setattr(runner, "log_run", lambda *_, **__: None)
    run = Run("r", "nightly", (D1.date,), allow_empty=False, cascade=cascades, clock=dt.datetime.now)
    result = RunResult(run, [DayResult(D1, None, ANEW, {})])
    nothing: Any = None
    flow = replace(FAULT_LATENCY_FLOW, can_recompute=lambda _, day: day not in forgotten)
    runner.cascade(flow, RunContext(nothing, SimpleNamespace(), nothing, run, nothing), result, [D1])  # type: ignore[arg-type]
    return found, result.stale_days
