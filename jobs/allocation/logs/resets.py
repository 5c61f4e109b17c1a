"""Queues that a client drops because an administrator resets an offset; the log names only the topic.

`MQClientInstance.resetOffset` (4.3 to 5.5) suspends the consumer, drops its queues of the topic on the broker
that asked, waits 10 s, removes them and resumes, which triggers a rebalance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from jobs.allocation.logs.events import CHANGES, REFUSALS, Event
from udfs.strategy import Queue

_AT_ONCE_MS = 5_000  # from the request to the suspension
_TAKEN_AGAIN_MS = 120_000
_WITHOUT = ("ADDED", "PULL_ENDED", *REFUSALS)
"""Lines about a queue that a client writes only if it no longer has the queue."""


def with_drops(events: Sequence[Event], opening: Sequence[Event]) -> list[Event]:
    """The lines of a process, with a DROPPED line for each queue that a reset dropped, at the suspension.

    Later lines show which queues: the client takes the queue again, tries to, or ends its pull request.

    Args:
        events: in order.
        opening: queues that its clients owned at 00:00, as ADDED events.

    >>> added = [Event("ADDED", at_ms, "G", "T", (("a", 0),)) for at_ms in (1, 99)]
    >>> lines = with_drops([added[0], Event("RESET", 5, "G", "T"), Event("SUSPENDED", 9, "G"), added[1]], [])
    >>> [(line.event, line.at_ms) for line in lines]
    [('ADDED', 1), ('RESET', 5), ('SUSPENDED', 9), ('DROPPED', 9), ('ADDED', 99)]
    """
    drops: dict[int, list[Event]] = {}
    for place, event in enumerate(events):
        if event.event == "RESET":
            begins = _suspended(events, place)
            owned = _owned((*opening, *events[: begins + 1]), event)
            drops.setdefault(begins, []).extend(
                replace(event, event="DROPPED", at_ms=events[begins].at_ms, queues=(queue,))
                for queue in _dropped(owned, event, events[begins:])
            )
    return [line for place, event in enumerate(events) for line in (event, *drops.get(place, ()))]


def _suspended(events: Sequence[Event], reset: int) -> int:
    """Index of the line that suspends the consumer, or of the reset if there is none."""
    group, until_ms = events[reset].consumer_group, events[reset].at_ms + _AT_ONCE_MS
    suspended = (
        place
        for place in range(reset, len(events))
        if events[place].at_ms <= until_ms and events[place].event == "SUSPENDED"
    )
    return next((place for place in suspended if events[place].consumer_group == group), reset)


def _of(reset: Event, events: Iterable[Event]) -> Iterator[tuple[str, Queue]]:
    """Event name and queue of the lines about the reset's group and topic."""
    for event in events:
        is_of_it = (event.consumer_group, event.topic) == (reset.consumer_group, reset.topic) and not event.popped
        if is_of_it and event.event in {*CHANGES, *_WITHOUT}:
            yield event.event, event.queues[0]


def _owned(before: Iterable[Event], reset: Event) -> set[Queue]:
    owned: set[Queue] = set()
    for event, queue in _of(reset, before):
        if event == "ADDED":
            owned.add(queue)
        elif event in CHANGES:
            owned.discard(queue)
    return owned


def _dropped(owned: set[Queue], reset: Event, after: Sequence[Event]) -> Iterator[Queue]:
    until_ms = after[0].at_ms + _TAKEN_AGAIN_MS
    firsts: dict[Queue, str] = {}
    for event, queue in _of(reset, (event for event in after[1:] if event.at_ms <= until_ms)):
        firsts.setdefault(queue, event)
    return (queue for queue, first in firsts.items() if queue in owned and first in _WITHOUT)
