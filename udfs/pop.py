"""Broker-side allocation for POP consumers: `QueryAssignmentProcessor.allocate4Pop`, 5.3.3 and 5.4.0."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from udfs.strategies import allocator, check
from udfs.strategy import NULL_POINTER, AllocationError, Queue, Strategy
from udfs.strategy_rules import first_indexes

ANY_QUEUE = -1


def pop_allocator(
    strategy: Strategy,
    topic: str,
    queues: Sequence[Queue] | None,
    client_ids: Sequence[str] | None,
    share_queue_num: int,
) -> Callable[[str], list[Queue]]:
    """Queues that the broker assigns to each client.

    Args:
        strategy: AVG or AVG_BY_CIRCLE, the only ones of the broker.
        topic: topic.
        queues: in the broker's order.
        client_ids: in the broker's order.
        share_queue_num: `popShareQueueNum`: how many further clients' shares each client serves too. 0 or less, or
            as many as there are others: everyone serves everything, as queue -1 of each broker.

    >>> of = pop_allocator(Strategy("AVG"), "T", [("a", 0), ("a", 1)], ["x", "y", "z"], 1)
    >>> of("x"), of("z")
    ([('a', 0)], [('a', 0)])
    >>> pop_allocator(Strategy("AVG"), "T", [("a", 0), ("a", 1)], ["x"], -1)("anyone")
    [('a', -1), ('a', -1)]
    """
    if share_queue_num > 0 and client_ids is None:
        raise AllocationError(NULL_POINTER, "cidAll is null")
    if queues is None:
        raise AllocationError(NULL_POINTER, "mqAll is null")
    if client_ids is None or share_queue_num <= 0 or share_queue_num >= len(client_ids) - 1:
        everything = [(broker_name, ANY_QUEUE) for broker_name, _ in queues]
        return lambda _: list(everything)
    if len(client_ids) > len(queues):
        return _one_each(queues, client_ids)
    plain = allocator(strategy, topic, queues, client_ids)
    indexes = first_indexes(client_ids)

    def of(client_id: str) -> list[Queue]:
        share = list(plain(client_id) or ())
        if client_id in indexes:
            index = indexes[client_id]
            for step in range(1, share_queue_num + 1):
                share.extend(plain(client_ids[(index + step) % len(client_ids)]) or ())
        return share

    return of


def _one_each(queues: Sequence[Queue], client_ids: Sequence[str]) -> Callable[[str], list[Queue]]:
    """More clients than queues: queues are dealt out again from the first (`QueryAssignmentProcessor.allocate`)."""
    indexes = first_indexes(client_ids)

    def of(client_id: str) -> list[Queue]:
        check(client_id, queues, client_ids, no_blanks=True)
        return [queues[indexes[client_id] % len(queues)]] if client_id in indexes else []

    return of
