"""Queues that rebalances of a group moved: who should own them before and after, by the strategy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from jobs.answers.published import Published
from jobs.intervals.of_lists import grouped
from jobs.tables import QUEUE_ALLOCATION
from udfs.strategy import Queue

_ROUND_MS = 1_000  # brokers are asked within this time; lists that differ for no longer have not changed
_MOST = 20
_COLUMNS = ("topic", "start_ms", "end_ms", "view_broker_name", "broker_name", "queue_id", "client_id")
_Stretch = tuple[Any, ...]
"""Time of unchanged inputs: topic, start, end, and the broker whose list of members it is by; None = of all."""


@dataclass(frozen=True)
class Move:
    """One queue that moved, with its owners before and after."""

    queue: Queue
    before: tuple[str, ...]
    after: tuple[str, ...]


def moved_queues(published: Published, group: str, rebalances: Iterable[Mapping[str, Any]]) -> list[tuple[Move, ...]]:
    """The first queues of each rebalance; none where `queue_allocation` tells of more or fewer than it counts.

    Raises:
        LakeError: a table cannot be read.
    """
    of_group = pc.field("consumer_group") == pc.scalar(group)
    rows = published.rows(QUEUE_ALLOCATION, _COLUMNS, of_group & pc.field("in_route"))
    stretches: dict[_Stretch, dict[Queue, set[str]]] = {}
    for *of, broker_name, queue_id, client_id in zip(*(rows[name].to_pylist() for name in _COLUMNS), strict=True):
        owners = stretches.setdefault(tuple(of), {}).setdefault((broker_name, queue_id), set())
        if client_id is not None:
            owners.add(client_id)
    of_topic = grouped(stretches.items(), lambda stretch: stretch[0][0])
    return [_moves(change, of_topic.get(change["topic"], [])) for change in rebalances]


def _moves(
    change: Mapping[str, Any], stretches: Sequence[tuple[_Stretch, Mapping[Queue, set[str]]]]
) -> tuple[Move, ...]:
    """Differences between what held last before the change and what holds from it on; of views, the first by name."""
    at_ms, left = change["changed_at_ms"], {*change["left"]}
    after = [(str(view), owners) for (_, start_ms, end_ms, view), owners in stretches if start_ms <= at_ms < end_ms]
    before = [
        (-min(end_ms, at_ms), str(view), owners)
        for (_, start_ms, end_ms, view), owners in stretches
        if start_ms < at_ms <= end_ms + _ROUND_MS and (view is None or min(end_ms, at_ms) - start_ms > _ROUND_MS)
    ]
    if not before or not after:
        return ()
    had = min(before, key=lambda stretch: stretch[:2])[-1]
    gets = min(after, key=lambda stretch: stretch[0])[-1]
    moved = sorted(
        queue  # as `udfs.moves` has it
        for queue in had.keys() & gets
        if had[queue] and (had[queue] - left - gets[queue] or had[queue].isdisjoint(gets[queue]))
    )
    if len(moved) != change["moved"]:
        return ()
    return tuple(Move(queue, tuple(sorted(had[queue])), tuple(sorted(gets[queue]))) for queue in moved[:_MOST])
