"""The processes that wrote one log, one after the other: each begins with its first client."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from jobs.allocation.logs.events import BEGINS, Event

_SILENCE_MS = 60_000  # a client that lives writes statistics each minute
_FIRST_WORDS_MS = 5_000  # a new process says `start beginning` of its first consumer before `InstanceIndex:0`


@dataclass(frozen=True)
class Incarnation:
    """One process.

    Attributes:
        number: 0 = it ran before the day's first line.
        events: its lines about ownership, in order, with `made_client_id`.
        last_ms: its last line of any kind; 24:00 when it goes on; 00:00 when it wrote none.
    """

    number: int
    events: tuple[Event, ...]
    last_ms: int


def incarnations(events: Sequence[Event], times_ms: Sequence[int], start_ms: int, end_ms: int) -> list[Incarnation]:
    """Number 0 first, also when it wrote nothing.

    A process that is killed writes nothing: its next start in the same log ends it, at its own last line.

    Args:
        events: the log's lines about ownership, in order.
        times_ms: of all its lines, each once, ascending.
        start_ms: 00:00.
        end_ms: 24:00.

    >>> lines = [Event("INSTANCE", at_ms, client_id="x", instance=0) for at_ms in (10, 20)]
    >>> [(each.number, len(each.events), each.last_ms) for each in incarnations(lines, [10, 15, 20, 25], 0, 86_400_000)]
    [(0, 0, 0), (1, 1, 15), (2, 1, 25)]
    """
    numbers = _numbers(events)
    by_number: list[list[Event]] = [[] for _ in range(max(numbers, default=0) + 1)]
    for number, event, made in zip(numbers, events, _clients_made(events), strict=True):
        by_number[number].append(replace(event, made_client_id=made))
    born_ms = [start_ms, *(of_one[0].at_ms for of_one in by_number[1:])]
    until = [*(bisect_left(times_ms, each) for each in born_ms[1:]), len(times_ms)]
    lasts_ms = [
        times_ms[place - 1] if place and times_ms[place - 1] >= begun_ms else start_ms
        for place, begun_ms in zip(until, born_ms, strict=True)
    ]
    if times_ms and lasts_ms[-1] >= end_ms - _SILENCE_MS:
        lasts_ms[-1] = end_ms
    return [
        Incarnation(number, tuple(of_one), last_ms)
        for number, (of_one, last_ms) in enumerate(zip(by_number, lasts_ms, strict=True))
    ]


def _numbers(events: Sequence[Event]) -> list[int]:
    """The incarnation of each line."""
    next_births_ms: list[int | None] = []
    next_birth_ms = None
    for event in reversed(events):
        next_birth_ms = event.at_ms if _is_birth(event) else next_birth_ms
        next_births_ms.append(next_birth_ms)
    numbers, births = [], 0
    for event, birth_ms in zip(events, reversed(next_births_ms), strict=True):
        births += _is_birth(event)
        is_near = birth_ms is not None and birth_ms - event.at_ms <= _FIRST_WORDS_MS
        numbers.append(births + (event.event == "STARTED" and is_near))
    return numbers


def _is_birth(event: Event) -> bool:
    return event.event == "INSTANCE" and event.instance == 0


def _clients_made(events: Sequence[Event]) -> list[str | None]:
    """The client made for each line's consumer.

    A consumer that needs a client of its own makes it next, a lite one just before it says so, unless several
    consumers start at once.
    """
    made: list[str | None] = [None] * len(events)
    turns = [(place, event) for place, event in enumerate(events) if event.event in {*BEGINS, "INSTANCE"}]
    for (place, event), (next_place, following) in pairwise(turns):
        if event.event == "STARTED" and following.event == "INSTANCE":
            made[place] = following.client_id
        elif event.event == "INSTANCE" and following.event == "READY":
            made[next_place] = event.client_id
    return made
