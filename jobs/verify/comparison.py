"""Compares a fault item's day as its client wrote it with the replay: plain Python over lists in time order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jobs.intervals.of_lists import grouped, joined

SAME_TIME_MS = 1_000
"""Two writes may be the same if they are no further apart: a hidden retry is known to some hundred ms."""

Span = tuple[int, int]
"""Start and end of an isolation, exclusive, epoch ms."""


@dataclass(frozen=True)
class Write:
    """One write to a fault item.

    Attributes:
        at_ms: when, epoch ms.
        what: ISOLATED or UNREACHABLE.
        not_available_ms: how long it isolates; 0 unless it is ISOLATED.
    """

    at_ms: int
    what: str
    not_available_ms: int = 0


@dataclass(frozen=True)
class Agreement:
    """How well clients and replay agree: writes of clients, how these compare with the replay's, and isolated ms."""

    written: int
    matched: int
    other_length: int
    missed: int
    extra: int
    isolated_ms: int
    replayed_ms: int
    differing_ms: int


@dataclass(frozen=True)
class Comparison(Agreement):
    """How the two agree on one fault item, as `replay_checks` counts it."""

    replayed: int


def compared(
    written: Sequence[Write], replayed: Sequence[Write], isolated: Sequence[Span], by_replay: Sequence[Span]
) -> Comparison:
    """Compare what the client wrote of one fault item with what was replayed.

    Equal writes are matched first, one to one and in time order; then those that differ only in length.

    Args:
        written: by the client.
        replayed: from sends alone.
        isolated: when the broker was not available, by the client.
        by_replay: the same, by the replay.
    """
    rest, rest_replayed, matched = _matched(written, replayed, lambda write: (write.what, write.not_available_ms))
    missed, extra, other_length = _matched(rest, rest_replayed, lambda write: (write.what, 0))
    ours, theirs = joined(by_replay), joined(isolated)
    either_ms = _length(joined([*ours, *theirs]))
    return Comparison(
        written=len(written),
        replayed=len(replayed),
        matched=matched,
        other_length=other_length,
        missed=len(missed),
        extra=len(extra),
        isolated_ms=_length(theirs),
        replayed_ms=_length(ours),
        differing_ms=2 * either_ms - _length(ours) - _length(theirs),
    )


def _matched(
    written: Sequence[Write], replayed: Sequence[Write], key: Callable[[Write], tuple[str, int]]
) -> tuple[list[Write], list[Write], int]:
    """The rest of both after those with equal keys are paired, and the number of pairs."""
    of_key = grouped(sorted(replayed, key=lambda write: write.at_ms), key)
    missed: list[Write] = []
    extra: list[Write] = []
    pairs = 0
    for what, writes in grouped(sorted(written, key=lambda write: write.at_ms), key).items():
        others = of_key.pop(what, [])
        place = 0
        for write in writes:
            while place < len(others) and others[place].at_ms < write.at_ms - SAME_TIME_MS:
                extra.append(others[place])
                place += 1
            if place < len(others) and others[place].at_ms <= write.at_ms + SAME_TIME_MS:
                place += 1
                pairs += 1
            else:
                missed.append(write)
        extra.extend(others[place:])
    return missed, [*extra, *(write for others in of_key.values() for write in others)], pairs


def _length(spans: Sequence[Span]) -> int:
    return sum(end_ms - start_ms for start_ms, end_ms in spans)
