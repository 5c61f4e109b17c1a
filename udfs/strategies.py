"""The allocation strategies of `org.apache.rocketmq.client.consumer.rebalance`, quirks included.

Plain functions of the arguments of `RebalanceImpl`: queues and client ids in its order, duplicates of ids kept.
Classes and versions: `AbstractAllocateMessageQueueStrategy.check` (4.9.4; before, a copy in each class),
`AllocateMessageQueueAveragely`, `…AveragelyByCircle`, `…ByConfig`, `…ByMachineRoom`,
`AllocateMachineRoomNearby`, `…ConsistentHash`, 4.7.1 to 5.5.0.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from udfs.java_text import is_blank, string_key
from udfs.releases import since
from udfs.strategy import ILLEGAL_ARGUMENT, NEARBY, NULL_POINTER, AllocationError, Queue, Strategy
from udfs.strategy_rules import Allocator, averagely, averagely_by_circle, consistent_hash, machine_room, queue_text


def sorted_queues(queues: Iterable[Queue]) -> list[Queue]:
    """In the order of `MessageQueue.compareTo`: topic, broker name, queue id; here all queues are of one topic.

    >>> sorted_queues([("b-10", 1), ("b-2", 0), ("b-10", 0)])
    [('b-10', 0), ('b-10', 1), ('b-2', 0)]
    """
    return sorted(queues, key=lambda queue: (string_key(queue[0]), queue[1]))


def sorted_clients(client_ids: Iterable[str]) -> list[str]:
    """In the order of `Collections.sort`; duplicates stay."""
    return sorted(client_ids, key=string_key)


def allocator(
    strategy: Strategy, topic: str, queues: Sequence[Queue] | None, client_ids: Sequence[str] | None
) -> Allocator:
    """The strategy over one input, for many clients: what they share is computed once. None where Java returns null.

    Raises:
        AllocationError: where Java throws for every client.

    >>> queues = [("a", 0), ("a", 1), ("a", 2)]
    >>> of = allocator(Strategy("AVG"), "T", queues, ["x", "y"])
    >>> of("x"), of("y"), of("stranger")
    ([('a', 0), ('a', 1)], [('a', 2)], [])
    """
    name = strategy.name
    if name == "BROADCASTING":
        return lambda _: list(queues or ())
    if name == "CONFIG":
        return lambda _: None if strategy.queues is None else list(strategy.queues)
    if name == "CONSISTENT_HASH" and strategy.virtual_nodes < 0:  # its constructor throws
        raise AllocationError(ILLEGAL_ARGUMENT, f"illegal virtualNodeCnt :{strategy.virtual_nodes}")
    is_unchecked = name == "MACHINE_ROOM" and strategy.is_before(since("machine_room_checks_arguments"))
    if is_unchecked and client_ids is None:
        raise AllocationError(NULL_POINTER, "cidAll is null")
    rule = _nearby if name.startswith(NEARBY) else _RULES[name]
    no_blanks = name == "MACHINE_ROOM" and strategy.is_before(since("machine_room_takes_blank_ids"))
    members = set(client_ids or ())

    @cache
    def of_members() -> Allocator:
        if queues is None:  # unchecked
            raise AllocationError(NULL_POINTER, "mqAll is null")
        return rule(strategy, topic, queues, client_ids or ())

    def of(client_id: str) -> list[Queue] | None:
        if not is_unchecked:
            check(client_id, queues, client_ids, no_blanks=no_blanks)
        # A stranger is logged as [BUG]; the client drops all its queues of the topic.
        return of_members()(client_id) if client_id in members else []

    return of


def check(client_id: str, queues: Sequence[Queue] | None, client_ids: Sequence[str] | None, *, no_blanks: bool) -> None:
    """`AbstractAllocateMessageQueueStrategy.check`."""
    if not client_id or (no_blanks and is_blank(client_id)):
        raise AllocationError(ILLEGAL_ARGUMENT, "currentCID is empty")
    if not queues:
        raise AllocationError(ILLEGAL_ARGUMENT, "mqAll is null or mqAll empty")
    if not client_ids:
        raise AllocationError(ILLEGAL_ARGUMENT, "cidAll is null or cidAll empty")


def _nearby(strategy: Strategy, topic: str, queues: Sequence[Queue], client_ids: Sequence[str]) -> Allocator:
    """Own room's queues among own room's clients, then those of rooms without any client among all."""
    inner = dataclasses.replace(strategy, name=strategy.name.removeprefix(NEARBY))
    queues_of: dict[str, list[Queue]] = {}
    for queue in queues:
        room = _room(strategy.broker_room, queue[0])
        if not room:
            raise AllocationError(ILLEGAL_ARGUMENT, f"Machine room is null for mq {queue_text(topic, queue)}")
        queues_of.setdefault(room, []).append(queue)
    clients_of: dict[str, list[str]] = {}
    for client_id in client_ids:
        room = _room(strategy.client_room, client_id)
        if not room:
            raise AllocationError(ILLEGAL_ARGUMENT, f"Machine room is null for consumer id {client_id}")
        clients_of.setdefault(room, []).append(client_id)
    own = {
        room: allocator(inner, topic, queues_of[room], clients)
        for room, clients in clients_of.items()
        if room in queues_of
    }
    abandoned = [
        allocator(inner, topic, queues_of[room], client_ids)
        for room in sorted(queues_of, key=string_key)
        if room not in clients_of
    ]

    def of(client_id: str) -> list[Queue]:
        room = _room(strategy.client_room, client_id)
        share: list[Queue] = []
        for allocated in [own[room], *abandoned] if room in own else abandoned:
            part = allocated(client_id)
            if part is None:  # CONFIG inside, never set
                raise AllocationError(NULL_POINTER, "addAll of null")
            share.extend(part)
        return share

    return of


def _room(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return (found.group(1) or "") if found else ""


_RULES: dict[str, Callable[[Strategy, str, Sequence[Queue], Sequence[str]], Allocator]] = {
    "AVG": averagely,
    "AVG_BY_CIRCLE": averagely_by_circle,
    "MACHINE_ROOM": machine_room,
    "CONSISTENT_HASH": consistent_hash,
}
