"""One day of one process's log: when its consumers ran, what they owned, and when the process was silent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from jobs.allocation.logs.events import Event
from jobs.allocation.logs.incarnations import Incarnation, incarnations
from jobs.allocation.logs.lives import Life, are_several, lives_of_one, owned_times
from jobs.allocation.logs.shared import lives_of_several
from jobs.intervals.of_lists import grouped

_PAUSE_MS = 10_000  # a live client's log never paused longer


def process_day(
    events: Sequence[Event],
    times_ms: Sequence[int],
    opening: Sequence[Event],
    named_ms: Mapping[str, int],
    start_ms: int,
    end_ms: int,
) -> Iterator[dict[str, Any]]:
    """Derive lives, ownership and silences from the day's lines: rows of PROCESS_LOGS, which say what is in them.

    Lives are of consumers with a known client. A queue is owned from the line that adds it until it is given up or the
    client's life ends; intervals that end before they start are left out.

    Args:
        events: the log's lines about ownership, in order.
        times_ms: times of all its lines, distinct, ascending.
        opening: queues that its clients owned at 00:00, as ADDED events.
        named_ms: client → last line that only mentions it.
        start_ms: 00:00.
        end_ms: 24:00.

    >>> lines = [
    ...     Event("ADDED", 10_000, "G", "T", (("a", 0),)),
    ...     Event("ALLOCATED", 11_000, "G", "T", (("a", 0),), client_id="x"),
    ...     Event("STOPPED", 40_000, "G"),
    ... ]
    >>> for row in process_day(lines, [10_000, 11_000, 40_000], [], {}, 0, 86_400_000):
    ...     print(*row.values())
    LIFETIME G x None 40000 True
    HOLDING G x T a 0 False 10000 40000
    SILENCE 11000 40000
    """
    for incarnation in incarnations(events, times_ms, named_ms, start_ms, end_ms):
        before = () if incarnation.number else opening
        for consumer_group, life in _lives(incarnation, before, start_ms):
            last_ms = incarnation.client_last_ms.get(life.client_id, incarnation.last_ms)
            until_ms = last_ms if life.stopped_ms is None else life.stopped_ms
            whose = {"consumer_group": consumer_group, "client_id": life.client_id}
            ended = life.stopped_ms is not None or life.is_stopping
            yield {"kind": "LIFETIME", **whose, "start_ms": life.lived_from_ms, "end_ms": until_ms, "ended": ended}
            for queue, from_ms, to_ms in owned_times(life.changes, until_ms):
                if to_ms > from_ms:
                    yield {"kind": "HOLDING", **whose, **queue._asdict(), "start_ms": from_ms, "end_ms": to_ms}
    for before_ms, at_ms in pairwise(times_ms):
        if at_ms - before_ms > _PAUSE_MS:
            yield {"kind": "SILENCE", "start_ms": before_ms, "end_ms": at_ms}


def _lives(incarnation: Incarnation, opening: Sequence[Event], start_ms: int) -> Iterator[tuple[str, Life]]:
    """Lives of the clients of each consumer group in the incarnation."""
    lines = grouped(enumerate(incarnation.events), lambda placed: placed[1].consumer_group)
    owned_before = grouped(opening, lambda event: event.consumer_group)
    of_clients = lines.get(None, [])
    created = {event.client_id for _, event in of_clients if event.event == "INSTANCE"}
    for group in [group for group in {**owned_before, **lines} if group is not None]:
        placed, before = lines.get(group, []), owned_before.get(group, [])
        of_group = [event for _, event in placed]
        if incarnation.client_last_ms or are_several(of_group, before):
            lives = lives_of_several(placed, of_clients, before, ran_before=incarnation.number == 0)
        else:
            lives = lives_of_one(of_group, before, created, start_ms)
        yield from ((group, life) for life in lives)
