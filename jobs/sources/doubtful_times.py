"""Sentences on times that are read by a zone that nobody says, or that are to come; for `check` and a run."""

from __future__ import annotations

import datetime as dt

from jobs.settings.inputs import SendsInput

_CLOCKS_DIFFER_S = 60
"""A producer's clock may be ahead of ours by so much."""


def times_without_zone(sends_input: SendsInput) -> list[str]:
    """The fields of times as text for which no setting says a zone."""
    return [
        name
        for name, source in sends_input.fields.items()
        if source.unit == "iso8601" and sends_input.time_zone_of(name) is None
    ]


def zone_missing(name: str, lines: int) -> list[str]:
    """A sentence on the times of a field that have no zone, if there are any.

    Args:
        name: canonical field.
        lines: with such a time.
    """
    said = (
        f"{name} has no offset in {lines} lines and is taken for UTC; say the zone of the log:"
        ' [inputs.sends] time_zone = "Asia/Shanghai", or "UTC" if it is'
    )
    return [said] if lines else []


def times_to_come(name: str, latest_ms: int, now: dt.datetime) -> list[str]:
    """A sentence on the times of a field, if any lie in the future.

    Args:
        name: canonical field.
        latest_ms: the latest, epoch ms.
        now: the current time.
    """
    if latest_ms <= (now.timestamp() + _CLOCKS_DIFFER_S) * 1000:
        return []
    latest = dt.datetime.fromtimestamp(latest_ms / 1000, dt.UTC)
    return [f"{name} is in the future, up to {latest:%Y-%m-%dT%H:%M:%SZ}; check its time_zone and unit"]
