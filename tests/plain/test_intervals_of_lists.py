"""Intervals in lists: where two belong together, and where they do not any more."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from jobs.intervals.of_lists import covered_parts, joined, touching


@dataclass(frozen=True)
class Span:
    """An interval with a value."""

    start_ms: int
    end_ms: int
    value: str = ""


@pytest.mark.parametrize(("spans", "expected"), [
    ([], []),
    ([(0, 5), (5, 7)], [(0, 7)]),
    ([(0, 5), (6, 7)], [(0, 5), (6, 7)]),
    ([(0, 9), (1, 2), (8, 12)], [(0, 12)]),
    ([(0, 9), (1, 2), (3, 4), (9, 10)], [(0, 10)]),
])  # fmt: skip
def test_joined(spans: list[tuple[int, int]], expected: list[tuple[int, int]]) -> None:
    assert joined(spans) == joined(reversed(spans)) == expected


@pytest.mark.parametrize(("spans", "expected"), [
    pytest.param([Span(0, 5), Span(5, 7)], [2], id="one starts where the other ends"),
    pytest.param([Span(0, 5), Span(4, 7)], [1, 1], id="they overlap"),
    pytest.param([Span(0, 5), Span(6, 7)], [1, 1], id="a pause"),
    pytest.param([Span(0, 5, "x"), Span(5, 7, "y"), Span(7, 9, "y")], [1, 2], id="another value"),
    pytest.param([Span(0, 5), Span(0, 5), Span(5, 7), Span(5, 7)], [1, 2, 1], id="all twice"),
    pytest.param([Span(5, 5), Span(5, 7), Span(0, 5)], [3], id="one without length"),
])  # fmt: skip
def test_touching(spans: list[Span], expected: list[int]) -> None:
    assert [len(run) for run in touching(spans, lambda each: each.value)] == expected


def test_parts_are_cut_by_an_interval_without_length_that_covers_none() -> None:
    long, point = Span(0, 9), Span(5, 5)
    assert list(covered_parts([long, point])) == [(0, 5, [long]), (5, 9, [long])]
    assert list(covered_parts([point])) == []


def test_equal_intervals_cover_a_part_each() -> None:
    assert [(start, end, len(rows)) for start, end, rows in covered_parts([Span(0, 9), Span(0, 9), Span(3, 9)])] == [
        (0, 3, 2), (3, 9, 3)
    ]  # fmt: skip
