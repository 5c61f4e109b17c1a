"""Lives of several clients of one group that share a log; only their results contain the client id.

`RebalanceImpl.rebalanceByTopic` (4.3 to 5.5) logs a client's result whenever it changed the client's queues, after
the lines of the changes, which have no client id. So a change belongs to the client whose next result shows it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from jobs.allocation.logs.events import CHANGES, Event
from jobs.allocation.logs.lives import Life
from jobs.allocation.logs.whose_changes import whose_changes
from jobs.intervals.of_lists import grouped
from udfs.strategy import Queue

_SAID_AT_ONCE_MS = 1_000
_STOPS_MS = 5_000
_Placed = tuple[int, Event]
"""A line and its index in the incarnation."""


def lives_of_several(
    lines: Sequence[_Placed], of_clients: Sequence[_Placed], opening: Sequence[Event], *, ran_before: bool
) -> list[Life]:
    """Lives of each client of a group; a client that stopped and came back has several.

    Returns no lives if a consumer stopped and no line says which client (another group still uses it), if results
    name a client that the process did not create (two processes write one file), or if queues are taken without a
    result (the group broadcasts).

    Args:
        lines: lines of the group in one incarnation of a process.
        of_clients: its INSTANCE and INSTANCE_STOPPED lines, of all groups.
        opening: queues that clients of the group owned before.
        ran_before: whether it started before the day's first line, so that clients may be older.
    """
    begun = [
        (place, Event("BEGUN", event.at_ms, client_id=event.made_client_id))
        for place, event in lines
        if event.made_client_id is not None
    ]
    results = [event.client_id for _, event in lines if event.event == "ALLOCATED"]
    clients = {*results, *(event.client_id for event in opening), *(event.client_id for _, event in begun)}
    stopped = [
        (place, Event("STOPPED", event.at_ms, client_id=event.client_id))
        for place, event in of_clients
        if event.event == "INSTANCE_STOPPED" and event.client_id in clients
    ]
    made = {event.client_id for _, event in of_clients if event.event == "INSTANCE"}
    is_of_another = not ran_before and not clients <= made
    is_silent = not results and any(event.event == "ADDED" for _, event in lines)
    if is_of_another or is_silent or not _are_paired(lines, stopped):
        return []
    turns = [*begun, *stopped]
    in_order = (event for _, event in sorted([*_changes(lines, turns, opening), *turns], key=_place))
    known, owned_before = (grouped(of, lambda event: event.client_id) for of in (in_order, opening))
    is_stopping = _is_stopping(lines)
    return [
        life
        for name in {**owned_before, **known}
        if name is not None
        for life in _lives(name, known.get(name, []), owned_before.get(name, []), is_stopping=is_stopping)
    ]


def _is_stopping(lines: Sequence[_Placed]) -> bool:
    """Whether the group's last lines are those of consumers that take leave of their brokers."""
    left_ms = max((event.at_ms for _, event in lines if event.event == "UNREGISTERED"), default=None)
    return left_ms is not None and lines[-1][1].at_ms - left_ms <= _STOPS_MS


def _place(line: _Placed) -> int:
    return line[0]


def _are_paired(lines: Sequence[_Placed], stopped: Sequence[_Placed]) -> bool:
    """Whether every stop of a consumer is also the stop of a client.

    One thread logs both; a client that stops at another time was still used by another group.
    """
    ends_ms = [event.at_ms for _, event in lines if event.event == "STOPPED"]
    return len(ends_ms) == len(stopped) and all(
        0 <= end_ms - event.at_ms <= _SAID_AT_ONCE_MS for end_ms, (_, event) in zip(ends_ms, stopped, strict=True)
    )


def _changes(lines: Sequence[_Placed], turns: Sequence[_Placed], opening: Sequence[Event]) -> Iterator[_Placed]:
    """Lines of `CHANGES` with a known client, with that client."""
    telling = (line for line in lines if line[1].event in {"ALLOCATED", *CHANGES})
    for topic, of_topic in grouped(telling, lambda line: line[1].topic).items():
        owned_before: defaultdict[str, list[Queue]] = defaultdict(list)
        for event in opening:
            if event.topic == topic and event.client_id is not None:
                owned_before[event.client_id].extend(event.queues)
        in_order = sorted([*of_topic, *turns], key=_place)
        clients = whose_changes([event for _, event in in_order], owned_before)
        for (place, event), client_id in zip(in_order, clients, strict=True):
            if client_id is not None and event.event in CHANGES:
                yield place, replace(event, client_id=client_id)


def _lives(client_id: str, events: Sequence[Event], opening: Sequence[Event], *, is_stopping: bool) -> Iterator[Life]:
    """Lives of one client, split at STOPPED; lives about which nothing is known are skipped."""
    until = [place + 1 for place, event in enumerate(events) if event.event == "STOPPED"]
    for begin, end in zip([0, *until], [*until, len(events)], strict=True):
        of_life, before = events[begin:end], () if begin else opening
        if of_life or before:
            starts = (*before, *(event for event in of_life if event.event == "BEGUN"))
            yield Life(
                client_id,
                lived_from_ms=min((event.at_ms for event in starts), default=None),
                stopped_ms=max((event.at_ms for event in of_life if event.event == "STOPPED"), default=None),
                changes=(*before, *(event for event in of_life if event.event in CHANGES)),
                is_stopping=is_stopping and end == len(events),
            )
