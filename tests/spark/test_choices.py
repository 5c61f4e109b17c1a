"""What a producer knew when it chose a broker: what stood, whether surely, and of which brokers it could choose."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from jobs.fault_latency.effects.choices import choices
from jobs.fault_latency.producers.known_routes import known_routes_of

_OWNER = "cluster string, client_id string, producer_group string, process string, enforced boolean"
ATTEMPTS = (
    f"{_OWNER}, profile string, policy string, by_caller boolean, mode string, topic string, attempt int,"
    " invoke_id bigint, broker_name string, outcome string, latency_ms bigint, started_at_ms bigint,"
    " ended_at_ms bigint, row_hash bigint, not_replayed string, version string, result_broker_name string"
)
SENT = "cluster string, topic string, broker_name string"
ISOLATIONS = (
    f"{_OWNER}, broker_name string, start_ms bigint, end_ms bigint, end_earliest_ms bigint, end_latest_ms bigint"
)
ROUTES = (
    "cluster string, topic string, start_ms bigint, end_ms bigint, broker_name string, perm int,"
    " read_queue_nums int, write_queue_nums int, has_master boolean"
)
OWNER = ("c", "p", "g", "A", True)
Found = tuple[list[str], int | None, bool, int | None, int | None]
# Chosen at, broker → isolated brokers of the topic, since, whether surely, available and hosts of the topic. Held are
# a from 110,000 to 140,000 (in some order of ties only to 130,000, in another to 145,000) and z, of another topic.
CASES: dict[tuple[int, str], Found | None] = {
    (109_999, "a"): None,  # nothing stood yet
    (110_000, "a"): ([], None, False, None, None),  # the write and the choice in one millisecond
    (110_001, "a"): (["a"], 110_000, True, 2, 3),
    (120_000, "b"): (["a"], None, False, None, None),
    (129_999, "a"): (["a"], 110_000, True, 2, 3),
    (130_000, "a"): (["a"], 110_000, False, None, None),
    (140_000, "a"): ([], None, False, None, None),
    (145_001, "a"): None,
}


@pytest.mark.parametrize(("topic", "has_routes"), [("t", False), ("t", True), (None, False)])
def test_what_stood_at_a_choice(spark: SparkSession, topic: str | None, *, has_routes: bool) -> None:
    attempts = [
        (
            *OWNER,
            "P5",
            "P5",
            False,
            "SYNC",
            topic,
            1,
            place,
            broker,
            "SEND_OK",
            1,
            at_ms,
            at_ms + 1,
            place,
            None,
            "5.3.3",
            None,
        )
        for place, (at_ms, broker) in enumerate(CASES)
    ]
    isolations = [(*OWNER, "a", 110_000, 140_000, 130_000, 145_000), (*OWNER, "z", 110_000, 140_000, 140_000, 140_000)]
    sent = [("c", topic, broker) for broker in ("a", "b", "d")] + [("c", "u", "z")]
    # The one without a master is not a broker of the topic (`topicRouteData2TopicPublishInfo`).
    hosts = [("c", "t", 0, 1_000_000, broker, 6, 4, 4, broker != "slave") for broker in ("a", "b", "d", "slave")]
    routes = hosts if has_routes else []
    found = choices(
        spark.createDataFrame(attempts, ATTEMPTS),
        spark.createDataFrame(sent, SENT),
        spark.createDataFrame(isolations, ISOLATIONS),
        known_routes_of(spark.createDataFrame(routes, ROUTES)),
    )
    told = {
        (row["chosen_at_ms"], row["broker_name"]): (
            row["isolated_brokers"], row["since_ms"], row["is_surely_isolated"], row["available"], row["hosts"],
        )
        for row in found.collect()
    }  # fmt: skip
    assert told == {choice: known for choice, known in CASES.items() if known is not None}
