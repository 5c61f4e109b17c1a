"""One fault item's day by its client and by the replay: what is alike, missed, extra, of another length."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.verify.comparison import Comparison, Write, compared


def isolated(at_ms: int, not_available_ms: int = 2_000) -> Write:
    return Write(at_ms, "ISOLATED", not_available_ms)


def counts(written: list[Write], replayed: list[Write]) -> tuple[int, ...]:
    """Matched, of another length, missed, extra."""
    found = compared(written, replayed, [], [])
    assert (found.written, found.replayed) == (len(written), len(replayed))
    return found.matched, found.other_length, found.missed, found.extra


@pytest.mark.parametrize(
    ("written", "replayed", "expected"),
    [
        ([], [], (0, 0, 0, 0)),
        ([isolated(5_000)], [isolated(5_000)], (1, 0, 0, 0)),
        ([isolated(5_000)], [isolated(6_000)], (1, 0, 0, 0)),
        ([isolated(6_000)], [isolated(5_000)], (1, 0, 0, 0)),
        ([isolated(5_000)], [isolated(6_001)], (0, 0, 1, 1)),
        ([isolated(6_001)], [isolated(5_000)], (0, 0, 1, 1)),
        ([isolated(5_000)], [isolated(5_000, 9_000)], (0, 1, 0, 0)),
        ([isolated(5_000)], [isolated(6_001, 9_000)], (0, 0, 1, 1)),
        ([isolated(5_000), isolated(5_001)], [isolated(5_000)], (1, 0, 1, 0)),
        ([isolated(5_000)], [isolated(5_000), isolated(5_001)], (1, 0, 0, 1)),
        # Equal ones first: the one of another length takes no place of an equal one.
        ([isolated(5_000, 1), isolated(5_001, 2)], [isolated(4_999, 2), isolated(5_001, 3)], (1, 1, 0, 0)),
        # What is too early is passed over, and what comes later is still found.
        ([isolated(5_000)], [isolated(1_000), isolated(2_000), isolated(5_500)], (1, 0, 0, 2)),
        # The order in which lines come does not matter.
        ([isolated(9_000), isolated(5_000)], [isolated(5_100), isolated(9_100)], (2, 0, 0, 0)),
        ([Write(5_000, "UNREACHABLE")], [isolated(5_000)], (0, 0, 1, 1)),
        ([Write(5_000, "UNREACHABLE")], [Write(5_900, "UNREACHABLE")], (1, 0, 0, 0)),
        ([Write(5_000, "UNREACHABLE")], [Write(6_001, "UNREACHABLE")], (0, 0, 1, 1)),
        ([Write(5_900, "UNREACHABLE")], [Write(5_000, "UNREACHABLE")], (1, 0, 0, 0)),
    ],
)
def test_writes_are_matched_one_to_one(written: list[Write], replayed: list[Write], expected: tuple[int, ...]) -> None:
    assert counts(written, replayed) == expected


def test_time_is_that_of_each_alone() -> None:
    found = compared([], [], [(0, 100), (50, 200), (500, 600)], [(150, 300), (590, 610)])
    assert (found.isolated_ms, found.replayed_ms, found.differing_ms) == (300, 170, 150 + 100 + 90 + 10)


WRITES = st.lists(
    st.builds(Write, st.integers(0, 9_000), st.sampled_from(("ISOLATED", "UNREACHABLE")), st.integers(0, 2))
)
SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda ends: (min(ends), max(ends))))


@given(WRITES, WRITES, SPANS, SPANS)
def test_both_sides_add_up_and_may_change_places(
    written: list[Write], replayed: list[Write], spans: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    found = compared(written, replayed, spans, others)
    assert found.written == found.matched + found.other_length + found.missed == len(written)
    assert found.replayed == found.matched + found.other_length + found.extra == len(replayed)
    alone = {ms for start, end in spans for ms in range(start, end)} ^ {ms for s, e in others for ms in range(s, e)}
    assert found.differing_ms == len(alone)
    turned = compared(replayed, written, others, spans)
    assert dataclasses.replace(
        turned, written=turned.replayed, replayed=turned.written, missed=turned.extra, extra=turned.missed,
        isolated_ms=turned.replayed_ms, replayed_ms=turned.isolated_ms,
    ) == found  # fmt: skip


@given(WRITES, SPANS)
def test_what_is_the_same_agrees(writes: list[Write], spans: list[tuple[int, int]]) -> None:
    length = len({ms for start, end in spans for ms in range(start, end)})
    n = len(writes)
    assert compared(writes, writes[::-1], spans, spans) == Comparison(n, n, 0, 0, 0, length, length, 0, n)
