"""Days of one answer that were published with different settings; a change of settings does not touch older days."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.answers.days import latest_text
from jobs.answers.published import Published
from jobs.answers.runs import FAULT_LATENCY, NOT_GIVEN, Flow, last_runs


def other_settings(published: Published) -> str | None:
    """A sentence with the days whose settings differ from those of the last day; None if there are none.

    For each flow the last run that succeeded counts. Another release may hash the same settings differently; the
    sentence says so. Days whose lines were read with the same settings are recomputed without them.
    """
    said = []
    for flow in NOT_GIVEN:
        of_days = last_runs(published, flow)
        runs = [of_days[day] for day in published.days if day in of_days and of_days[day]["settings_hash"]]
        others = [run for run in runs if _differ(run, runs[-1])]
        if others:
            said.append(_sentence(flow, others, runs[-1]))
    return "; ".join(said) or None


def _differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two days have different settings, or their lines were read with different ones."""
    read_by = {one["input_settings_hash"], other["input_settings_hash"]}
    return bool(one["settings_hash"] != other["settings_hash"] or (None not in read_by and len(read_by) > 1))


def _sentence(flow: Flow, others: Sequence[Mapping[str, Any]], last: Mapping[str, Any]) -> str:
    """The days, the day that they differ from, and the fix."""
    days = [run["event_date"] for run in others]
    is_sure = all(run["code_version"] == last["code_version"] for run in others)
    how = "with other settings" if is_sure else "with other settings or by another release"
    command, again = flow.lower().replace("_", "-"), _again(flow, days, [*others, last])
    return f"{command} published {latest_text(days)} {how} than {last['event_date']}: {again}"


def _again(flow: Flow, days: Sequence[dt.date], runs: Sequence[Mapping[str, Any]]) -> str:
    """How to fix it: a run with the input, or from the lake's own sends if all lines were read with equal settings."""
    read_by = {run["input_settings_hash"] for run in runs}
    is_one = len(days) == 1
    if flow != FAULT_LATENCY or None in read_by or len(read_by) > 1:
        return f"run it again for {'one of the two' if is_one else 'those'}"
    span = f"--date {days[0]}" if is_one else f"--from {days[0]} --to {days[-1]}"
    return f"`faultline fault-latency --recompute {span}` recomputes {'it' if is_one else 'those'}"
