"""The processes that wrote one log, one after another or at once; each starts with its first client."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from jobs.allocation.logs.events import BEGINS, Event

_SILENCE_MS = 60_000  # a live client logs statistics every minute
_FIRST_WORDS_MS = 5_000  # a new process says `start beginning` of its first consumer before `InstanceIndex:0`


@dataclass(frozen=True)
class Incarnation:
    """One process.

    Attributes:
        number: 0 = it started before the day's first line.
        events: its lines about ownership, in order, with `made_client_id`.
        last_ms: its last line of any kind; 24:00 if it keeps running; 00:00 if it wrote none.
        client_last_ms: last line that mentions each client, if several processes wrote at once; else empty.
    """

    number: int
    events: tuple[Event, ...]
    last_ms: int
    client_last_ms: Mapping[str, int] = field(default_factory=dict)


def incarnations(
    events: Sequence[Event], times_ms: Sequence[int], named_ms: Mapping[str, int], start_ms: int, end_ms: int
) -> list[Incarnation]:
    """Incarnations in order, starting with number 0 even if it wrote nothing.

    A killed process logs no end: its last line is the one before the next start in the log. Processes that wrote at
    once form one incarnation, since only lines with a client id can be told apart.

    Args:
        events: the log's lines about ownership, in order.
        times_ms: times of all its lines, distinct, ascending.
        named_ms: client → last line that only mentions it.
        start_ms: 00:00.
        end_ms: 24:00.

    >>> lines = [Event("INSTANCE", at_ms, client_id=client, instance=0) for at_ms, client in ((10, "x"), (20, "y"))]
    >>> apart = incarnations(lines, [10, 15, 20, 25], {}, 0, 86_400_000)
    >>> [(run.number, len(run.events), run.last_ms) for run in apart]
    [(0, 0, 0), (1, 1, 15), (2, 1, 25)]
    >>> at_once = incarnations(lines, [10, 15, 20, 25], {"x": 25}, 0, 86_400_000)
    >>> [(run.number, len(run.events), run.last_ms, run.client_last_ms) for run in at_once]
    [(0, 0, 0, {}), (1, 2, 25, {'x': 25, 'y': 20})]
    """
    last_ms = _last_named_ms(events, named_ms)
    by_number: list[list[Event]] = [[]]
    for number, event, made in zip(_numbers(events), events, _clients_made(events), strict=True):
        by_number += [[] for _ in range(len(by_number), number + 1)]
        by_number[number].append(replace(event, made_client_id=made))
    at_once = _at_once(by_number, last_ms)
    born_ms = [start_ms, *(of_one[0].at_ms for of_one in (joined[0] for joined in at_once[1:]))]
    until = [*(bisect_left(times_ms, begun_ms) for begun_ms in born_ms[1:]), len(times_ms)]
    lasts_ms = [
        times_ms[place - 1] if place and times_ms[place - 1] >= begun_ms else start_ms
        for place, begun_ms in zip(until, born_ms, strict=True)
    ]
    if times_ms and lasts_ms[-1] >= end_ms - _SILENCE_MS:
        lasts_ms[-1] = end_ms
    return [
        Incarnation(
            number,
            tuple(event for of_one in joined for event in of_one),
            until_ms,
            {
                client: until_ms if seen_ms >= until_ms - _SILENCE_MS and until_ms == end_ms else seen_ms
                for client, seen_ms in last_ms.items()
            }
            if len(joined) > 1
            else {},
        )
        for number, (joined, until_ms) in enumerate(zip(at_once, lasts_ms, strict=True))
    ]


def _last_named_ms(events: Sequence[Event], named_ms: Mapping[str, int]) -> dict[str, int]:
    """Client → last line that mentions it."""
    last_ms = dict(named_ms)
    for event in events:
        if event.client_id is not None:
            last_ms[event.client_id] = max(event.at_ms, last_ms.get(event.client_id, event.at_ms))
    return last_ms


def _at_once(by_number: Sequence[list[Event]], last_ms: Mapping[str, int]) -> list[list[list[Event]]]:
    """Merge processes that wrote at once: a client is mentioned after a later process, not its own, has started."""
    makers = Counter(
        client for of_one in by_number for client in {event.client_id for event in of_one if event.event == "INSTANCE"}
    )
    known: set[str] = set()
    joined: list[list[list[Event]]] = []
    reach_ms = -1
    for of_one in by_number:
        if joined and of_one[0].at_ms < reach_ms:
            joined[-1].append(of_one)
        else:
            joined.append([of_one])
        named = {event.client_id for event in of_one if event.client_id is not None}
        own = {client for client in named - known if makers[client] < 2}
        reach_ms = max([reach_ms, *(last_ms[client] for client in own)])
        known |= named
    return joined


def _numbers(events: Sequence[Event]) -> list[int]:
    """The incarnation of each line."""
    births_ms = [event.at_ms for event in events if _is_birth(event)]
    numbers, births = [], 0
    for event in events:
        births += _is_birth(event)
        is_near = births < len(births_ms) and births_ms[births] - event.at_ms <= _FIRST_WORDS_MS
        numbers.append(births + (event.event == "STARTED" and is_near))
    return numbers


def _is_birth(event: Event) -> bool:
    return event.event == "INSTANCE" and event.instance == 0


def _clients_made(events: Sequence[Event]) -> list[str | None]:
    """The client created for the consumer of each line, or None.

    A consumer that needs its own client creates it right after its start line, a lite pull consumer right before,
    unless several consumers start at once.
    """
    made: list[str | None] = [None] * len(events)
    turns = [(place, event) for place, event in enumerate(events) if event.event in {*BEGINS, "INSTANCE"}]
    for (place, event), (next_place, following) in pairwise(turns):
        if event.event == "STARTED" and following.event == "INSTANCE":
            made[place] = following.client_id
        elif event.event == "INSTANCE" and following.event == "READY":
            made[next_place] = event.client_id
    return made
