"""Routes as sites have them: numbers of order topics that clients cannot read, name servers that disagree; no lake."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.allocation.topic_queues import carried_routes, topic_routes
from jobs.sources.publish_queues import publish_queues
from jobs.sources.topic_route import order_numbers, route_answers, unreadable_order
from jobs.spark.no_rows import no_rows
from jobs.tables import TOPIC_QUEUES
from jobs.tables.day import Day

DAY = Day(dt.date(2026, 11, 21), "C")
SECOND, STALE_MS = 1_000, 300_000
ORDER: dict[str | None, tuple[str | None, list[tuple[str, int | None]]]] = {
    # orderTopicConf: broker at which clients fail to read it (MQClientInstance, 4.0.0 to 5.3.3), numbers that they read
    None: (None, []),
    "": (None, []),
    "a:4": (None, [("a", 4)]),
    "a:4;b:2;": (None, [("a", 4), ("b", 2)]),  # Java's split leaves out what is empty at the end
    "a:4:9;b:+2": (None, [("a", 4), ("b", 2)]),
    "a:-1": (None, [("a", -1)]),
    "a:2147483647;b:1": (None, [("a", None), ("b", 1)]),  # read, and more than a client could list
    ";": (None, []),
    "a:8;b;c:x": ("b", [("a", 8), ("b", None), ("c", None)]),
    "a:8;c:x": ("c", [("a", 8), ("c", None)]),
    "a:": ("a", [("a", None)]),
    "a: 4": ("a", [("a", None)]),
    "a:4.0": ("a", [("a", None)]),
    "a:99999999999": ("a", [("a", None)]),
    "a:4;;b:4": ("", [("a", 4), ("", None), ("b", 4)]),
}
SEEN: dict[str, tuple[list[tuple[float, str]], set[int]]] = {
    # topic: seconds and which of two routes was the answer then; when name servers are known to disagree
    "both, each round": ([(0, "A"), (0.04, "B"), (30, "A"), (30.04, "B")], {0, 30}),
    "both, in any order": ([(0, "A"), (0.04, "B"), (30, "B"), (30.04, "A")], {0, 30}),
    "in the same millisecond": ([(0, "A"), (0, "B"), (30, "A"), (30, "B")], {0, 30}),
    "in turn": ([(0, "A"), (30, "B"), (60, "A"), (90, "B")], {0, 30, 60, 90}),
    "two that agree": ([(0, "A"), (0.04, "A"), (30, "B"), (30.04, "B")], set()),
    "a broker restarts": ([(0, "A"), (30, "B"), (60, "A"), (90, "A")], set()),
    "a broker is gone": ([(0, "A"), (30, "A"), (60, "B"), (90, "B")], set()),
    "rarely": ([(0, "A"), (400, "B"), (800, "A"), (1200, "B")], set()),
    "asked all the time": ([(n * 0.5, "A" if n < 4 else "B") for n in range(8)], set()),
}


def body(*brokers: str, conf: str | None = None) -> str:
    numbers = {"perm": 6, "readQueueNums": 1, "writeQueueNums": 1}
    route = {
        "brokerDatas": [{"brokerName": each, "brokerAddrs": {"0": f"{each}:1"}} for each in brokers],
        "queueDatas": [{"brokerName": each, **numbers} for each in brokers],
    }
    return json.dumps(route if conf is None else {**route, "orderTopicConf": conf})


def test_numbers_of_an_order_topic_are_read_as_java_reads_them(spark: SparkSession) -> None:
    lines = [(0, conf, 0, body("a", conf=conf)) for conf in ORDER]
    frame = spark.createDataFrame(lines, "captured_at_ms bigint, topic string, code int, body string")
    route = F.col("route")
    read = route_answers(frame).select(
        "topic", unreadable_order(route).alias("broker"), order_numbers(route).alias("of")
    )
    found = {row["topic"]: (row["broker"], [tuple(each) for each in row["of"]]) for row in read.collect()}
    assert found == ORDER


def test_name_servers_disagree_where_answers_of_a_round_or_in_turn_do(spark: SparkSession) -> None:
    bodies = {"A": body("a", "b"), "B": body("a", "c")}
    lines = [
        (DAY.start_ms + int(at_s * SECOND), topic, 0, bodies[which])
        for topic, (answers, _) in SEEN.items()
        for at_s, which in answers
    ]
    frame = spark.createDataFrame(lines, "captured_at_ms bigint, topic string, code int, body string")
    nothing = carried_routes(no_rows(spark, TOPIC_QUEUES.schema))
    rows = topic_routes(route_answers(frame), DAY, nothing, STALE_MS).collect()
    for topic, (answers, disagree_s) in SEEN.items():
        spans = [row for row in rows if row["topic"] == topic and row["trouble"] == "NAME_SERVERS_DISAGREE"]
        unknown = {
            at_s
            for at_s, _ in answers
            if any(row["start_ms"] <= DAY.start_ms + at_s * SECOND < row["end_ms"] for row in spans)
        }
        assert {int(at_s) for at_s in unknown} == disagree_s, topic
        assert all(row["route"] is None for row in spans)


def test_queues_to_send_to_stay_where_their_numbers_cannot_be_read(spark: SparkSession) -> None:
    """Case 14: from 11:00 on the twelve queues of before count, of which four are of a broker that is gone."""
    case = Path(__file__).parent / "14-order-conf-dead-broker-and-typo" / "routes.jsonl.gz"
    lines = [json.loads(line) for line in gzip.decompress(case.read_bytes()).splitlines()]
    frame = spark.createDataFrame(lines, "captured_at_ms bigint, topic string, code int, body string")
    (row,) = publish_queues(route_answers(frame), DAY, only_own=False).collect()
    (span,) = row["spans"]
    brokers = [queue["broker_name"] for queue in span["queues"]]
    assert brokers == ["broker-a"] * 4 + ["broker-b"] * 4 + ["broker-c"] * 4
