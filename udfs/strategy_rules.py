"""The rules of the strategies that use no other strategy, quirks included."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from udfs.hash_ring import ring_of
from udfs.java_text import split
from udfs.releases import since
from udfs.strategy import NULL_POINTER, AllocationError, Queue, Strategy

Allocator = Callable[[str], list[Queue] | None]


def first_indexes(client_ids: Sequence[str]) -> dict[str, int]:
    """`indexOf`: a duplicate id has its first index, and the later one's share belongs to nobody.

    >>> first_indexes(["x", "x", "y"])
    {'x': 0, 'y': 2}
    """
    indexes: dict[str, int] = {}
    for index, client_id in enumerate(client_ids):
        indexes.setdefault(client_id, index)
    return indexes


def averagely(_: Strategy, __: str, queues: Sequence[Queue], client_ids: Sequence[str]) -> Allocator:
    """`AllocateMessageQueueAveragely`: a block each, the first ones longer by one."""
    count, clients, indexes = len(queues), len(client_ids), first_indexes(client_ids)
    extra = count % clients

    def of(client_id: str) -> list[Queue]:
        index = indexes[client_id]
        has_extra = index < extra
        size = count // clients + has_extra
        start = index * size if has_extra else index * size + extra
        return list(queues[start : start + size])

    return of


def averagely_by_circle(_: Strategy, __: str, queues: Sequence[Queue], client_ids: Sequence[str]) -> Allocator:
    """`AllocateMessageQueueAveragelyByCircle`: one in turn."""
    indexes = first_indexes(client_ids)
    return lambda client_id: list(queues[indexes[client_id] :: len(client_ids)])


def consistent_hash(strategy: Strategy, topic: str, queues: Sequence[Queue], client_ids: Sequence[str]) -> Allocator:
    """`AllocateMessageQueueConsistentHash`: the first virtual node at or after the queue on a ring."""
    ring = ring_of(tuple(client_ids), strategy.virtual_nodes, strategy.charset)
    shares: dict[str, list[Queue]] = {}
    for queue in queues:
        owner = ring.owner(queue_text(topic, queue))
        if owner is not None:
            shares.setdefault(owner, []).append(queue)
    return lambda client_id: list(shares.get(client_id, ()))


def queue_text(topic: str, queue: Queue) -> str:
    """`MessageQueue.toString`."""
    return f"MessageQueue [topic={topic}, brokerName={queue[0]}, queueId={queue[1]}]"


def machine_room(strategy: Strategy, _: str, queues: Sequence[Queue], client_ids: Sequence[str]) -> Allocator:
    """`AllocateMessageQueueByMachineRoom`; 4.7.1's block comes from all queues, not from those of the rooms (#2477)."""
    rooms = None if strategy.machine_rooms is None else set(strategy.machine_rooms)
    premium = []
    for queue in queues:
        parts = split(queue[0], "@")
        if len(parts) == 2:
            if rooms is None:
                raise AllocationError(NULL_POINTER, "consumeridcs is null")
            if parts[0] in rooms:
                premium.append(queue)
    size, rest = divmod(len(premium), len(client_ids))
    block = queues if strategy.is_before(since("machine_room_block_of_its_rooms")) else premium
    indexes = first_indexes(client_ids)

    def of(client_id: str) -> list[Queue]:
        index = indexes[client_id]
        share = list(block[size * index : size * index + size])
        if rest > index:
            share.append(premium[index + size * len(client_ids)])
        return share

    return of
