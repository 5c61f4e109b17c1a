"""Days of one answer that were published with different settings: a change of them leaves older days as they were."""

from __future__ import annotations

import datetime as dt

from jobs.answers.published import Published

_COMMANDS = {"FAULT_LATENCY": "fault-latency", "ALLOCATION": "allocation"}
_MOST_NAMED = 10


def other_settings(published: Published) -> str | None:
    """A sentence that names the days whose settings are not those of the last of the days; None when all are.

    Each flow for itself: the run that succeeded last counts. What a release hashes otherwise is no other setting for
    sure, and the sentence says so.
    """
    succeeded = [
        event
        for event in published.run_events
        if event["event_date"] in published.days and event["status"] == "SUCCEEDED" and event["settings_hash"]
    ]
    said = []
    for flow, command in _COMMANDS.items():
        of_days = {
            event["event_date"]: (event["settings_hash"], event["code_version"])
            for event in succeeded
            if event["flow"] == flow
        }
        if not of_days:
            continue
        last = max(of_days)
        others = sorted(day for day, (settings, _) in of_days.items() if settings != of_days[last][0])
        if others:
            is_sure = all(of_days[day][1] == of_days[last][1] for day in others)
            said.append(_sentence(command, others, last, is_sure=is_sure))
    return "; ".join(said) or None


def _sentence(command: str, others: list[dt.date], last: dt.date, *, is_sure: bool) -> str:
    """The days, the one that they differ from, and the fix.

    >>> _sentence("allocation", [dt.date(2026, 11, 20)], dt.date(2026, 11, 21), is_sure=True)
    'allocation published 2026-11-20 with other settings than 2026-11-21: run it again for one of the two'
    """
    days = ", ".join(map(str, others[-_MOST_NAMED:]))
    earlier = f" and {len(others) - _MOST_NAMED} earlier days" if len(others) > _MOST_NAMED else ""
    how = "with other settings" if is_sure else "with other settings or by another release"
    again = "run it again for one of the two" if len(others) == 1 else "run it again for those"
    return f"{command} published {days}{earlier} {how} than {last}: {again}"
