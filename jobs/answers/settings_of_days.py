"""Days of one answer that were published with different settings; a change of settings does not touch older days."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.answers.published import Published

_COMMANDS = {"FAULT_LATENCY": "fault-latency", "ALLOCATION": "allocation"}
_MOST_NAMED = 10


def other_settings(published: Published) -> str | None:
    """A sentence with the days whose settings differ from those of the last day; None if there are none.

    For each flow the last run that succeeded counts. Another release may hash the same settings differently; the
    sentence says so. Days whose lines were read with the same settings are recomputed without them.
    """
    succeeded = [
        event
        for event in published.run_events
        if event["event_date"] in published.days and event["status"] == "SUCCEEDED" and event["settings_hash"]
    ]
    said = []
    for flow, command in _COMMANDS.items():
        of_days = {event["event_date"]: event for event in succeeded if event["flow"] == flow}
        if not of_days:
            continue
        last = max(of_days)
        others = sorted(day for day, event in of_days.items() if _differ(event, of_days[last]))
        if others:
            is_sure = all(of_days[day]["code_version"] == of_days[last]["code_version"] for day in others)
            again = _again(flow, others, [of_days[day] for day in (*others, last)])
            said.append(_sentence(command, others, last, again, is_sure=is_sure))
    return "; ".join(said) or None


def _differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two days have different settings, or their lines were read with different ones."""
    read_by = {one["input_settings_hash"], other["input_settings_hash"]}
    return bool(one["settings_hash"] != other["settings_hash"] or (None not in read_by and len(read_by) > 1))


def _again(flow: str, others: Sequence[dt.date], events: Sequence[Mapping[str, Any]]) -> str:
    """How to fix it: a run with the input, or from the lake's own sends if all lines were read with equal settings."""
    read_by = {event["input_settings_hash"] for event in events}
    is_one = len(others) == 1
    if flow != "FAULT_LATENCY" or None in read_by or len(read_by) > 1:
        return f"run it again for {'one of the two' if is_one else 'those'}"
    span = f"--date {others[0]}" if is_one else f"--from {others[0]} --to {others[-1]}"
    return f"`faultline fault-latency --recompute {span}` recomputes {'it' if is_one else 'those'}"


def _sentence(command: str, others: Sequence[dt.date], last: dt.date, again: str, *, is_sure: bool) -> str:
    """The days, the day that they differ from, and the fix.

    >>> _sentence("allocation", [dt.date(2026, 11, 20)], dt.date(2026, 11, 21), "run it again", is_sure=True)
    'allocation published 2026-11-20 with other settings than 2026-11-21: run it again'
    """
    days = ", ".join(map(str, others[-_MOST_NAMED:]))
    earlier = f" and {len(others) - _MOST_NAMED} earlier days" if len(others) > _MOST_NAMED else ""
    how = "with other settings" if is_sure else "with other settings or by another release"
    return f"{command} published {days}{earlier} {how} than {last}: {again}"
