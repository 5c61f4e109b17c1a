"""The UTC days that a command runs over or asks about, and times on them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from jobs.cli.times import DAY_MS, Time, day_of, start_ms
from jobs.errors import UsageError
from jobs.settings.model import Settings, check_date

_MOST = 1_000


@dataclass(frozen=True)
class DayOptions:
    """What `--date`, `--from` and `--to` name, and `--at`, `--since` and `--until`.

    Attributes:
        first: of a span.
        last: of a span, inclusive.
        until: exclusive.
    """

    date: dt.date | None = None
    first: dt.date | None = None
    last: dt.date | None = None
    at: Time | None = None
    since: Time | None = None
    until: Time | None = None

    @property
    def times(self) -> dict[str, Time]:
        """The given times, by option."""
        named = {"--at": self.at, "--since": self.since, "--until": self.until}
        return {name: time for name, time in named.items() if time}

    def span(self) -> tuple[dt.date | None, dt.date | None]:
        """First and last day, else those of the times; None twice if no option gives them.

        Raises:
            UsageError: options that do not go together, half a span, or a span that ends before it starts.
        """
        if self.at and (self.since or self.until):
            raise UsageError("--at and --since/--until exclude each other; give an instant or a window")
        if self.date and (self.first or self.last):
            raise UsageError("--date and --from/--to exclude each other; give one of them")
        if bool(self.first) != bool(self.last):
            raise UsageError("--from and --to go together; give both")
        if self.first and self.last and self.last < self.first:
            raise UsageError(f"--to {self.last} is before --from {self.first}; swap them")
        for name, time in self.times.items():
            if self.first and not time.has_date:
                raise UsageError(f"{name} {time.text} names no day of --from/--to; write it like {self.first}T00:26:51")
        with_date_ms = [
            time.at_ms - 1 if name == "--until" else time.at_ms for name, time in self.times.items() if time.has_date
        ]
        if self.first or self.date or not with_date_ms:
            return self.first or self.date, self.last or self.date
        return day_of(min(with_date_ms)), day_of(max(with_date_ms))

    def instants(self, published: Sequence[dt.date]) -> dict[str, int | None]:
        """The times on the days of `span`, by default the published ones; one without a date is on the first of them.

        Returns:
            `at_ms`, `since_ms` and `until_ms`, epoch ms; None for an option that was not used.

        Raises:
            UsageError: a window that ends before it begins, or a time on none of the days.
        """
        first, last = self._within(published)
        at = {name: time.on(first) for name, time in self.times.items()}
        for (earlier, start), (later, end) in pairwise(at.items()):
            if end <= start:
                raise UsageError(
                    f"{later} {self.times[later].text} is not after {earlier} {self.times[earlier].text}; swap them"
                )
        start, end = start_ms(first), start_ms(last) + DAY_MS
        for name, time_ms in at.items():
            is_within = start < time_ms <= end if name == "--until" else start <= time_ms < end
            if not is_within:
                days = f"{first}" if first == last else f"{first} to {last}"
                raise UsageError(f"{name} {self.times[name].text} is not within {days}; give another time, or day")
        return {f"{name}_ms": at.get(f"--{name}") for name in ("at", "since", "until")}

    def window(self, published: Sequence[dt.date]) -> tuple[int, int]:
        """From `--since`, by default the first day's start, to `--until`, by default the last day's end; epoch ms.

        Raises:
            UsageError: as `instants`.
        """
        given, (first, last) = self.instants(published), self._within(published)
        return given["since_ms"] or start_ms(first), given["until_ms"] or start_ms(last) + DAY_MS

    def _within(self, published: Sequence[dt.date]) -> tuple[dt.date, dt.date]:
        first, last = self.span()
        return first or published[0], last or published[-1]


def run_days(options: DayOptions, settings: Settings, today: dt.date) -> tuple[tuple[dt.date, ...], str]:
    """The days in order, and why these days.

    Raises:
        UsageError: `--date` and a span together, or an invalid or too long span.
        SettingValueError: a day that is out of range for a log.
    """
    first, last = options.span()
    if first and last:
        names = ["--date"] if options.date else ["--from", "--to"]
        for name, date in zip(names, (first, last), strict=False):
            check_date(name, date)
        span = (last - first).days + 1
        if span > _MOST:
            raise UsageError(f"{first} to {last} are {span:,} days; ask for {_MOST:,} at most in one run")
        return tuple(first + dt.timedelta(days=day) for day in range(span)), "/".join(names)
    origins = settings.origins
    named = {origins.get(f"inputs.{kind}.path") for kind in ("sends", "consumers")}
    if settings.date and origins.get("date") in named:
        return (settings.date,), f"date in {Path(origins['date']).name}"
    return (today - dt.timedelta(days=1),), "yesterday, as no --date was given"


def span_text(days: tuple[dt.date, ...]) -> str:
    """The days in short."""
    return f"{days[0]}" if len(days) == 1 else f"{days[0]} to {days[-1]}"
