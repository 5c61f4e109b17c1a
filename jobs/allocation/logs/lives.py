"""Lives of consumers: start, stop, and queues owned in between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from jobs.allocation.logs.events import BEGINS, CHANGES, Event, OwnedQueue


@dataclass(frozen=True)
class Life:
    """A consumer's life.

    Attributes:
        client_id: its client.
        lived_from_ms: its start; 00:00 if it owned a queue then; None = before the first line.
        stopped_ms: its stop; None = not logged.
        changes: its lines of `CHANGES` in order, starting with the queues that it owned at 00:00.
        is_stopping: it began to stop, and its process may have ended before it logged the stop.
    """

    client_id: str
    lived_from_ms: int | None
    stopped_ms: int | None
    changes: tuple[Event, ...]
    is_stopping: bool = False


def numbered(events: Sequence[Event], opening: Sequence[Event]) -> list[tuple[int, int]]:
    """Per line: number of the life (0 = started before the first line), and consumers running after the line.

    Args:
        events: of one group in one incarnation of a process.
        opening: what its clients owned before.

    >>> numbered([Event("STOPPED"), Event("STARTED"), Event("STARTED"), Event("STOPPED")], [])
    [(0, 0), (1, 1), (1, 2), (1, 1)]
    """
    lives, life = [], 0
    total = len({event.client_id for event in opening})
    lowest = 0
    for event in events:
        begins = event.event in BEGINS
        total += begins - (event.event == "STOPPED")
        # A consumer that ran before the first line may stop without a start: never below zero.
        lowest = min(lowest, total)
        life += begins and total - lowest == 1
        lives.append((life, total - lowest))
    return lives


def are_several(events: Sequence[Event], opening: Sequence[Event]) -> bool:
    """Whether several clients of the group write the log and starts and stops do not separate them.

    Args:
        events: as for `numbered`.
        opening: as for `numbered`.
    """
    clients = defaultdict(set, {0: {event.client_id for event in opening}})
    for event, (life, alive) in zip(events, numbered(events, opening), strict=True):
        if alive > 1:
            return True
        if event.event == "ALLOCATED":
            clients[life].add(event.client_id)
    return any(len(of_life) > 1 for of_life in clients.values())


def lives_of_one(
    events: Sequence[Event], opening: Sequence[Event], created: AbstractSet[str | None], start_ms: int
) -> list[Life]:
    """Lives, one after another, of a group's only consumer in the log; lives with an unknown client are skipped.

    Args:
        events: as for `numbered`.
        opening: as for `numbered`.
        created: clients that the incarnation created.
        start_ms: 00:00.
    """
    of_lives: dict[int, list[Event]] = {0: []} if opening else {}
    for event, (number, _) in zip(events, numbered(events, opening), strict=True):
        of_lives.setdefault(number, []).append(event)
    all_lives = (_life(lines, () if number else opening, created, start_ms) for number, lines in of_lives.items())
    return [life for life in all_lives if life is not None]


def _life(
    lines: Sequence[Event], opening: Sequence[Event], created: AbstractSet[str | None], start_ms: int
) -> Life | None:
    """The client id comes from settings, else results, the owner at 00:00, the client made for it, the only client."""
    names = (
        max((event.said_client_id for event in lines if event.said_client_id is not None), default=None),
        next((event.client_id for event in lines if event.event == "ALLOCATED"), None),
        next((event.client_id for event in opening), None),
        max((event.made_client_id for event in lines if event.made_client_id is not None), default=None),
        next(iter(created)) if len(created) == 1 else None,
    )
    client_id = next((name for name in names if name is not None), None)
    if client_id is None:
        return None
    begun = [event.at_ms for event in lines if event.event in BEGINS]
    stops = [event.at_ms for event in lines if event.event == "STOPPED"]
    return Life(
        client_id,
        lived_from_ms=begun[0] if begun else start_ms if opening else None,
        stopped_ms=stops[-1] if stops else None,
        changes=(*opening, *(event for event in lines if event.event in CHANGES)),
        is_stopping=any(event.event == "UNREGISTERED" for event in lines),
    )


def owned_times(changes: Sequence[Event], until_ms: int) -> Iterator[tuple[OwnedQueue, int, int]]:
    """Queue, start and end (exclusive) of each interval of ownership; it may be empty or end before it starts.

    Args:
        changes: changes in one life.
        until_ms: when the life ended.

    >>> added, removed = (Event(event, 5, "G", "T", (("a", 0),)) for event in ("ADDED", "REMOVED"))
    >>> [(*queue, start, end) for queue, start, end in owned_times([removed, added, added], 9)]
    [('T', 'a', 0, False, 5, 9)]
    """
    since: dict[OwnedQueue, int] = {}
    for change in changes:
        if change.event == "ADDED":
            since.setdefault(change.queue, change.at_ms)
        elif (start_ms := since.pop(change.queue, None)) is not None:
            yield change.queue, start_ms, min(change.at_ms, until_ms)
    yield from ((queue, start_ms, until_ms) for queue, start_ms in since.items())
