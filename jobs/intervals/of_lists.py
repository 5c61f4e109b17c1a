"""Intervals in plain lists: grouped, merged, and cut into the parts that they cover."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import pairwise
from typing import Protocol, TypeVar


class Interval(Protocol):
    """Anything from `start_ms` to `end_ms`, the end exclusive."""

    @property
    def start_ms(self) -> int:
        """Start."""

    @property
    def end_ms(self) -> int:
        """End, exclusive."""


Row = TypeVar("Row")
Key = TypeVar("Key", bound=Hashable)
AnInterval = TypeVar("AnInterval", bound=Interval)


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Rows by key; keys and rows keep their order.

    >>> grouped(["b1", "a1", "b2"], lambda row: row[0])
    {'b': ['b1', 'b2'], 'a': ['a1']}
    """
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def in_time(intervals: Iterable[AnInterval]) -> list[AnInterval]:
    """By start, then by end; a stable sort."""
    return sorted(intervals, key=lambda interval: (interval.start_ms, interval.end_ms))


def joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """One span for each run of those that overlap or touch.

    >>> joined([(9, 12), (0, 5), (5, 7), (1, 2)])
    [(0, 7), (9, 12)]
    """
    runs: list[tuple[int, int]] = []
    for start_ms, end_ms in sorted(spans):
        if runs and start_ms <= runs[-1][1]:
            runs[-1] = runs[-1][0], max(runs[-1][1], end_ms)
        else:
            runs.append((start_ms, end_ms))
    return runs


def touching(intervals: Iterable[AnInterval], value: Callable[[AnInterval], object]) -> list[list[AnInterval]]:
    """Runs of intervals in which each starts where the previous one ends, with the same value.

    >>> from types import SimpleNamespace
    >>> rows = [SimpleNamespace(start_ms=of[0], end_ms=of[1], v=of[2]) for of in [(5, 7, 1), (0, 5, 1), (7, 9, 2)]]
    >>> [[(row.start_ms, row.end_ms) for row in run] for run in touching(rows, lambda row: row.v)]
    [[(0, 5), (5, 7)], [(7, 9)]]
    """
    runs: list[list[AnInterval]] = []
    for interval in in_time(intervals):
        if runs and runs[-1][-1].end_ms == interval.start_ms and value(runs[-1][-1]) == value(interval):
            runs[-1].append(interval)
        else:
            runs.append([interval])
    return runs


def covered_parts(intervals: Iterable[AnInterval]) -> Iterator[tuple[int, int, list[AnInterval]]]:
    """Time cut wherever an interval starts or ends: start and end of each part, and the intervals that cover it.

    Parts that nothing covers are left out. An interval that does not end after its start cuts and covers nothing.

    >>> from types import SimpleNamespace
    >>> rows = [SimpleNamespace(start_ms=start, end_ms=end) for start, end in [(0, 5), (3, 9), (12, 14), (7, 2)]]
    >>> [(start, end, [rows.index(row) for row in rows_of]) for start, end, rows_of in covered_parts(rows)]
    [(0, 2, [0]), (2, 3, [0]), (3, 5, [0, 1]), (5, 7, [1]), (7, 9, [1]), (12, 14, [2])]
    """
    rows = list(intervals)
    starting = grouped(range(len(rows)), lambda place: rows[place].start_ms)
    ending = grouped(range(len(rows)), lambda place: rows[place].end_ms)
    covering: dict[int, AnInterval] = {}
    for start_ms, end_ms in pairwise(sorted({*starting, *ending})):
        for place in ending.get(start_ms, ()):
            covering.pop(place, None)
        covering |= {place: rows[place] for place in starting.get(start_ms, ()) if rows[place].end_ms > start_ms}
        if covering:
            yield start_ms, end_ms, list(covering.values())
