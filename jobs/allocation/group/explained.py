"""Differences as findings, each with its cause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from jobs.allocation.group.causes import Cause
from jobs.allocation.group.differences import HAND_OVER_MS, Difference
from jobs.allocation.group.finding import Finding
from jobs.intervals.of_lists import grouped
from jobs.kinds import GroupCause

_Of = tuple[str | None, str | None, int | None]
_Piece = tuple[int, int, int | None]
"""Start, end, and the rank of the acting cause, or None."""
_RANKED = tuple(GroupCause)


def explained(differences: Iterable[Difference], causes: Iterable[Cause]) -> list[Finding]:
    """Differences as findings, split where the cause changes; of several acting causes the highest ranked wins.

    A cause that acts for a second or less does not split a finding.
    """
    by_subject = grouped(causes, lambda cause: (cause.topic, cause.broker_name, cause.queue_id))
    once = {
        (difference.queue, difference.kind, difference.client_ids, difference.start_ms, difference.end_ms): difference
        for difference in differences
    }
    return [
        finding for difference in once.values() for finding in _explained(difference, _acting(difference, by_subject))
    ]


def _acting(difference: Difference, causes: Mapping[_Of, Sequence[Cause]]) -> list[Cause]:
    """Causes that overlap the difference and apply to its group, topic, queue and clients."""
    subjects: tuple[_Of, ...] = ((None, None, None), (difference.queue[0], None, None), difference.queue)
    return [
        cause
        for subject in subjects
        for cause in causes.get(subject, ())
        if (cause.client_id is None or cause.client_id in difference.client_ids)
        and cause.acts_from_ms < difference.end_ms
        and cause.acts_until_ms > difference.start_ms
    ]


def _explained(difference: Difference, acting: Sequence[Cause]) -> Iterator[Finding]:
    own = _own_cause(difference)
    for start_ms, end_ms, rank in (
        [(difference.start_ms, difference.end_ms, None)] if own else _stretches(_pieces(difference, acting))
    ):
        yield Finding(
            start_ms=start_ms,
            end_ms=end_ms,
            kind=difference.kind,
            basis="OBSERVED",
            cause=own or (GroupCause.UNEXPLAINED if rank is None else _RANKED[rank]),
            topic=difference.queue[0],
            broker_name=difference.queue[1],
            queue_id=difference.queue[2],
            client_ids=difference.client_ids,
            owners_expected=difference.owners_expected,
            owners_observed=difference.owners_observed,
        )


def _stretches(pieces: Iterable[_Piece]) -> list[_Piece]:
    """Merge adjacent pieces with one cause, and short pieces into the one before (the first into the one after).

    A short piece without a cause at either end is a hand-over and dropped.
    """
    runs = [list(run) for _, run in groupby(pieces, lambda piece: piece[2])]
    stretches = [(run[0][0], run[-1][1], run[0][2]) for run in runs]
    for end in (0, -1):
        if stretches and stretches[end][2] is None and _is_short(stretches[end]):
            stretches.pop(end)
    joined: list[_Piece] = []
    for stretch in stretches:
        before = joined[-1] if joined else None
        if before and (before[2] == stretch[2] or _is_short(stretch)):
            joined[-1] = before[0], stretch[1], before[2]
        elif before and _is_short(before):
            joined[-1] = before[0], stretch[1], stretch[2]
        else:
            joined.append(stretch)
    return joined


def _is_short(piece: _Piece) -> bool:
    return piece[1] - piece[0] <= HAND_OVER_MS


def _own_cause(difference: Difference) -> GroupCause | None:
    """A cause that follows from the difference itself; it wins over all others."""
    if not difference.in_route and difference.owners_expected:
        return GroupCause.QUEUE_DOES_NOT_EXIST
    if difference.as_given:
        return GroupCause.MIXED_STRATEGIES if difference.is_mixed else GroupCause.STRATEGY_NAMES_TWICE
    return None


def _pieces(difference: Difference, acting: Sequence[Cause]) -> Iterator[_Piece]:
    """The difference split where causes start or end, with the highest-ranked acting cause of each part."""
    edges = {edge for cause in acting for edge in (cause.acts_from_ms, cause.acts_until_ms)}
    inside = {edge for edge in edges if difference.start_ms < edge < difference.end_ms}
    for from_ms, until_ms in pairwise(sorted({difference.start_ms, *inside, difference.end_ms})):
        ranks = (
            _RANKED.index(cause.cause)
            for cause in acting
            if cause.acts_from_ms <= from_ms and cause.acts_until_ms > from_ms
        )
        yield from_ms, until_ms, min(ranks, default=None)
