"""Which queues a client may have known when it chose, to the millisecond, and when a move is a retry."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.fault_latency.effects.key_moves import key_moves

SENDS = (
    "cluster string, topic string, order_key string, client_id string, producer_group string, process_id string,"
    " invoke_id bigint, attempt int, broker_name string, queue_id int, outcome string, started_at_ms bigint,"
    " ended_at_ms bigint, latency_ms bigint, version_number int, not_replayed string, seq bigint, row_hash bigint"
)
QUEUES = (
    "cluster string, topic string, spans array<struct<from_ms: bigint, until_ms: bigint,"
    " queues: array<struct<broker_name: string, queue_id: int>>>>"
)
T = 1_000_000
KEY = "order-35"
"""Its hash leads to index 1 of 4 queues, and 5 of 6."""


def sent(queue_id: int, chosen_at_ms: int, **other: Any) -> dict[str, Any]:
    """A send of p1 that took 7 ms."""
    row = {
        "cluster": "c", "topic": "t", "order_key": KEY, "client_id": "p1", "producer_group": "g", "process_id": None,
        "invoke_id": None, "attempt": 1, "broker_name": "a", "queue_id": queue_id, "outcome": "SEND_OK",
        "started_at_ms": chosen_at_ms, "ended_at_ms": chosen_at_ms + 7, "latency_ms": 7, "version_number": 50303,
        "not_replayed": None, "seq": None, "row_hash": 0,
    }  # fmt: skip
    return row | other


def send_of(invoke_id: int, attempt: int, queue_id: int, at_ms: int, **other: Any) -> dict[str, Any]:
    return sent(queue_id, at_ms, invoke_id=invoke_id, attempt=attempt, **other)


Found = list[tuple[str, bool | None, bool | None, int | None, int | None]]
"""Cause, whether the hash leads to the queue before and now, how many queues there were before and now."""
LONG_BEFORE, LONG_AFTER = T - 600_000, T + 600_000
CASES: dict[str, tuple[list[dict[str, Any]], Found]] = {
    # Until T the topic has four queues, then six.
    "15 s before its capture a route may be known": (
        [sent(1, LONG_BEFORE), sent(5, T - 15_000)], [("QUEUES_CHANGED", True, True, 4, 6)],
    ),
    "a millisecond earlier it is not": (
        [sent(1, LONG_BEFORE), sent(5, T - 15_001)], [("NOT_BY_HASH", True, False, 4, 4)],
    ),
    "for 40 s after it the one before may be in use": (
        [sent(5, LONG_AFTER - 1_200_000), sent(1, T + 39_999)], [("QUEUES_CHANGED", False, True, 4, 6)],
    ),
    "a millisecond later it is not": (
        [sent(5, T + 40_000), sent(1, LONG_AFTER)], [("NOT_BY_HASH", True, False, 6, 6)],
    ),
    "but then it was, of the one before": (
        [sent(5, T + 39_999), sent(1, LONG_AFTER)], [("QUEUES_CHANGED", True, False, 4, 6)],
    ),
    "without a start the choice was its latency before the end": (
        [sent(1, LONG_BEFORE), sent(5, T - 15_000, started_at_ms=None)], [("QUEUES_CHANGED", True, True, 4, 6)],
    ),
    "another attempt of one send": (
        [send_of(1, 1, 1, LONG_BEFORE), send_of(1, 2, 2, LONG_BEFORE + 9)], [("RETRIED", True, False, 4, 4)],
    ),
    "its attempts in the wrong order": (
        [send_of(1, 2, 1, LONG_BEFORE), send_of(1, 1, 2, LONG_BEFORE + 9)], [("NOT_BY_HASH", True, False, 4, 4)],
    ),
    "another producer's send of the same number": (
        [send_of(1, 1, 1, LONG_BEFORE), send_of(1, 2, 2, LONG_BEFORE + 9, client_id="p2")],
        [("OTHER_PRODUCER", True, False, 4, 4)],
    ),
    "another group's": (
        [send_of(1, 1, 1, LONG_BEFORE), send_of(1, 2, 2, LONG_BEFORE + 9, producer_group="h")],
        [("OTHER_PRODUCER", True, False, 4, 4)],
    ),
    "another process's": (
        [send_of(1, 1, 1, LONG_BEFORE), send_of(1, 2, 2, LONG_BEFORE + 9, process_id="1")],
        [("NOT_BY_HASH", True, False, 4, 4)],
    ),
    "back to where the hash leads": (
        [sent(3, LONG_BEFORE), sent(1, LONG_BEFORE + 9)], [("BACK_BY_HASH", False, True, 4, 4)],
    ),
    "a client of another language has selectors of its own": (
        [sent(1, LONG_BEFORE), sent(3, LONG_BEFORE + 9, not_replayed="NOT_A_JAVA_CLIENT")],
        [("UNKNOWN", True, None, 4, 4)],
    ),
    "one whose version is not known has Java's": (
        [sent(1, LONG_BEFORE), sent(3, LONG_BEFORE + 9, not_replayed="CLIENT_VERSION_UNKNOWN", version_number=None)],
        [("NOT_BY_HASH", True, False, 4, 4)],
    ),
    "no route": (
        [sent(1, LONG_BEFORE, topic="other"), sent(3, LONG_BEFORE + 9, topic="other")],
        [("UNKNOWN", None, None, None, None)],
    ),
    "the same queue of another broker": (
        [sent(1, LONG_BEFORE), sent(1, LONG_BEFORE + 9, broker_name="b")], [("NOT_BY_HASH", True, False, 4, 4)],
    ),
    "of one millisecond the lower seq first, and none last": (
        [sent(1, LONG_BEFORE), sent(1, LONG_BEFORE, seq=8), sent(3, LONG_BEFORE, seq=7)],
        [("BACK_BY_HASH", False, True, 4, 4)],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def moved(spark: SparkSession) -> dict[str, Found]:
    """Each case is a cluster of its own."""
    sends = [
        tuple((line | {"cluster": case, "row_hash": place}).values())
        for case, (lines, _) in CASES.items()
        for place, line in enumerate(lines)
    ]
    four, six = ([("a", number) for number in range(count)] for count in (4, 6))
    spans = [(0, T, four), (T, 10 * T, six)]
    found = key_moves(
        spark.createDataFrame(sends, SENDS), spark.createDataFrame([(case, "t", spans) for case in CASES], QUEUES)
    )
    told: dict[str, Found] = {case: [] for case in CASES}
    for row in found.orderBy("moved_at_ms", "row_hash").collect():
        told[row["cluster"]].append(
            (row["cause"], row["by_hash_before"], row["by_hash"], row["queues_before"], row["queues"])
        )
    return told


@pytest.mark.parametrize("case", CASES)
def test_a_move(moved: dict[str, Found], case: str) -> None:
    assert moved[case] == CASES[case][1]
