"""The days of an answer in short, and the days between them that are not published."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from itertools import pairwise

from jobs.intervals.of_lists import grouped

Span = tuple[dt.date, dt.date]
"""First and last of days that follow each other."""

_MOST_NAMED = 10


def spans_without(days: Sequence[dt.date], first: dt.date, last: dt.date) -> tuple[Span, ...]:
    """The gaps between the days, which are in order and from `first` to `last`.

    >>> first, published, last = (dt.date(2026, 11, day) for day in (19, 21, 21))
    >>> spans_without([published], first, last)
    ((datetime.date(2026, 11, 19), datetime.date(2026, 11, 20)),)
    """
    ends = (first.toordinal() - 1, *(day.toordinal() for day in days), last.toordinal() + 1)
    return tuple(
        (dt.date.fromordinal(before + 1), dt.date.fromordinal(after - 1))
        for before, after in pairwise(ends)
        if after - before > 1
    )


def days_text(days: Sequence[dt.date]) -> str:
    """The days, which are in order.

    >>> days_text([dt.date(2026, 11, day) for day in (18, 20, 21, 22, 24)])
    '2026-11-18, 2026-11-20 to 2026-11-22 and 2026-11-24'
    """
    # A day less its place is the same for days that follow each other.
    runs = grouped(enumerate(days), lambda of: of[1].toordinal() - of[0])
    return _spans_text([(run[0][1], run[-1][1]) for run in runs.values()])


def latest_text(days: Sequence[dt.date]) -> str:
    """The last ten of the days, which are in order, and how many earlier ones there are.

    >>> latest_text([dt.date(2026, 11, day) for day in (18, 20)])
    '2026-11-18, 2026-11-20'
    """
    shown = ", ".join(map(str, days[-_MOST_NAMED:]))
    return shown if len(days) <= _MOST_NAMED else f"{shown} and {len(days) - _MOST_NAMED} earlier days"


def not_published_text(spans: Sequence[Span]) -> str | None:
    """A sentence about days of the question that the answer does not cover; None if it covers all.

    >>> not_published_text([(dt.date(2026, 11, 21), dt.date(2026, 11, 21))])
    '2026-11-21 is not published: nothing here is of it'
    """
    if not spans:
        return None
    is_one = len(spans) == 1 and spans[0][0] == spans[0][1]
    be, of = ("is", "it") if is_one else ("are", "them")
    return f"{_spans_text(spans)} {be} not published: nothing here is of {of}"


def _spans_text(spans: Sequence[Span]) -> str:
    texts = [f"{first}" if first == last else f"{first} to {last}" for first, last in spans[:_MOST_NAMED]]
    if len(spans) > _MOST_NAMED:
        texts.append(f"{len(spans) - _MOST_NAMED} more spans")
    *others, last_text = texts
    return f"{', '.join(others)} and {last_text}" if others else last_text
