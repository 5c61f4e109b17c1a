"""Queues that a change of members or queues moved, and the fewest that had to move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from jobs.allocation.group.known import MemberList
from jobs.allocation.group.shares import Allocated
from jobs.intervals.of_lists import covered_parts, grouped, in_time
from udfs.moves import moves

ROUND_MS = 1_000  # a collector asks all brokers about one group within this time


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
    """Intervals that form one history per topic.

    Where brokers disagree, the view of the first broker by name counts at each instant. Brokers are asked one after
    another, so a change shows up as different views for a few milliseconds; these are ignored.
    """
    return [
        row
        for rows in grouped(allocated, lambda row: row.input.topic).values()
        for row in _of_first_view(rows)
        if row.input.view_broker_name is None or row.end_ms - row.start_ms > ROUND_MS
    ]


def _of_first_view(rows: Iterable[Allocated]) -> Iterator[Allocated]:
    """Intervals clipped to the time in which theirs is the first view."""
    firsts = (
        (min(covering, key=lambda row: str(row.input.view_broker_name)), start_ms, end_ms)
        for start_ms, end_ms, covering in covered_parts(rows)
    )
    for row, of_row in groupby(firsts, key=lambda part: part[0]):
        parts = list(of_row)
        yield replace(row, input=replace(row.input, start_ms=parts[0][1], end_ms=parts[-1][2]))


def rebalances(allocated: Iterable[Allocated], member_lists: Sequence[MemberList] = ()) -> list[Rebalance]:
    """Changes between adjacent intervals.

    Args:
        allocated: one history per topic; intervals of a topic do not overlap.
        member_lists: lists of all brokers; where the history switches to another broker's list, a member has left
            if it is on none of them.
    """
    changes = (
        _change(before, after, member_lists)
        for rows in grouped(allocated, lambda row: row.input.topic).values()
        for before, after in pairwise(in_time(rows))
    )
    return [change for change in changes if change is not None]


def _change(before: Allocated, after: Allocated, member_lists: Sequence[MemberList]) -> Rebalance | None:
    then, now = before.input, after.input
    if now.start_ms - then.end_ms > ROUND_MS:
        return None
    ids_then, ids_now = then.client_ids, now.client_ids
    is_view = now.view_broker_name != then.view_broker_name
    if is_view:
        listed_then, listed_now = (_listed(member_lists, at_ms) for at_ms in (then.end_ms - 1, now.start_ms))
        if listed_now is not None and set(listed_then or ()).difference(listed_now):
            ids_then, ids_now, is_view = listed_then or (), listed_now, False
    queues_changed = sorted(now.queues) != sorted(then.queues)
    trigger = "VIEW" if is_view else _trigger(ids_then, ids_now, queues_changed=queues_changed)
    if trigger is None:
        return None
    moved, fewest_moves = moves(before.owners, after.owners, now.queues, now.client_ids)
    return Rebalance(
        topic=now.topic,
        changed_at_ms=now.start_ms,
        trigger=trigger,
        joined=_except(ids_now, ids_then),
        left=_except(ids_then, ids_now),
        queues=len(now.queues),
        moved=moved,
        fewest_moves=fewest_moves,
    )


def _trigger(then: Sequence[str], now: Sequence[str], *, queues_changed: bool) -> str | None:
    members_changed = now != then
    if queues_changed:
        return "MEMBERS_AND_QUEUES" if members_changed else "QUEUES"
    if not members_changed:
        return None
    if {*now} - {*then} and {*then} - {*now}:
        return "JOINED_AND_LEFT"
    return "JOINED" if len(now) > len(then) else "LEFT"


def _listed(member_lists: Iterable[MemberList], at_ms: int) -> tuple[str, ...] | None:
    """Distinct ids on all lists at the time, sorted; None = no broker has answered."""
    lists = [
        member_list.client_ids for member_list in member_lists if member_list.start_ms <= at_ms < member_list.end_ms
    ]
    return tuple(sorted({client_id for of_list in lists for client_id in of_list})) if lists else None


def _except(of: Iterable[str], those: Iterable[str]) -> tuple[str, ...]:
    """Distinct ids of the first that are not in the second, in order."""
    lacking = {*of} - {*those}
    return tuple(client_id for client_id in dict.fromkeys(of) if client_id in lacking)
