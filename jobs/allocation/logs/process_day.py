"""One day of one process's log: when its consumers ran, what they owned, and when the process was silent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jobs.allocation.logs.events import Event, OwnedQueue
from jobs.allocation.logs.incarnations import Incarnation, incarnations
from jobs.allocation.logs.lives import Life, are_several, lives_of_one, owned_times
from jobs.allocation.logs.shared import lives_of_several

_PAUSE_MS = 10_000  # a live client's log never paused longer


@dataclass(frozen=True)
class Lifetime:
    """A consumer's life. `lived_from_ms` None = it started before the first line. `ended` = the log shows its end."""

    consumer_group: str
    client_id: str
    lived_from_ms: int | None
    lived_until_ms: int
    ended: bool


@dataclass(frozen=True)
class Holding:
    """A queue that a client owned, from the line that adds it until it is given up or the client's life ends."""

    consumer_group: str
    queue: OwnedQueue
    client_id: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True)
class ProcessDay:
    """What the log shows.

    Attributes:
        lifetimes: lives of consumers with a known client.
        holdings: their queues; without intervals that end before they start.
        silences: start and end of each interval without a line.
    """

    lifetimes: list[Lifetime]
    holdings: list[Holding]
    silences: list[tuple[int, int]]


def process_day(
    events: Sequence[Event],
    times_ms: Sequence[int],
    opening: Sequence[Event],
    named_ms: Mapping[str, int],
    start_ms: int,
    end_ms: int,
) -> ProcessDay:
    """Derive lives, ownership and silences from the day's lines.

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
    >>> day = process_day(lines, [10_000, 11_000, 40_000], [], {}, 0, 86_400_000)
    >>> day.lifetimes
    [Lifetime(consumer_group='G', client_id='x', lived_from_ms=None, lived_until_ms=40000, ended=True)]
    >>> [(*holding.queue, holding.client_id, holding.start_ms, holding.end_ms) for holding in day.holdings]
    [('T', 'a', 0, False, 'x', 10000, 40000)]
    >>> day.silences
    [(11000, 40000)]
    """
    lifetimes, holdings = [], []
    for incarnation in incarnations(events, times_ms, named_ms, start_ms, end_ms):
        before = () if incarnation.number else opening
        for consumer_group, life in _lives(incarnation, before, start_ms):
            last_ms = incarnation.client_last_ms.get(life.client_id, incarnation.last_ms)
            ended = life.stopped_ms is not None or life.is_stopping
            until_ms = last_ms if life.stopped_ms is None else life.stopped_ms
            lifetimes.append(Lifetime(consumer_group, life.client_id, life.lived_from_ms, until_ms, ended))
            holdings += [
                Holding(consumer_group, queue, life.client_id, from_ms, to_ms)
                for queue, from_ms, to_ms in owned_times(life.changes, until_ms)
                if to_ms > from_ms
            ]
    silences = [(before_ms, at_ms) for before_ms, at_ms in pairwise(times_ms) if at_ms - before_ms > _PAUSE_MS]
    return ProcessDay(lifetimes, holdings, silences)


def _lives(incarnation: Incarnation, opening: Sequence[Event], start_ms: int) -> Iterator[tuple[str, Life]]:
    """Lives of the clients of each consumer group in the incarnation."""
    lines: defaultdict[str | None, list[tuple[int, Event]]] = defaultdict(list)
    owned_before: defaultdict[str | None, list[Event]] = defaultdict(list)
    for place, event in enumerate(incarnation.events):
        lines[event.consumer_group].append((place, event))
    for event in opening:
        owned_before[event.consumer_group].append(event)
    of_clients = lines[None]
    created = {event.client_id for _, event in of_clients if event.event == "INSTANCE"}
    for group in [group for group in {**owned_before, **lines} if group is not None]:
        placed, before = lines[group], owned_before[group]
        of_group = [event for _, event in placed]
        if incarnation.client_last_ms or are_several(of_group, before):
            lives = lives_of_several(placed, of_clients, before, ran_before=incarnation.number == 0)
        else:
            lives = lives_of_one(of_group, before, created, start_ms)
        yield from ((group, life) for life in lives)
