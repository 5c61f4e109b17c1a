"""What a change of members or queues moved, and the fewest queues that had to move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from jobs.allocation.group.inputs import Input
from jobs.allocation.group.shares import Allocated
from jobs.intervals.of_lists import covered_parts, grouped, in_time
from udfs.moves import moves

_ROUND_MS = 1_000  # a collector's way round the brokers of one group


@dataclass(frozen=True, slots=True)
class Rebalance:
    """One change; columns of the table."""

    topic: str
    changed_at_ms: int
    trigger: str
    joined: tuple[str, ...]
    left: tuple[str, ...]
    queues: int
    moved: int
    fewest_moves: int

    @property
    def moved_beyond_fewest(self) -> int:
        """Moves beyond the fewest that balance the load."""
        return self.moved - self.fewest_moves


def of_one_view(allocated: Iterable[Allocated]) -> list[Allocated]:
    """The intervals that make one history per topic.

    Those on which all brokers agree; where they do not, at each time the first by name of those that have a view then.
    Brokers are asked one after the other, so a change that all of them know shows as views of some milliseconds: these
    are left out.
    """
    of_topics = grouped(allocated, lambda row: row.input.topic)
    return [
        row
        for rows in of_topics.values()
        for row in _of_first_view(rows)
        if row.input.view_broker_name is None or row.end_ms - row.start_ms > _ROUND_MS
    ]


def _of_first_view(rows: Iterable[Allocated]) -> Iterator[Allocated]:
    """Intervals while theirs is the first view; where brokers agree it is the only one."""
    firsts = (
        (min(covering, key=lambda row: str(row.input.view_broker_name)), start_ms, end_ms)
        for start_ms, end_ms, covering in covered_parts(rows)
    )
    for row, of_row in groupby(firsts, key=lambda part: part[0]):
        parts = list(of_row)
        yield replace(row, input=replace(row.input, start_ms=parts[0][1], end_ms=parts[-1][2]))


def rebalances(allocated: Iterable[Allocated]) -> list[Rebalance]:
    """Changes between intervals that touch; those of one topic do not overlap."""
    of_topics = grouped(allocated, lambda row: row.input.topic)
    pairs = (pair for rows in of_topics.values() for pair in pairwise(in_time(rows)))
    changes = (_change(before, after) for before, after in pairs)
    return [each for each in changes if each is not None]


def _change(before: Allocated, after: Allocated) -> Rebalance | None:
    then, now = before.input, after.input
    trigger = _trigger(then, now)
    if trigger is None or now.start_ms - then.end_ms > _ROUND_MS:
        return None
    moved, fewest_moves = moves(before.owners, after.owners, now.queues, now.client_ids)
    return Rebalance(
        topic=now.topic,
        changed_at_ms=now.start_ms,
        trigger=trigger,
        joined=_except(now.client_ids, then.client_ids),
        left=_except(then.client_ids, now.client_ids),
        queues=len(now.queues),
        moved=moved,
        fewest_moves=fewest_moves,
    )


def _trigger(then: Input, now: Input) -> str | None:
    members_changed = now.client_ids != then.client_ids
    queues_changed = sorted(now.queues) != sorted(then.queues)
    if now.view_broker_name != then.view_broker_name:
        return "VIEW"
    if queues_changed:
        return "MEMBERS_AND_QUEUES" if members_changed else "QUEUES"
    if not members_changed:
        return None
    if {*now.client_ids} - {*then.client_ids} and {*then.client_ids} - {*now.client_ids}:
        return "JOINED_AND_LEFT"
    return "JOINED" if len(now.client_ids) > len(then.client_ids) else "LEFT"


def _except(of: Iterable[str], those: Iterable[str]) -> tuple[str, ...]:
    """Different ids of the first that the second lacks, in their order."""
    lacking = {*of} - {*those}
    return tuple(each for each in dict.fromkeys(of) if each in lacking)
