"""Who avoided a broker in trouble and for how long, and what the trouble cost: each send once."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Row, SparkSession

from jobs.fault_latency.effects.events import avoidance, cost, events
from tests.spark.test_troubles import ATTEMPTS, GAP_MS, REFUSED, SLOW_MS, attempt

EVENTS = "cluster string, event_id string, brokers array<string>, bad_from_ms bigint, last_bad_ms bigint"
ISOLATIONS = (
    "cluster string, client_id string, producer_group string, broker_name string, enforced boolean,"
    " start_ms bigint, counted_until_ms bigint"
)
CALLS = (
    "cluster string, client_id string, producer_group string, row_hash bigint, broker_names array<string>,"
    " started_ms bigint, ended_ms bigint, failed boolean, retried boolean, slow boolean"
)
S = 1_000


def isolation(client_id: str, broker: str, start_s: float, until_s: float, *, on: bool = True) -> tuple[Any, ...]:
    return ("c", client_id, "g", broker, on, int(start_s * S), int(until_s * S))


def call(number: int, brokers: list[str], from_s: float, to_s: float, how: str) -> tuple[Any, ...]:
    return (
        "c",
        "p",
        "g",
        number,
        brokers,
        int(from_s * S),
        int(to_s * S),
        how == "lost",
        how == "saved",
        how == "slow",
    )


def test_isolations_are_of_the_event_whose_attempts_opened_them(spark: SparkSession) -> None:
    found = spark.createDataFrame([("c", "e", ["a", "b"], 100 * S, 110 * S)], EVENTS)
    rows = [
        isolation("p", "a", 103, 703), isolation("q", "b", 110.9, 121), isolation("q", "b", 105, 106),
        isolation("r", "a", 99, 400),  # before it
        isolation("r", "b", 111.1, 900),  # after it
        isolation("r", "c", 105, 900),  # another broker
        isolation("off", "a", 103, 900, on=False),
        isolation("dead", "a", 103, 103),  # no sign of life after its start
    ]  # fmt: skip
    (row,) = avoidance(found, spark.createDataFrame(rows, ISOLATIONS)).collect()
    assert row == Row(
        cluster="c", event_id="e", avoiding_producers=2, avoided_from_ms=103 * S, avoided_until_ms=703 * S
    )


def test_each_send_is_of_the_event_that_began_first(spark: SparkSession) -> None:
    found = spark.createDataFrame(
        [("c", "first", ["a"], 100 * S, 110 * S), ("c", "second", ["b"], 105 * S, 120 * S)], EVENTS
    )
    rows = [
        call(1, ["a", "b", "a"], 106, 109, "lost"), call(2, ["b", "a"], 111, 112, "saved"), call(3, ["a"], 90, 101, "slow"),
        call(4, ["a"], 111, 112, "lost"),  # after it
        call(5, ["c"], 105, 106, "lost"),  # another broker
    ]  # fmt: skip
    of = {row["event_id"]: row for row in cost(found, spark.createDataFrame(rows, CALLS)).collect()}
    assert {name: (row["lost"], row["saved"], row["slowed"]) for name, row in of.items()} == {
        "first": (1, 0, 1),
        "second": (0, 1, 0),
    }


def test_an_event_needs_a_failure_or_slow_attempts_of_two_producers(spark: SparkSession) -> None:
    rows = [attempt("a", 100, REFUSED), attempt("b", 100, latency_ms=900)]
    rows += [attempt("d", 100, latency_ms=900, client_id=client) for client in ("p", "q")]
    rows += [attempt(broker, 101) for broker in ("a", "b", "d")]
    found = events(
        spark.createDataFrame(rows, ATTEMPTS),
        spark.createDataFrame([isolation("p", "a", 100, 700)], ISOLATIONS),
        spark.createDataFrame([], CALLS),
        SLOW_MS,
        GAP_MS,
        2,
    )
    of = {row["broker_name"]: row for row in found.collect()}
    assert {name: (row["kind"], row["avoiding_producers"], row["lost"]) for name, row in of.items()} == {
        "a": ("REFUSED", 1, 0),
        "d": ("SLOW", 0, 0),
    }
    assert (of["a"]["bad_until_ms"], of["a"]["avoided_after_ms"]) == (101 * S, 599 * S)
    assert of["d"]["avoided_after_ms"] is None
