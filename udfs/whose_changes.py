"""Which of several clients that write one log took or gave up a queue: the lines do not say, but results do.

`RebalanceImpl.rebalanceByTopic` (4.3 to 5.5), and `getRebalanceResultFromBroker` for POP, changes what the client
holds, with a line for each queue, and then tells the whole result with the client's name. Clients rebalance at once, so
the lines of several are mixed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from udfs.strategy import Queue

_LASTS_MS = 300_000  # of one rebalance at most: a broker that is slow to tell an offset holds it up, queue by queue


@dataclass(frozen=True)
class Line:
    """A line of one group and topic in one process's log.

    Attributes:
        event: ADDED, REMOVED or DROPPED of `queues[0]`; ALLOCATED: `client_id` tells that `queues` are its own;
            BEGUN, STOPPED: `client_id` holds nothing, and no line before is of what it does afterwards.
        queues: as the event says.
        client_id: of the latter three only.
        at_ms: when it was written.
    """

    event: str
    queues: tuple[Queue, ...] = ()
    client_id: str | None = None
    at_ms: int = 0


def whose_changes(lines: Iterable[Line], held_before: Mapping[str, Iterable[Queue]]) -> list[str | None]:
    """The client of each line; None for changes of which the lines do not tell it.

    A queue taken is the client's who is first to tell it as new. One given up is its holder's; where several hold
    it, that of the first whose result lacks it. A result tells of no line before the client's last one, its start or
    its end, and of none that is older than a rebalance lasts.

    Args:
        lines: in the log's order.
        held_before: what each client held before the first of them.

    >>> added, removed = Line("ADDED", (("a", 0),)), Line("REMOVED", (("a", 0),))
    >>> tells = Line("ALLOCATED", (("a", 0),), "x"), Line("ALLOCATED", (("a", 0),), "y"), Line("ALLOCATED", (), "x")
    >>> whose_changes([added, added, tells[0], tells[1], removed, tells[2]], {})
    ['x', 'y', 'x', 'y', 'x', 'x']
    >>> whose_changes([added, removed, Line("DROPPED", (("a", 0),))], {"x": [("a", 0)]})
    [None, 'x', None]
    """
    log = _Log(held_before)
    for line in lines:
        log.read(line)
    return log.whose


class _Log:
    """What the lines so far tell: `whose` line each is, and what waits for a result that names its client."""

    def __init__(self, held_before: Mapping[str, Iterable[Queue]]) -> None:
        self.whose: list[str | None] = []
        self._held = {client: set(queues) for client, queues in held_before.items()}
        self._told_at: defaultdict[str, int] = defaultdict(lambda: -1)
        self._written_ms: list[int] = []
        # Places of lines that wait for a result.
        self._taken: defaultdict[Queue, list[int]] = defaultdict(list)
        self._given: defaultdict[Queue, list[int]] = defaultdict(list)
        self._dropped: defaultdict[Queue, list[int]] = defaultdict(list)

    def read(self, line: Line) -> None:
        self.whose.append(line.client_id)
        self._written_ms.append(line.at_ms)
        if line.event == "ADDED":
            self._taken[line.queues[0]].append(len(self.whose) - 1)
        elif line.client_id is None:
            self._given_up(line.queues[0], self._given if line.event == "REMOVED" else self._dropped)
        elif line.event in ("BEGUN", "STOPPED"):
            self._held.pop(line.client_id, None)
            self._told_at[line.client_id] = len(self.whose) - 1
        else:
            self._told(line.client_id, set(line.queues))

    def _given_up(self, queue: Queue, waiting: defaultdict[Queue, list[int]]) -> None:
        holders = [client for client, queues in self._held.items() if queue in queues]
        if len(holders) == 1:
            self.whose[-1] = holders[0]
            self._held[holders[0]].remove(queue)
        elif holders:
            waiting[queue].append(len(self.whose) - 1)

    def _told(self, client: str, told: set[Queue]) -> None:
        own = self._held.setdefault(client, set())
        for queue in [each for each in own - told if self._claims(client, self._given[each])]:
            own.remove(queue)
        # Dropped and taken again: shown all the same.
        for queue in told & own:
            if self._first(client, self._taken[queue]) is not None and self._claims(client, self._dropped[queue]):
                self._claims(client, self._taken[queue])
        for queue in [each for each in told - own if self._claims(client, self._taken[each])]:
            own.add(queue)
        self._told_at[client] = len(self.whose) - 1

    def _claims(self, client: str, places: list[int]) -> bool:
        """Whether one of the lines can be of this rebalance of the client, which is then its own."""
        place = self._first(client, places)
        if place is None:
            return False
        self.whose[place] = client
        places.remove(place)
        return True

    def _first(self, client: str, places: list[int]) -> int | None:
        begun_ms = self._written_ms[-1] - _LASTS_MS
        can_be = (each for each in places if each > self._told_at[client] and self._written_ms[each] >= begun_ms)
        return next(can_be, None)
