"""Which brokers a topic's route named, and what a client may have known of it, in the walk: both sides of each edge."""

from __future__ import annotations

import pytest
from pyspark.sql import Row

from jobs.fault_latency.inference.known_route import (
    KnownRoute,
    Span,
    fewest_queues,
    is_named_since_use,
    most_queues,
    named_at_some_time,
    named_throughout,
    routes_by_topic,
)
from udfs.fault_window import FAR_MS

OF_A = [Span("a", 100, 200), Span("b", 0, 1_000)]
TWICE = [Span("a", 100, 200), Span("a", 300, 400)]


@pytest.mark.parametrize(
    ("spans", "since_ms", "until_ms", "expected"),
    [
        (OF_A, 100, 199, {"a", "b"}),
        (OF_A, 99, 150, {"b"}),
        (OF_A, 150, 200, {"b"}),
        (OF_A, 0, 1_000, set()),
        ([], 0, 1, set()),
    ],
)
def test_brokers_of_every_answer(spans: list[Span], since_ms: int, until_ms: int, expected: set[str]) -> None:
    assert named_throughout(spans, since_ms, until_ms) == expected


@pytest.mark.parametrize(
    ("spans", "since_ms", "until_ms", "expected"),
    [
        (OF_A, 50, 99, {"b"}),
        (OF_A, 50, 100, {"a", "b"}),
        (OF_A, 199, 300, {"a", "b"}),
        (OF_A, 200, 300, {"b"}),
        (TWICE, 150, 350, {"a"}),
        ([], 0, 1, set()),
    ],
)
def test_brokers_of_any_answer(spans: list[Span], since_ms: int, until_ms: int, expected: set[str]) -> None:
    assert named_at_some_time(spans, since_ms, until_ms) == expected


ONCE = [Span("a", 100_000, 200_000), Span("b", 0, FAR_MS)]
LEFT_BEFORE = [Span("a", 0, 90_000), *ONCE]


@pytest.mark.parametrize(
    ("spans", "used_at_ms", "until_ms", "expected"),
    [
        (ONCE, 85_000, 150_000, True),
        (ONCE, 84_999, 150_000, False),
        (ONCE, 150_000, 199_999, True),
        (ONCE, 150_000, 200_000, False),
        (LEFT_BEFORE, 129_999, 150_000, False),  # what it used may be the answer before it left
        (LEFT_BEFORE, 130_000, 150_000, True),
        ([Span("b", 0, FAR_MS)], 150_000, 160_000, False),
        (ONCE, None, 150_000, False),
    ],
)
def test_a_broker_known_since_it_was_used(
    spans: list[Span],
    used_at_ms: int | None,
    until_ms: int,
    expected: bool,  # noqa: FBT001 (a case of the table above)
) -> None:
    """An answer may be in use from 15 s before its capture, and the one before it until 40 s after it was replaced."""
    assert is_named_since_use(spans, "a", used_at_ms, until_ms) == expected


COUNTS = [Span("a", 0, 100, 4), Span("a", 100, 200, 8), Span("b", 0, 200, 2)]


@pytest.mark.parametrize(
    ("since_ms", "until_ms", "fewest", "most"),
    [(50, 99, 4, 4), (50, 100, 4, 8), (99, 150, 4, 8), (100, 150, 8, 8), (200, 300, None, None)],
)
def test_fewest_and_most_queues(since_ms: int, until_ms: int, fewest: int | None, most: int | None) -> None:
    assert fewest_queues(COUNTS, "a", since_ms, until_ms) == fewest
    assert most_queues(COUNTS, since_ms, until_ms) == most


def test_a_row_is_the_route_of_its_topic() -> None:
    def row(topic: str, known_from_ms: int) -> Row:
        return Row(
            cluster="c",
            topic=topic,
            known_from_ms=known_from_ms,
            queued=[("a", 1, 2), ("b", 3, 4)],
            permitted=[("b", 13, 14)],
            writable=[("a", 5, 6)],
            queue_counts=[(7, 8, 9)],
            broker_counts=[("a", 10, 11, 12)],
        )

    routes = routes_by_topic([row("T", 100), row("U", 200)])
    assert list(routes) == [("c", "T"), ("c", "U")]
    assert routes["c", "U"] == KnownRoute(
        200,
        (Span("a", 1, 2), Span("b", 3, 4)),
        (Span("b", 13, 14),),
        (Span("a", 5, 6),),
        (Span("", 7, 8, 9),),
        (Span("a", 10, 11, 12),),
    )
