"""The UTC days that a command runs over."""

from __future__ import annotations

import argparse
import datetime as dt
from pathlib import Path

from jobs.cli.answers_options import asked_days
from jobs.errors import UsageError
from jobs.settings.model import Settings, check_date

_MOST = 1_000


def run_days(options: argparse.Namespace, settings: Settings, today: dt.date) -> tuple[tuple[dt.date, ...], str]:
    """The days in order, and why these.

    Raises:
        UsageError: `--date` and a span together, a span that is none or too long.
        SettingValueError: a day that no log can be of.
    """
    first, last = asked_days(options)
    if first and last:
        for name, date in (("--date", options.date), ("--from", options.first), ("--to", options.last)):
            if date:
                check_date(name, date)
        span = (last - first).days + 1
        if span > _MOST:
            raise UsageError(f"{first} to {last} are {span:,} days; ask for {_MOST:,} at most in one run")
        why = "--date" if options.date else "--from/--to"
        return tuple(first + dt.timedelta(days=day) for day in range(span)), why
    origins = settings.origins
    named = {origins.get(f"inputs.{kind}.path") for kind in ("sends", "consumers")}
    if settings.date and origins.get("date") in named:
        return (settings.date,), f"date in {Path(origins['date']).name}"
    return (today - dt.timedelta(days=1),), "yesterday, as no --date was given"


def span_text(days: tuple[dt.date, ...]) -> str:
    """The days in short."""
    return f"{days[0]}" if len(days) == 1 else f"{days[0]} to {days[-1]}"
