"""Who should own which queue: the rows of `queue_allocation`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jobs.allocation.group.shares import Allocated
from udfs.shares import UNCHANGED
from udfs.strategy import Queue


@dataclass(frozen=True, slots=True)
class Expected:
    """One queue and owner in one interval of unchanged inputs; columns of the table."""

    topic: str
    start_ms: int
    end_ms: int
    strategy: str
    strategy_source: str
    view_broker_name: str | None
    broker_name: str
    queue_id: int
    in_route: bool
    client_id: str | None
    is_carried: bool


def expected(allocated: Iterable[Allocated]) -> list[Expected]:
    """One row per queue and owner, or per unassigned queue; an id below 0 stands for any queue of the broker."""
    return [assignment for row in allocated for assignment in _of_interval(row)]


def _of_interval(row: Allocated) -> Iterator[Expected]:
    of, in_route = row.input, set(row.input.queues)
    serves_any = any(queue_id < 0 for share in row.shares for _, queue_id in share.queues)
    owners: dict[Queue, list[tuple[str | None, bool]]] = {queue: [] for queue in (() if serves_any else of.queues)}
    for share in row.shares:
        for queue in dict.fromkeys(share.queues):
            owners.setdefault(queue, []).append((share.client_id, share.outcome == UNCHANGED))
    for queue, of_queue in owners.items():
        for client_id, is_carried in of_queue or [(None, False)]:
            yield Expected(
                topic=of.topic,
                start_ms=of.start_ms,
                end_ms=of.end_ms,
                strategy=of.strategy,
                strategy_source=of.strategy_source,
                view_broker_name=of.view_broker_name,
                broker_name=queue[0],
                queue_id=queue[1],
                in_route=queue in in_route or queue[1] < 0,
                client_id=client_id,
                is_carried=is_carried,
            )
