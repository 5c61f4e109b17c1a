"""Spans of time as lists of (start, end), the end exclusive; plain arithmetic that knows nothing of the product."""

from __future__ import annotations

from collections.abc import Iterable

Spans = list[tuple[int, int]]


def union(spans: Iterable[tuple[int, int]]) -> Spans:
    """The same time in ascending spans that do not touch.

    >>> union([(5, 9), (1, 3), (3, 6), (8, 8)])
    [(1, 9)]
    """
    out: Spans = []
    for start, end in sorted(each for each in spans if each[0] < each[1]):
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        else:
            out.append((start, end))
    return out


def common(one: Iterable[tuple[int, int]], other: Iterable[tuple[int, int]]) -> Spans:
    """The time in both.

    >>> common([(0, 4), (6, 9)], [(2, 7)])
    [(2, 4), (6, 7)]
    """
    second = union(other)
    pairs = ((max(a, c), min(b, d)) for a, b in union(one) for c, d in second)
    return union(pairs)


def without(one: Iterable[tuple[int, int]], other: Iterable[tuple[int, int]]) -> Spans:
    """The time in the first alone.

    >>> without([(0, 10)], [(2, 3), (8, 12)])
    [(0, 2), (3, 8)]
    >>> without([(0, 10)], [(2, 3), (5, 20)])
    [(0, 2), (3, 5)]
    """
    left = union(one)
    for start, end in union(other):
        left = [part for a, b in left for part in ((a, min(b, start)), (max(a, end), b)) if part[0] < part[1]]
    return left


def length_ms(spans: Iterable[tuple[int, int]]) -> int:
    """Milliseconds in all.

    >>> length_ms([(0, 4), (2, 6)])
    6
    """
    return sum(end - start for start, end in union(spans))


def agreement(one: Iterable[tuple[int, int]], other: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Milliseconds in both, and in either."""
    first, second = union(one), union(other)
    return length_ms(common(first, second)), length_ms([*first, *second])
