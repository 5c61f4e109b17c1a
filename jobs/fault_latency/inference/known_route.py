"""What a client may have known of one topic's route at a time, in plain Python: `known_routes` for a walk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import Row

from jobs.fault_latency.producers.known_routes import ROUTE_AHEAD_MS, ROUTE_LAG_MS


class Span(NamedTuple):
    """A broker, and from when until when an answer named it: as `known_routes_of` has its spans."""

    broker_name: str
    from_ms: int
    until_ms: int
    queues: int = 0


@dataclass(frozen=True)
class KnownRoute:
    """One topic's routes over a day: a row of `known_routes_of`.

    Attributes:
        known_from_ms: first capture of the day.
        queued: when each broker had a write queue, with or without permission.
        permitted: when each broker had a write queue and the permission.
        writable: when each broker had a write queue, the permission and a master.
        queue_counts: writable queues of the topic over time; `broker_name` is empty.
        broker_counts: the same of each broker.
    """

    known_from_ms: int
    queued: tuple[Span, ...]
    permitted: tuple[Span, ...]
    writable: tuple[Span, ...]
    queue_counts: tuple[Span, ...]
    broker_counts: tuple[Span, ...]


Routes = Mapping[tuple[str, str], KnownRoute]
"""By cluster and topic."""


def routes_by_topic(rows: Iterable[Row]) -> dict[tuple[str, str], KnownRoute]:
    """The rows of `known_routes_of` by cluster and topic."""
    return {
        (row["cluster"], row["topic"]): KnownRoute(
            row["known_from_ms"],
            tuple(Span(*each) for each in row["queued"]),
            tuple(Span(*each) for each in row["permitted"]),
            tuple(Span(*each) for each in row["writable"]),
            tuple(Span("", *each) for each in row["queue_counts"]),
            tuple(Span(*each) for each in row["broker_counts"]),
        )
        for row in rows
    }


def named_throughout(spans: Sequence[Span], since_ms: int, until_ms: int) -> set[str]:
    """The brokers that every answer valid in [`since_ms`, `until_ms`] named.

    >>> spans = [Span("a", 100, 200), Span("b", 0, 1_000)]
    >>> [sorted(named_throughout(spans, *each)) for each in ((100, 199), (99, 150), (150, 200), (0, 1_000))]
    [['a', 'b'], ['b'], ['b'], []]
    """
    return {span.broker_name for span in spans if span.from_ms <= since_ms and span.until_ms > until_ms}


def named_at_some_time(spans: Sequence[Span], since_ms: int, until_ms: int) -> set[str]:
    """The brokers that any answer valid in [`since_ms`, `until_ms`] named.

    >>> spans = [Span("a", 100, 200), Span("b", 0, 1_000)]
    >>> [sorted(named_at_some_time(spans, *each)) for each in ((50, 99), (50, 100), (199, 300), (200, 300))]
    [['b'], ['a', 'b'], ['a', 'b'], ['b']]
    """
    return {span.broker_name for span in spans if _is_valid(span, since_ms, until_ms)}


def is_named_since_use(spans: Sequence[Span], broker_name: str, used_at_ms: int | None, until_ms: int) -> bool:
    """Whether a client that chose the broker at `used_at_ms` knew it up to `until_ms`; false when it never chose it.

    Its answer named the broker then, and so did each later one that it may have got: no older one was in use.

    >>> spans = [Span("a", 0, 90_000), Span("a", 100_000, 200_000)]
    >>> [is_named_since_use(spans, "a", used_at, 150_000) for used_at in (129_999, 130_000, None)]
    [False, True, False]
    """
    if used_at_ms is None:
        return False
    own = [span for span in spans if span.broker_name == broker_name]
    lasting = (span for span in own if span.from_ms <= used_at_ms + ROUTE_AHEAD_MS and span.until_ms > until_ms)
    return any(
        not any(other.until_ms <= span.from_ms and other.until_ms > used_at_ms - ROUTE_LAG_MS for other in own)
        for span in lasting
    )


def fewest_queues(broker_counts: Sequence[Span], broker_name: str, since_ms: int, until_ms: int) -> int | None:
    """The fewest writable queues that any answer valid in [`since_ms`, `until_ms`] and naming the broker gave it.

    >>> counts = [Span("a", 0, 100, 4), Span("a", 100, 200, 8), Span("b", 0, 200, 2)]
    >>> [fewest_queues(counts, "a", *each) for each in ((99, 150), (100, 150), (200, 300))]
    [4, 8, None]
    """
    own = (each for each in broker_counts if each.broker_name == broker_name and _is_valid(each, since_ms, until_ms))
    return min((each.queues for each in own), default=None)


def most_queues(queue_counts: Sequence[Span], since_ms: int, until_ms: int) -> int | None:
    """The most writable queues that any answer valid in [`since_ms`, `until_ms`] gave the topic.

    >>> counts = [Span("", 0, 100, 4), Span("", 100, 200, 8)]
    >>> [most_queues(counts, *each) for each in ((50, 99), (50, 100), (200, 300))]
    [4, 8, None]
    """
    return max((each.queues for each in queue_counts if _is_valid(each, since_ms, until_ms)), default=None)


def _is_valid(span: Span, since_ms: int, until_ms: int) -> bool:
    return span.from_ms <= until_ms and span.until_ms > since_ms
