"""A stretch of time that narrows an answer."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from jobs.tables import Table

MINUTE_MS = 60_000
_FAR_MS = 2**62
_BOUNDS = (("start_ms", "end_ms"), ("bad_from_ms", "last_bad_ms"), ("changed_at_ms", "changed_at_ms"))
"""Columns of a row's start and end; a table has one of the pairs at most."""


@dataclass(frozen=True)
class Window:
    """From `since_ms` to `until_ms`, epoch ms, the end exclusive."""

    since_ms: int
    until_ms: int

    def rows_within(self, table: Table) -> pc.Expression | None:
        """Rows that overlap the window; None for tables whose rows are of a whole day."""
        columns = table.schema.fieldNames()
        if "settled_ms" in columns:  # null: it goes on to 24:00, or owners are not known
            start, goes_on = pc.field("start_ms"), pc.is_valid(pc.field("unowned_queues"))
            shown = pc.coalesce(pc.field("noticed_until_ms"), start)
            end = pc.coalesce(pc.field("settled_ms"), pc.if_else(goes_on, pc.scalar(_FAR_MS), shown))
        elif "window_start_ms" in columns:
            start = pc.field("window_start_ms")
            end = pc.add(start, pc.scalar(MINUTE_MS))
        elif bounds := next((bounds for bounds in _BOUNDS if bounds[0] in columns), None):
            start, end = map(pc.field, bounds)
        else:
            return None
        return (start < self.until_ms) & lasts_beyond(start, end, self.since_ms)

    def length_ms(self, start_ms: int, end_ms: int) -> int:
        """How much of an interval lies in the window."""
        return max(0, min(end_ms, self.until_ms) - max(start_ms, self.since_ms))


def lasts_beyond(start: pc.Expression, end: pc.Expression, since_ms: int) -> pc.Expression:
    """Rows that end after `since_ms`, or begin then or later: a moment has no length, and some intervals have none."""
    since = pc.scalar(since_ms)
    return (end > since) | (start >= since)
