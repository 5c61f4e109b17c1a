"""A producer's day in one row, per state of its switch."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from jobs.fault_latency.effects.producer_days import producer_days

PRODUCER = "cluster string, client_id string, producer_group string, enforced boolean"
SENT = (
    f"{PRODUCER}, switch_assumed boolean, version string, profile string, policy string, not_replayed string,"
    " call_timeout_ms bigint, sends bigint, failures bigint, last_ended_ms bigint"
)
HELD = f"{PRODUCER}, start_ms bigint, end_ms bigint, counted_until_ms bigint, evidence string"
CHOICES = (
    "cluster string, client_id string, producer_group string, process string, enforced boolean, by_caller boolean,"
    " attempt int, is_surely_isolated boolean, available int"
)
OWN = ("c", "p", "g")


def _choice(**other: Any) -> tuple[Any, ...]:
    row = {
        "cluster": "c", "client_id": "p", "producer_group": "g", "process": "A", "enforced": True, "by_caller": False,
        "attempt": 1, "is_surely_isolated": True, "available": 1,
    }  # fmt: skip
    return tuple((row | other).values())


def test_a_day_of_a_producer(spark: SparkSession) -> None:
    sent = [
        (*OWN, True, False, "5.3.3", "P5", "P5", None, None, 10, 1, 500),
        (*OWN, True, True, "5.1.4", "P4", "P4", None, 3_000, 5, 2, 900),  # the last to send tells the rules
        (*OWN, True, False, "4.9.8", "P2", "P2", None, None, 1, 0, 100),
        (*OWN, False, False, "5.3.3", "P5", "P5", None, None, 7, 0, 50),
        ("c", "go", "g", False, True, None, None, None, "NOT_A_JAVA_CLIENT", None, 3, 3, 50),
    ]
    held = [
        (*OWN, True, 0, 500, 100, "LOGGED"),
        (*OWN, True, 200, 201, 201, "INFERRED_RETRY_TEXT"),
        (*OWN, True, 300, 300, 300, "INFERRED_RETRY_TEXT"),  # without length: only another order of ties holds it
        (*OWN, False, 0, 1_000, 1_000, "LOGGED"),
    ]
    choices = [
        _choice(),
        _choice(process="B", available=2),
        _choice(attempt=2),
        _choice(by_caller=True),
        _choice(enforced=False),
        _choice(is_surely_isolated=False, available=None),
        _choice(available=0),
        _choice(attempt=None),
    ]
    found = producer_days(
        spark.createDataFrame(sent, SENT), spark.createDataFrame(held, HELD), spark.createDataFrame(choices, CHOICES)
    )
    names = (
        "client_version", "profile", "policy", "not_replayed", "call_timeout_ms", "switch_assumed", "sends", "failures",
        "isolations", "isolated_ms", "inferred_isolations", "contradictions",
    )  # fmt: skip
    assert {(row["client_id"], row["enforced"]): tuple(row[name] for name in names) for row in found.collect()} == {
        ("p", True): ("5.1.4", "P4", "P4", None, 3_000, True, 16, 3, 2, 101, 1, 2),
        ("p", False): ("5.3.3", "P5", "P5", None, None, False, 7, 0, 1, 1_000, 0, 0),
        ("go", False): (None, None, None, "NOT_A_JAVA_CLIENT", None, True, 3, 3, 0, 0, 0, 0),
    }
