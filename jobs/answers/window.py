"""A stretch of time that narrows an answer."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from jobs.tables import Table

_MINUTE_MS = 60_000


@dataclass(frozen=True)
class Window:
    """From `since_ms` to `until_ms`, epoch ms, the end exclusive."""

    since_ms: int
    until_ms: int

    def rows_within(self, table: Table) -> pc.Expression | None:
        """Rows of which some lies in the window; None where a table's rows are of a whole day.

        An interval without a length counts where it begins.
        """
        columns = table.schema.fieldNames()
        since, until = pc.scalar(self.since_ms), pc.scalar(self.until_ms)
        if "start_ms" in columns:
            start, end = pc.field("start_ms"), pc.field("end_ms")
            return (start < until) & ((end > since) | (start >= since))
        if "window_start_ms" in columns:
            minute = pc.field("window_start_ms")
            return (minute < until) & (minute > pc.scalar(self.since_ms - _MINUTE_MS))
        if "changed_at_ms" in columns:
            change = pc.field("changed_at_ms")
            return (change < until) & (change >= since)
        return None

    def length_ms(self, start_ms: int, end_ms: int) -> int:
        """How much of an interval lies in the window."""
        return max(0, min(end_ms, self.until_ms) - max(start_ms, self.since_ms))
