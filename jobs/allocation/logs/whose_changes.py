"""Which of several clients that write one log took or gave up a queue: only results show it.

`RebalanceImpl.rebalanceByTopic` (4.3 to 5.5), and `getRebalanceResultFromBroker` for POP, changes what the client
owns, with a line for each queue, and then writes the whole result with the client's id. Clients rebalance at once,
so the lines of several are mixed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from jobs.allocation.logs.events import Event
from udfs.strategy import Queue

_LASTS_MS = 300_000  # of one rebalance at most: a broker that is slow to give an offset holds it up, queue by queue


def whose_changes(lines: Iterable[Event], owned_before: Mapping[str, Iterable[Queue]]) -> list[str | None]:
    """The client of each line; None for changes of which the lines do not show it.

    A queue taken is the client's whose result is the first to show it as new. One given up is its owner's; where
    several own it, that of the first whose result lacks it. A result says nothing of lines before the client's last
    one, its start or its end, and of none that is older than a rebalance lasts.

    Args:
        lines: of one group and topic in one process's log, in its order: ADDED, REMOVED or DROPPED of one queue;
            ALLOCATED: `client_id` writes that `queues` are its own; BEGUN, STOPPED: `client_id` owns nothing, and no
            line before is of what it does afterwards.
        owned_before: what each client owned before the first of them.

    >>> added, removed = Event("ADDED", queues=(("a", 0),)), Event("REMOVED", queues=(("a", 0),))
    >>> x, y = (Event("ALLOCATED", queues=(("a", 0),), client_id=client_id) for client_id in "xy")
    >>> whose_changes([added, added, x, y, removed, Event("ALLOCATED", client_id="x")], {})
    ['x', 'y', 'x', 'y', 'x', 'x']
    >>> whose_changes([added, removed, Event("DROPPED", queues=(("a", 0),))], {"x": [("a", 0)]})
    [None, 'x', None]
    """
    log = _Log(owned_before)
    for line in lines:
        log.read(line)
    return log.whose


class _Log:
    """What the lines so far show: `whose` line each is, and what waits for a result with its client."""

    def __init__(self, owned_before: Mapping[str, Iterable[Queue]]) -> None:
        self.whose: list[str | None] = []
        self._owned = {client: set(queues) for client, queues in owned_before.items()}
        self._written_ms: list[int] = []
        # The place after each client's last result, start or end.
        self._after_last: defaultdict[str, int] = defaultdict(int)
        # The place after the last line with which it gave the queue up: what was taken before is another's.
        self._after_given: defaultdict[tuple[str, Queue], int] = defaultdict(int)
        # Places of lines that wait for a result.
        self._taken: defaultdict[Queue, list[int]] = defaultdict(list)
        self._given: defaultdict[Queue, list[int]] = defaultdict(list)
        self._dropped: defaultdict[Queue, list[int]] = defaultdict(list)

    def read(self, line: Event) -> None:
        self.whose.append(line.client_id)
        self._written_ms.append(line.at_ms)
        if line.event == "ADDED":
            self._taken[line.queues[0]].append(len(self.whose) - 1)
        elif line.client_id is None:
            self._given_up(line.queues[0], self._given if line.event == "REMOVED" else self._dropped)
        elif line.event in {"BEGUN", "STOPPED"}:
            self._owned.pop(line.client_id, None)
            self._after_last[line.client_id] = len(self.whose)
        else:
            self._result(line.client_id, set(line.queues))

    def _given_up(self, queue: Queue, waiting: defaultdict[Queue, list[int]]) -> None:
        owners = [client for client, queues in self._owned.items() if queue in queues]
        if len(owners) == 1:
            self.whose[-1] = owners[0]
            self._owned[owners[0]].remove(queue)
            self._after_given[owners[0], queue] = len(self.whose)
        elif owners:
            waiting[queue].append(len(self.whose) - 1)

    def _result(self, client: str, shown: set[Queue]) -> None:
        own = self._owned.setdefault(client, set())
        for queue in [queue for queue in own - shown if self._claims(client, queue, self._given)]:
            own.remove(queue)
        # Dropped and taken again: shown all the same.
        for queue in shown & own:
            dropped = self._first(client, queue, self._dropped)
            if dropped is not None and any(place > dropped for place in self._taken[queue]):
                self._claims(client, queue, self._dropped)
                self._after_given[client, queue] = dropped + 1
                self._claims(client, queue, self._taken)
        for queue in [queue for queue in shown - own if self._claims(client, queue, self._taken)]:
            own.add(queue)
        self._after_last[client] = len(self.whose)

    def _claims(self, client: str, queue: Queue, waiting: defaultdict[Queue, list[int]]) -> bool:
        """Whether one of the lines can be of this rebalance of the client, which is then its own."""
        place = self._first(client, queue, waiting)
        if place is None:
            return False
        self.whose[place] = client
        waiting[queue].remove(place)
        return True

    def _first(self, client: str, queue: Queue, waiting: defaultdict[Queue, list[int]]) -> int | None:
        begun_ms = self._written_ms[-1] - _LASTS_MS
        since = max(self._after_last[client], self._after_given[client, queue])
        return next((place for place in waiting[queue] if place >= since and self._written_ms[place] >= begun_ms), None)
