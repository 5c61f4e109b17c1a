"""Which brokers a topic's route named, and what a client may have known of it: both sides of each edge."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.producers.known_routes import (
    hosts_at_some_time,
    hosts_throughout,
    known_routes_of,
)
from tests.given.rules import assert_rule
from udfs.fault_window import FAR_MS

SPANS = "spans array<struct<broker_name: string, from_ms: bigint, until_ms: bigint>>"
OF_A = [("a", 100, 200), ("b", 0, 1_000)]


def test_brokers_of_every_answer(spark: SparkSession) -> None:
    rows = [
        (OF_A, 100, 199, ["a", "b"]),
        (OF_A, 99, 150, ["b"]),
        (OF_A, 150, 200, ["b"]),
        (OF_A, 0, 1_000, []),
        ([], 0, 1, []),
        (None, 0, 1, None),
    ]
    schema = f"{SPANS}, since_ms bigint, until_ms bigint"
    assert_rule(
        spark, hosts_throughout(F.col("spans"), F.col("since_ms"), F.col("until_ms")), schema, rows, "array<string>"
    )


def test_brokers_of_any_answer(spark: SparkSession) -> None:
    twice = [("a", 100, 200), ("a", 300, 400)]
    rows = [
        (OF_A, 50, 99, ["b"]),
        (OF_A, 50, 100, ["a", "b"]),
        (OF_A, 199, 300, ["a", "b"]),
        (OF_A, 200, 300, ["b"]),
        (twice, 150, 350, ["a"]),
        (None, 0, 1, None),
    ]
    rule = hosts_at_some_time(F.col("spans"), F.col("since_ms"), F.col("until_ms"))
    assert_rule(spark, rule, f"{SPANS}, since_ms bigint, until_ms bigint", rows, "array<string>")


ROUTES = (
    "cluster string, topic string, start_ms bigint, end_ms bigint, broker_name string, perm int,"
    " read_queue_nums int, write_queue_nums int, has_master boolean"
)


@pytest.fixture(scope="module")
def hosts(spark: SparkSession) -> dict[str, Any]:
    routes = [
        ("c", "t", 100, 200, "a", 6, 4, 4, True),
        ("c", "t", 100, 200, "b", 6, 4, 2, True),
        ("c", "t", 200, 300, "a", 6, 4, 8, True),
        ("c", "t", 200, 300, "b", 4, 4, 2, True),  # no permission to write
        ("c", "t", 300, 400, "a", 6, 4, 4, True),
        ("c", "t", 300, 400, "b", 6, 4, 2, True),
        ("c", "t", 300, 400, "n", 6, 4, 0, True),  # no queue to write to
        ("c", "t", 200, 300, "s", 6, 4, 2, False),  # no master
        ("c", "t", 300, 400, "s", 6, 4, 2, True),
    ]
    (row,) = known_routes_of(spark.createDataFrame(routes, ROUTES)).collect()
    return row.asDict(recursive=True)


def test_the_first_answer_counts_from_the_beginning_and_the_last_without_end(hosts: dict[str, Any]) -> None:
    names = ("writable", "permitted", "queued")
    spans = {name: sorted(tuple(each.values()) for each in hosts[name]) for name in names}
    assert spans == {
        "writable": [("a", 0, FAR_MS), ("b", 0, 200), ("b", 300, FAR_MS), ("s", 300, FAR_MS)],
        "permitted": [("a", 0, FAR_MS), ("b", 0, 200), ("b", 300, FAR_MS), ("s", 200, FAR_MS)],
        "queued": [("a", 0, FAR_MS), ("b", 0, FAR_MS), ("s", 200, FAR_MS)],
    }
