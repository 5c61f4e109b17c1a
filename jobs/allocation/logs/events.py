"""One line of a client log about queue ownership; what a client owned at 00:00 is a line of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from udfs.strategy import Queue

BEGINS = ("STARTED", "READY")
"""A consumer starts."""
CHANGES = ("ADDED", "REMOVED", "DROPPED")
"""A consumer takes a queue or gives it up."""
REFUSALS = ("LOCK_FAILED", "OFFSET_UNKNOWN")
"""A consumer could not take a queue."""


class OwnedQueue(NamedTuple):
    """A queue as a consumer owns it; it may be owned both `popped` and pulled."""

    topic: str
    broker_name: str
    queue_id: int
    popped: bool


@dataclass(frozen=True, slots=True)
class Event:
    """A line, as `udfs.client_log` reads it.

    Attributes:
        event: of `udfs.client_log.EVENTS`; of what several clients of one log did also BEGUN (`client_id` does).
        at_ms: when it was written; 00:00 of what was owned then, which is ADDED with its `client_id`.
        consumer_group: None for clients, INSTANCE and INSTANCE_STOPPED, which several groups may use.
        topic: of changes, refusals and results.
        queues: the one of a change or refusal, all of a result (ALLOCATED).
        popped: of a change: whether for POP.
        client_id: of results and clients.
        instance: number of an INSTANCE; 0 is the first of a process.
        said_client_id: client id that the settings give the log.
        made_client_id: of a start: the client made for it; None when it shares one.
    """

    event: str
    at_ms: int = 0
    consumer_group: str | None = None
    topic: str | None = None
    queues: tuple[Queue, ...] = ()
    popped: bool = False
    client_id: str | None = None
    instance: int | None = None
    said_client_id: str | None = None
    made_client_id: str | None = None

    @property
    def queue(self) -> OwnedQueue:
        """Of a change or refusal."""
        return OwnedQueue(self.topic or "", *self.queues[0], self.popped)
