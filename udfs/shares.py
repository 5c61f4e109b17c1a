"""Queues of every client of a group: the strategies of its clients over one input."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from udfs.pop import pop_allocator
from udfs.strategies import allocator, sorted_clients, sorted_queues
from udfs.strategy import BY_BROKER, POP, RETRY_TOPIC, AllocationError, Queue, Strategy
from udfs.strategy_rules import Allocator

UNCHANGED = "UNCHANGED"
EVERYONE = "*"


@dataclass(frozen=True)
class Share:
    """Queues that one client of a group gets.

    Attributes:
        client_id: the client.
        outcome: RESULT; EMPTY = null was returned and its queues of the topic are dropped; UNCHANGED = its strategy
            throws, or the broker lacks the strategy (`QueryAssignmentProcessor.doLoadBalance`, 5.0.0 on),
            and it keeps what it has.
        message: of UNCHANGED: Java's class and text; otherwise None.
        queues: its queues, in the strategy's order.
    """

    client_id: str
    outcome: Literal["RESULT", "EMPTY", "UNCHANGED"]
    message: str | None
    queues: tuple[Queue, ...]


def shares_of_group(
    strategies: Iterable[tuple[str, Strategy]], topic: str, queues: Iterable[Queue], client_ids: Iterable[str]
) -> tuple[Share, ...]:
    """One share per different client id, from queues and ids in any order.

    Args:
        strategies: client id and its strategy; `*` = every other client.
        topic: topic.
        queues: in any order.
        client_ids: in any order; duplicates kept.

    >>> given = [("*", Strategy("AVG"))]
    >>> [(share.client_id, share.queues) for share in shares_of_group(given, "T", [("a", 1), ("a", 0)], ["y", "x"])]
    [('x', (('a', 0),)), ('y', (('a', 1),))]
    """
    given = {client_id: _of_topic(strategy, topic) for client_id, strategy in strategies}
    return tuple(shares(given, topic, sorted_queues(queues), sorted_clients(client_ids)))


def _of_topic(strategy: Strategy, topic: str) -> Strategy:
    """The strategy on a retry topic: without configured queues, which are of the group's own topics, and without POP.

    `QueryAssignmentProcessor.queryAssignment` (5.0.0 on) lets retry topics be pulled.
    """
    if not topic.startswith(RETRY_TOPIC):
        return strategy
    return dataclasses.replace(strategy, name=strategy.name.removeprefix(POP), queues=())


def shares(
    strategies: Strategy | Mapping[str, Strategy], topic: str, queues: Sequence[Queue], client_ids: Sequence[str]
) -> list[Share]:
    """One share per different client id, in the order in which they first appear.

    Equal strategies are computed once for all their clients.

    Args:
        strategies: one for all, or by client id with `*` for the others.
        topic: topic.
        queues: in the clients' order.
        client_ids: in the same order; duplicates kept.

    >>> given = {"*": Strategy("AVG"), "z": Strategy("CONFIG")}
    >>> [(share.client_id, share.outcome, share.queues) for share in shares(given, "T", [("a", 0)], ["x", "y", "z"])]
    [('x', 'RESULT', (('a', 0),)), ('y', 'RESULT', ()), ('z', 'EMPTY', ())]
    """
    by_client = {EVERYONE: strategies} if isinstance(strategies, Strategy) else strategies
    allocator_of = cache(lambda strategy: _allocator(strategy, topic, queues, client_ids))
    found = []
    for client_id in dict.fromkeys(client_ids):
        try:
            given = allocator_of(by_client.get(client_id) or by_client[EVERYONE])(client_id)
        except AllocationError as error:
            found.append(Share(client_id, "UNCHANGED", str(error), ()))
        else:
            found.append(Share(client_id, "EMPTY" if given is None else "RESULT", None, tuple(given or ())))
    return found


def _allocator(strategy: Strategy, topic: str, queues: Sequence[Queue], client_ids: Sequence[str]) -> Allocator:
    if strategy.name.startswith(BY_BROKER):
        raise AllocationError("QueryAssignmentProcessor", "unsupported strategy")
    if strategy.name.startswith(POP):
        inner = Strategy(strategy.name.removeprefix(POP))
        return pop_allocator(inner, topic, queues, client_ids, strategy.pop_share_queue_num)
    return allocator(strategy, topic, queues, client_ids)
