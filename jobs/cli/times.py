"""A time as an option gives it, with a date or on the day asked about; UTC."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

_EPOCH = dt.date(1970, 1, 1)
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Time:
    """A time as it was written, UTC.

    Attributes:
        text: as written.
        at_ms: epoch ms; without a date, ms since 00:00 of the day.
        has_date: whether the text has one.
    """

    text: str
    at_ms: int
    has_date: bool

    def on(self, day: dt.date) -> int:
        """Epoch ms; on `day` if it has no date itself."""
        return self.at_ms if self.has_date else start_ms(day) + self.at_ms


def start_ms(day: dt.date) -> int:
    """00:00 UTC of a day, epoch ms."""
    return (day - _EPOCH).days * DAY_MS


def day_of(time_ms: int) -> dt.date:
    """The UTC day of an instant.

    >>> day_of(86_399_999), day_of(86_400_000), day_of(-1)
    (datetime.date(1970, 1, 1), datetime.date(1970, 1, 2), datetime.date(1969, 12, 31))
    """
    return _EPOCH + dt.timedelta(days=time_ms // DAY_MS)
