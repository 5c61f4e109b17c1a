"""Runs of the requested days: flows whose last run did not succeed, and flows without input."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Literal

from jobs.answers.published import Published

Flow = Literal["FAULT_LATENCY", "ALLOCATION"]
FAULT_LATENCY: Flow = "FAULT_LATENCY"
ALLOCATION: Flow = "ALLOCATION"

NOT_GIVEN: Mapping[Flow, str] = {
    FAULT_LATENCY: "no send log was given",
    ALLOCATION: "no consumer snapshots were given",
}
"""Why the tables of a flow have no row of a day on which no run of it succeeded."""


def unsure_days(published: Published) -> tuple[dt.date, ...]:
    """The requested days whose last run, of either flow that publishes days, has not succeeded.

    It is still running, was killed or failed, perhaps halfway: until a run succeeds, the tables may be inconsistent.
    """
    latest = {
        (event["event_date"], event["flow"]): event["status"]
        for event in published.run_events
        if event["event_date"] in published.days and event["flow"] in NOT_GIVEN
    }
    return tuple(sorted({day for (day, _), status in latest.items() if status != "SUCCEEDED"}))


def last_runs(published: Published, flow: Flow) -> dict[dt.date, dict[str, Any]]:
    """Published day to the event of the run log with which the last run of the flow succeeded."""
    return {
        event["event_date"]: event
        for event in published.run_events
        if event["flow"] == flow and event["status"] == "SUCCEEDED"
    }


def days_with(published: Published) -> dict[Flow, set[dt.date]]:
    """The published days on which a run of each flow succeeded, so that its tables have input."""
    return {flow: {*last_runs(published, flow)} for flow in NOT_GIVEN}


def not_given(published: Published, flow: Flow) -> str | None:
    """A sentence if some or all of the requested days have no input of the flow; None otherwise."""
    without = sorted(set(published.days) - days_with(published)[flow])
    if not without:
        return None
    is_all = len(without) == len(published.days)
    return NOT_GIVEN[flow] if is_all else f"{NOT_GIVEN[flow]} for {', '.join(map(str, without))}"
