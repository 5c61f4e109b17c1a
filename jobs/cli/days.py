"""The UTC days that a command runs over."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from jobs.errors import UsageError
from jobs.settings.model import Settings, check_date

_MOST = 1_000


@dataclass(frozen=True)
class DayOptions:
    """What `--date`, `--from` and `--to` name.

    Attributes:
        first: of a span.
        last: of a span, inclusive.
    """

    date: dt.date | None = None
    first: dt.date | None = None
    last: dt.date | None = None

    def span(self) -> tuple[dt.date | None, dt.date | None]:
        """First and last day; None twice if no option gives them.

        Raises:
            UsageError: `--date` and a span together, half a span, or a span that ends before it starts.
        """
        if self.date and (self.first or self.last):
            raise UsageError("--date and --from/--to exclude each other; give one of them")
        if bool(self.first) != bool(self.last):
            raise UsageError("--from and --to go together; give both")
        if self.first and self.last and self.last < self.first:
            raise UsageError(f"--to {self.last} is before --from {self.first}; swap them")
        return self.first or self.date, self.last or self.date


def run_days(options: DayOptions, settings: Settings, today: dt.date) -> tuple[tuple[dt.date, ...], str]:
    """The days in order, and why these days.

    Raises:
        UsageError: `--date` and a span together, or an invalid or too long span.
        SettingValueError: a day that is out of range for a log.
    """
    first, last = options.span()
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
