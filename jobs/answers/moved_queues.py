"""Queues that rebalances of a group moved: who should own them before and after, by the strategy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from jobs.answers.published import Published
from jobs.tables import QUEUE_ALLOCATION
from udfs.strategy import Queue

_ROUND_MS = 1_000  # brokers are asked within this time; lists that differ for no longer have not changed
_MOST = 20
_COLUMNS = ("topic", "start_ms", "end_ms", "view_broker_name", "broker_name", "queue_id", "client_id")


@dataclass(frozen=True)
class _Stretch:
    """Time of unchanged inputs, by the list of all brokers or of one, and the owners of each queue in it."""

    start_ms: int
    end_ms: int
    view: str | None
    owners: Mapping[Queue, set[str]]


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
    stretches: dict[tuple[Any, ...], dict[Queue, set[str]]] = {}
    for *of, broker_name, queue_id, client_id in zip(*(rows[name].to_pylist() for name in _COLUMNS), strict=True):
        owners = stretches.setdefault(tuple(of), {}).setdefault((broker_name, queue_id), set())
        if client_id is not None:
            owners.add(client_id)
    of_topic: dict[str, list[_Stretch]] = {}
    for (topic, start_ms, end_ms, view), of_queue in stretches.items():
        of_topic.setdefault(topic, []).append(_Stretch(start_ms, end_ms, view, of_queue))
    return [_moves(change, of_topic.get(change["topic"], [])) for change in rebalances]


def _moves(change: Mapping[str, Any], stretches: Iterable[_Stretch]) -> tuple[Move, ...]:
    """Differences between what held last before the change and what holds from it on; of views, the first by name."""
    at_ms, left = change["changed_at_ms"], {*change["left"]}
    after = [each for each in stretches if each.start_ms <= at_ms < each.end_ms]
    ended = [(min(each.end_ms, at_ms), each) for each in stretches if each.start_ms < at_ms <= each.end_ms + _ROUND_MS]
    before = [(-end_ms, each) for end_ms, each in ended if each.view is None or end_ms - each.start_ms > _ROUND_MS]
    if not before or not after:
        return ()
    had = min(before, key=lambda ended: (ended[0], str(ended[1].view)))[1].owners
    gets = min(after, key=lambda each: str(each.view)).owners
    moved = sorted(
        queue  # as `udfs.moves` has it
        for queue in had.keys() & gets
        if had[queue] and (had[queue] - left - gets[queue] or had[queue].isdisjoint(gets[queue]))
    )
    if len(moved) != change["moved"]:
        return ()
    return tuple(Move(queue, tuple(sorted(had[queue])), tuple(sorted(gets[queue]))) for queue in moved[:_MOST])
