"""A UTC day of a cluster: the unit that is published."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

DAY_MS = 86_400_000
"""In UTC all days have the same length."""


@dataclass(frozen=True, order=True)
class Day:
    """A UTC day of a cluster.

    >>> Day(dt.date(2026, 11, 21), "main").start_ms
    1795219200000
    """

    date: dt.date
    cluster: str

    @property
    def start_ms(self) -> int:
        """00:00 UTC, epoch ms."""
        return (self.date - dt.date(1970, 1, 1)).days * DAY_MS

    @property
    def end_ms(self) -> int:
        """24:00 UTC, epoch ms."""
        return self.start_ms + DAY_MS

    @property
    def before(self) -> Day:
        """The day before."""
        return Day(self.date - dt.timedelta(days=1), self.cluster)

    @property
    def after(self) -> Day:
        """The day after."""
        return Day(self.date + dt.timedelta(days=1), self.cluster)
