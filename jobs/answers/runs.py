"""What ran on the requested days: flows whose last run did not succeed, and flows that got no input."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Literal

from jobs.answers.published import Published
from jobs.tables import RUN_LOG

Flow = Literal["FAULT_LATENCY", "ALLOCATION"]
FAULT_LATENCY: Flow = "FAULT_LATENCY"
ALLOCATION: Flow = "ALLOCATION"

NOT_GIVEN: Mapping[Flow, str] = {
    FAULT_LATENCY: "no send log was given",
    ALLOCATION: "no consumer snapshots were given",
}
"""Why the tables of a flow have no row of a day on which it did not run."""


def unsure_days(published: Published) -> tuple[dt.date, ...]:
    """The requested days whose last run, of either flow, has not succeeded.

    It goes on, was killed or failed, perhaps halfway: until one succeeds, their tables may not fit together.
    """
    latest = {}
    columns = ("event_date", "flow", "status", "logged_at", "event_seq")
    for event in sorted(published.rows(RUN_LOG, columns).to_pylist(), key=_event_order):
        latest[event["event_date"], event["flow"]] = event["status"]
    return tuple(sorted({day for (day, _), status in latest.items() if status != "SUCCEEDED"}))


def days_with(published: Published, *before: dt.date) -> dict[Flow, set[dt.date]]:
    """The requested days, and others before them, on which each flow ran: its tables rest on input."""
    ran = published.rows(RUN_LOG, ("event_date", "flow"), None, (*before, *published.days)).to_pylist()
    return {flow: {each["event_date"] for each in ran if each["flow"] == flow} for flow in NOT_GIVEN}


def not_given(published: Published, flow: Flow) -> str | None:
    """A sentence when some or all of the requested days have no input of the flow."""
    without = sorted(set(published.days) - days_with(published)[flow])
    if not without:
        return None
    is_all = len(without) == len(published.days)
    return NOT_GIVEN[flow] if is_all else f"{NOT_GIVEN[flow]} for {', '.join(map(str, without))}"


def _event_order(event: Mapping[str, Any]) -> tuple[int, dt.datetime, bool]:
    """Of the run log: as it was written; what an earlier release wrote has no number, and came before."""
    return event["event_seq"] or 0, event["logged_at"], event["status"] == "SUCCEEDED"
