"""The facts of one consumer group on one day: intervals of equal answers, client logs, the state at 00:00."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jobs.allocation.group.observed_clients import ObservedClient
from jobs.kinds import Source

MIDNIGHT_LASTS_MS = 2_000
"""Length of the interval that stands for the state at 00:00; longer than a collector's round, since shorter views are
ignored."""


class RoutedBroker(NamedTuple):
    """A broker in a topic's route, and its number of readable queues."""

    broker_name: str
    readable: int


class ProcessQueue(NamedTuple):
    """A queue that a client works on. `popped`: consumed by POP. `dropped`: given up, but still in its table."""

    topic: str
    broker_name: str
    queue_id: int
    popped: bool
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class MemberList:
    """An interval of equal answers of one broker; one that ended at 00:00 has length zero.

    Attributes:
        broker_name: broker that answered.
        client_ids: sorted, duplicates kept; empty = the broker does not know the group.
        start_ms: start.
        end_ms: end, exclusive.
        last_answer_ms: last capture with these members.
    """

    broker_name: str
    client_ids: tuple[str, ...]
    start_ms: int
    end_ms: int
    last_answer_ms: int


def twins(client_ids: Iterable[str]) -> tuple[str, ...]:
    """Ids of several connections.

    >>> twins(["x", "y", "x"])
    ('x',)
    """
    return tuple(client_id for client_id, count in Counter(client_ids).items() if count > 1)


@dataclass(frozen=True, slots=True)
class Unheard:
    """An interval in which a broker refused to list members, or did not answer; `cause` says which."""

    broker_name: str
    cause: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Route:
    """An interval of equal answers of the name server about a topic.

    Attributes:
        brokers: empty = no such topic, or no queues; None = unknown.
        start_ms: start.
        end_ms: end, exclusive.
        last_answer_ms: last capture with this answer.
        trouble: a `GroupKind` that makes the answer unusable; clients keep their previous route.
        trouble_broker_name: broker that the trouble is about.
    """

    brokers: tuple[RoutedBroker, ...] | None
    start_ms: int
    end_ms: int
    last_answer_ms: int
    trouble: str | None = None
    trouble_broker_name: str | None = None


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that the group consumes.

    Attributes:
        topic: name of the topic.
        from_ms: first connection that subscribes to it; 00:00 if it had owners then.
        until_ms: when the last such connection goes stale, exclusive.
        routes: intervals of the day, by time; empty = no snapshot shows it.
        route_before: brokers at 00:00, from the day before; None = unknown.
    """

    topic: str
    from_ms: int
    until_ms: int
    routes: tuple[Route, ...]
    route_before: tuple[RoutedBroker, ...] | None


@dataclass(frozen=True, slots=True)
class Subscribed:
    """An interval of equal answers of a client: the topics that it subscribes to."""

    client_id: str
    topics: tuple[str | None, ...]
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Answered:
    """An interval of equal answers of a client: its process queues, possibly none."""

    client_id: str
    queues: tuple[ProcessQueue, ...]
    start_ms: int
    end_ms: int
    last_answer_ms: int


@dataclass(frozen=True, slots=True)
class AnswerGap:
    """Median time between two answers of a client; None = it answered once."""

    client_id: str
    gap_ms: int | None


@dataclass(frozen=True, slots=True)
class Languages:
    """First and last connection that shows members of several languages."""

    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class Lifetime:
    """When a client ran, by its log; `lived_from_ms` None = it started before the first line, at an unknown time."""

    client_id: str
    lived_from_ms: int | None
    lived_until_ms: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Holding:
    """An interval in which a client owned a queue, by one source; columns of `queue_ownership`.

    What is known from its log has a `process`, and no `last_answer_ms`.
    """

    start_ms: int
    end_ms: int
    topic: str
    broker_name: str
    queue_id: int
    client_id: str
    popped: bool
    source: str = Source.CLIENT_LOG
    process: str | None = None
    last_answer_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A queue that a client could not take (LOCK_FAILED, OFFSET_UNKNOWN), or gave up to set its offset (DROPPED)."""

    topic: str
    broker_name: str
    queue_id: int
    at_ms: int
    event: str


@dataclass(frozen=True, slots=True)
class Silence:
    """An interval without a line in a client's log."""

    client_id: str
    silent_from_ms: int
    silent_until_ms: int


@dataclass(frozen=True, slots=True)
class OwnerBefore:
    """Owner of a queue at 00:00, and the strategy that assigned it, as published by the day before."""

    topic: str
    view_broker_name: str | None
    broker_name: str
    queue_id: int
    client_id: str | None
    strategy: str | None = None
    strategy_source: str | None = None


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """All facts of one group; `members_before` are lists of the day before, as intervals that end at 00:00."""

    member_lists: Sequence[MemberList] = ()
    unheard: Sequence[Unheard] = ()
    topics: Sequence[Topic] = ()
    connected: Sequence[ObservedClient] = ()
    running: Sequence[ObservedClient] = ()
    logged: Sequence[ObservedClient] = ()
    languages: Sequence[Languages] = ()
    subscribed: Sequence[Subscribed] = ()
    answered: Sequence[Answered] = ()
    answer_gaps: Sequence[AnswerGap] = ()
    lifetimes: Sequence[Lifetime] = ()
    logged_holdings: Sequence[Holding] = ()
    refusals: Sequence[Refusal] = ()
    silences: Sequence[Silence] = ()
    owners_before: Sequence[OwnerBefore] = ()
    members_before: Sequence[MemberList] = ()

    @property
    def listed(self) -> set[str]:
        """Client ids that a broker listed."""
        lists = (*self.member_lists, *self.members_before)
        return {client_id for member_list in lists for client_id in member_list.client_ids}

    @classmethod
    def from_rows(cls, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> GroupFacts:
        """Build from rows by kind, as Arrow returns them.

        >>> rows = [{"client_id": "x", "topics": ["T"], "start_ms": 0, "end_ms": 9}]
        >>> GroupFacts.from_rows({"subscribed": rows}).subscribed
        [Subscribed(client_id='x', topics=('T',), start_ms=0, end_ms=9)]
        """
        return cls(**{kind: [_made(KINDS[kind], row) for row in of_kind] for kind, of_kind in rows.items()})


KINDS = {
    "member_lists": MemberList,
    "unheard": Unheard,
    "topics": Topic,
    "connected": ObservedClient,
    "running": ObservedClient,
    "logged": ObservedClient,
    "languages": Languages,
    "subscribed": Subscribed,
    "answered": Answered,
    "answer_gaps": AnswerGap,
    "lifetimes": Lifetime,
    "logged_holdings": Holding,
    "refusals": Refusal,
    "silences": Silence,
    "owners_before": OwnerBefore,
    "members_before": MemberList,
}
"""Attributes of `GroupFacts`, and the class of their rows."""
_LISTED = {"queues": ProcessQueue, "brokers": RoutedBroker, "route_before": RoutedBroker, "routes": Route}


def _made(kind: type[Any], row: Mapping[str, Any]) -> Any:
    return kind(**{name: _value(name, value) for name, value in row.items()})


def _value(name: str, value: Any) -> Any:
    """The value; lists become tuples, which are hashable."""
    if not isinstance(value, list):
        return value
    of = _LISTED.get(name)
    return tuple(value if of is None else (_made(of, row) for row in value))
