"""Which of several clients that share a log took or gave up a queue; only results show it.

`RebalanceImpl.rebalanceByTopic` (4.3 to 5.5), and `getRebalanceResultFromBroker` for POP, changes the client's
queues, with a line for each, and then logs the whole result with the client id. Clients rebalance at the same time,
so their lines are mixed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from jobs.allocation.logs.events import Event
from udfs.strategy import Queue

_LASTS_MS = 300_000  # longest rebalance: a broker that is slow to return offsets delays it, queue by queue


def whose_changes(lines: Iterable[Event], owned_before: Mapping[str, Iterable[Queue]]) -> list[str | None]:
    """The client of each line; None for changes whose client the lines do not show.

    A queue is taken by the client whose result first shows it as new, and given up by its owner; with several
    owners, by the one whose result first lacks it. A result explains no lines before the client's previous result,
    start or end, and none older than a rebalance can last.

    Args:
        lines: lines about one group and topic in one process's log, in order: ADDED, REMOVED or DROPPED of one
            queue; ALLOCATED: `client_id` now owns `queues`; BEGUN, STOPPED: `client_id` owns nothing, and earlier
            lines are not about what it does later.
        owned_before: queues that each client owned before the first line.

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
    """State after the lines so far: `whose` is the client of each line; other fields hold lines that await a result."""

    def __init__(self, owned_before: Mapping[str, Iterable[Queue]]) -> None:
        self.whose: list[str | None] = []
        self._owned = {client: set(queues) for client, queues in owned_before.items()}
        self._written_ms: list[int] = []
        # Index after each client's last result, start or end.
        self._after_last: defaultdict[str, int] = defaultdict(int)
        # Index after the last line in which it gave up the queue: earlier lines that take it are another client's.
        self._after_given: defaultdict[tuple[str, Queue], int] = defaultdict(int)
        # Indexes of lines that await a result, by event and queue.
        self._waiting: defaultdict[tuple[str, Queue], list[int]] = defaultdict(list)

    def read(self, line: Event) -> None:
        self.whose.append(line.client_id)
        self._written_ms.append(line.at_ms)
        if line.event == "ADDED":
            self._waiting["ADDED", line.queues[0]].append(len(self.whose) - 1)
        elif line.client_id is None:
            self._given_up(line.event, line.queues[0])
        elif line.event in {"BEGUN", "STOPPED"}:
            self._owned.pop(line.client_id, None)
            self._after_last[line.client_id] = len(self.whose)
        else:
            self._result(line.client_id, set(line.queues))

    def _given_up(self, event: str, queue: Queue) -> None:
        owners = [client for client, queues in self._owned.items() if queue in queues]
        if len(owners) == 1:
            self.whose[-1] = owners[0]
            self._owned[owners[0]].remove(queue)
            self._after_given[owners[0], queue] = len(self.whose)
        elif owners:
            self._waiting[event, queue].append(len(self.whose) - 1)

    def _result(self, client: str, shown: set[Queue]) -> None:
        own = self._owned.setdefault(client, set())
        for queue in [queue for queue in own - shown if self._claims(client, queue, "REMOVED")]:
            own.remove(queue)
        # A queue that was dropped and taken again is in the result too.
        for queue in shown & own:
            dropped = self._first(client, queue, "DROPPED")
            if dropped is not None and any(place > dropped for place in self._waiting["ADDED", queue]):
                self._claims(client, queue, "DROPPED")
                self._after_given[client, queue] = dropped + 1
                self._claims(client, queue, "ADDED")
        for queue in [queue for queue in shown - own if self._claims(client, queue, "ADDED")]:
            own.add(queue)
        self._after_last[client] = len(self.whose)

    def _claims(self, client: str, queue: Queue, event: str) -> bool:
        """Assign a waiting line to this rebalance of the client; False if none fits."""
        place = self._first(client, queue, event)
        if place is None:
            return False
        self.whose[place] = client
        self._waiting[event, queue].remove(place)
        return True

    def _first(self, client: str, queue: Queue, event: str) -> int | None:
        begun_ms = self._written_ms[-1] - _LASTS_MS
        since = max(self._after_last[client], self._after_given[client, queue])
        waiting = self._waiting[event, queue]
        return next((place for place in waiting if place >= since and self._written_ms[place] >= begun_ms), None)
