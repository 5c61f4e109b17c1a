"""Lines of a client log on ownership, as the walk reads them, in ms of a day that begins at 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jobs.allocation.logs.events import Event
from jobs.allocation.logs.process_day import process_day

END_MS = 86_400_000


def started(at_ms: int, group: str = "G") -> Event:
    return Event("STARTED", at_ms, group)


def ready(at_ms: int, group: str = "G") -> Event:
    """As a lite pull consumer says it."""
    return Event("READY", at_ms, group)


def stopped(at_ms: int, group: str = "G") -> Event:
    return Event("STOPPED", at_ms, group)


def client_made(at_ms: int, client: str, instance: int = 0) -> Event:
    return Event("INSTANCE", at_ms, client_id=client, instance=instance)


def client_stopped(at_ms: int, client: str) -> Event:
    return Event("INSTANCE_STOPPED", at_ms, client_id=client)


def added(at_ms: int, queue: int = 0, group: str = "G", topic: str = "T") -> Event:
    return Event("ADDED", at_ms, group, topic, (("a", queue),))


def removed(at_ms: int, queue: int = 0, group: str = "G", topic: str = "T") -> Event:
    return Event("REMOVED", at_ms, group, topic, (("a", queue),))


def result(at_ms: int, client: str, *queues: int, group: str = "G", topic: str = "T") -> Event:
    return Event("ALLOCATED", at_ms, group, topic, tuple(("a", queue) for queue in queues), client_id=client)


def owned_at_midnight(client: str, queue: int = 0, group: str = "G") -> Event:
    return Event("ADDED", 0, group, "T", (("a", queue),), client_id=client)


def walked(
    lines: Sequence[Event],
    *,
    opening: Sequence[Event] = (),
    idle: Iterable[int] = (),
    named: Mapping[str, int] | None = None,
) -> list[dict[str, Any]]:
    """The day of a process that wrote these lines, others at the times in `idle`, and last names clients in `named`."""
    times_ms = sorted({*(line.at_ms for line in lines), *idle, *(named or {}).values()})
    return list(process_day(lines, times_ms, opening, named or {}, 0, END_MS))


def of_kind(day: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in day if row["kind"] == kind]


def lifetimes(day: Iterable[dict[str, Any]]) -> list[tuple[str, int | None, int, bool]]:
    """Client, start, end and whether it ended, of each."""
    return [(row["client_id"], row["start_ms"], row["end_ms"], row["ended"]) for row in of_kind(day, "LIFETIME")]


def holdings(day: Iterable[dict[str, Any]]) -> list[tuple[str, int, int, int]]:
    """Client, queue, start and end of each, by client and time."""
    names = ("client_id", "queue_id", "start_ms", "end_ms")
    return sorted(tuple(row[name] for name in names) for row in of_kind(day, "HOLDING"))
