"""Times that narrow an answer: an instant or a window, with a date or on the day asked about."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from itertools import pairwise

from jobs.cli.days import DayOptions
from jobs.errors import UsageError

_EPOCH = dt.date(1970, 1, 1)
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Time:
    """A time as it was written, UTC.

    Attributes:
        text: as written.
        day: its date; None if it has none.
        of_day_ms: ms since 00:00 of the day.
    """

    text: str
    day: dt.date | None
    of_day_ms: int

    def at_ms(self, day: dt.date) -> int:
        """Epoch ms; on `day` if it has no date itself."""
        return start_ms(self.day or day) + self.of_day_ms


@dataclass(frozen=True)
class TimeOptions:
    """Values of `--at`, `--since` and `--until`; the last is exclusive."""

    at: Time | None = None
    since: Time | None = None
    until: Time | None = None

    @property
    def given(self) -> dict[str, Time]:
        """The given ones, by option."""
        named = {"--at": self.at, "--since": self.since, "--until": self.until}
        return {name: time for name, time in named.items() if time}

    def span(self, days: DayOptions) -> tuple[dt.date | None, dt.date | None]:
        """First and last day of `days`, else those of the times, else None twice.

        Raises:
            UsageError: options that do not go together.
        """
        if self.at and (self.since or self.until):
            raise UsageError("--at and --since/--until exclude each other; give an instant or a window")
        first, last = days.span()
        for name, time in self.given.items():
            if days.first and not time.day:
                raise UsageError(f"{name} {time.text} names no day of --from/--to; write it like {days.first}T00:26:51")
        with_date_ms = [time.at_ms(time.day) for time in (self.at, self.since) if time and time.day]
        with_date_ms += [self.until.at_ms(self.until.day) - 1] if self.until and self.until.day else []
        if first or not with_date_ms:
            return first, last
        return day_of(min(with_date_ms)), day_of(max(with_date_ms))

    def instants(self, first: dt.date, last: dt.date) -> dict[str, int | None]:
        """The times on the days from `first` to `last`, of which one without a date is the first.

        Returns:
            `at_ms`, `since_ms` and `until_ms`, epoch ms; None for an option that was not used.

        Raises:
            UsageError: a window that ends before it begins, or a time on none of the days.
        """
        at = {name: time.at_ms(first) for name, time in self.given.items()}
        for (earlier, start), (later, end) in pairwise(at.items()):
            if end <= start:
                raise UsageError(
                    f"{later} {self.given[later].text} is not after {earlier} {self.given[earlier].text}; swap them"
                )
        start, end = start_ms(first), start_ms(last) + DAY_MS
        for name, time_ms in at.items():
            is_within = start < time_ms <= end if name == "--until" else start <= time_ms < end
            if not is_within:
                days = f"{first}" if first == last else f"{first} to {last}"
                raise UsageError(f"{name} {self.given[name].text} is not within {days}; give another time, or day")
        return {f"{name}_ms": at.get(f"--{name}") for name in ("at", "since", "until")}

    def window(self, first: dt.date, last: dt.date) -> tuple[int, int]:
        """From `--since`, by default the first day's start, to `--until`, by default the last day's end; epoch ms.

        Raises:
            UsageError: as `instants`.
        """
        given = self.instants(first, last)
        return given["since_ms"] or start_ms(first), given["until_ms"] or start_ms(last) + DAY_MS


def start_ms(day: dt.date) -> int:
    """00:00 UTC of a day, epoch ms."""
    return (day - _EPOCH).days * DAY_MS


def day_of(time_ms: int) -> dt.date:
    """The UTC day of an instant.

    >>> day_of(86_399_999), day_of(86_400_000), day_of(-1)
    (datetime.date(1970, 1, 1), datetime.date(1970, 1, 2), datetime.date(1969, 12, 31))
    """
    return _EPOCH + dt.timedelta(days=time_ms // DAY_MS)
