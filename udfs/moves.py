"""Cost of a change of owners, and balance of an assignment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from udfs.strategy import Queue

Owners = Mapping[Queue, frozenset[str]]
"""Queue to its owners; queues without an owner are absent."""


def owners_of(shares: Iterable[tuple[str, Iterable[Queue]]]) -> dict[Queue, frozenset[str]]:
    """Owners from each client's queues.

    >>> owners_of([("x", [("a", 0)]), ("y", [("a", 0)])]) == {("a", 0): frozenset({"x", "y"})}
    True
    """
    owners: dict[Queue, set[str]] = {}
    for client_id, queues in shares:
        for queue in queues:
            owners.setdefault(queue, set()).add(client_id)
    return {queue: frozenset(clients) for queue, clients in owners.items()}


def moves(before: Owners, after: Owners, queues: Iterable[Queue], members: Iterable[str]) -> tuple[int, int]:
    """Queues that changed their owner, and the fewest that had to.

    A queue counts if it had an owner and still exists. Several owners (BROADCASTING, where `RebalanceImpl` takes
    every queue, and POP) continue independently: the queue moved when a member that had it lacks it now, or when all
    that had it do. The fewest are what any assignment with the same loads as `after` would have moved: queues stay as
    far as the loads allow, which is most when the members with most queues before get most queues after.

    Args:
        before: owners before the change.
        after: owners after it.
        queues: the topic's queues after the change.
        members: client ids after the change.

    >>> x, y = frozenset("x"), frozenset("y")
    >>> queues = [("a", 0), ("a", 1), ("a", 2), ("a", 3)]
    >>> moves(dict.fromkeys(queues, x), dict(zip(queues, (y, y, x, x))), queues, ["x", "y"])
    (2, 2)
    >>> moves(dict(zip(queues, (x, x, y, y))), dict(zip(queues, (y, y, x, x))), queues, ["x", "y"])
    (4, 0)
    >>> moves(dict.fromkeys(queues, x), dict.fromkeys(queues, x | y), queues, ["x", "y"])
    (0, 0)
    """
    counted = [queue for queue in dict.fromkeys(queues) if queue in before]
    present = frozenset(members)
    moved = sum(_moved(before[queue], after.get(queue, frozenset()), present) for queue in counted)
    had = Counter(client for queue in counted for client in before[queue] if client in present)
    gets = Counter(client for clients in after.values() for client in clients)
    staying = sum(
        min(pair) for pair in zip(sorted(had.values(), reverse=True), sorted(gets.values(), reverse=True), strict=False)
    )
    return moved, min(moved, max(0, len(counted) - staying))


def _moved(before: frozenset[str], after: frozenset[str], members: frozenset[str]) -> bool:
    return bool(before & members - after) or before.isdisjoint(after)


def imbalance(owners: Owners, members: Sequence[str]) -> int:
    """Difference between the members with most and with fewest queues; 0 without members."""
    loads = Counter(client for clients in owners.values() for client in clients)
    counts = [loads[member] for member in dict.fromkeys(members)]
    return max(counts) - min(counts) if counts else 0


def broker_skew(owners: Owners, members: Sequence[str]) -> int:
    """The largest `imbalance` of the queues of one broker alone."""
    brokers = {broker_name for broker_name, _ in owners}
    return max(
        (
            imbalance({queue: clients for queue, clients in owners.items() if queue[0] == broker}, members)
            for broker in brokers
        ),
        default=0,
    )
