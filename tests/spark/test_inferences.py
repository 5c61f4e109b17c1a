"""The detector in its smallest case, and silent when one of its conditions is missing; a day that shows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import replay
from jobs.fault_latency.inference.detector_rounds import broker_answers, detector_rounds
from jobs.fault_latency.inference.job import with_inferences
from jobs.fault_latency.producers.attempts import broker_names
from jobs.fault_latency.producers.known_routes import known_routes_of
from jobs.fault_latency.producers.rules import policies
from jobs.fault_latency.producers.senders import Senders
from jobs.fault_latency.producers.sends_per_process import AtWork
from jobs.settings.client_profiles import released_profiles
from tests.given.suspicious_processes import write_to
from udfs.evidence import DETECTOR

POLICIES = policies(released_profiles(), {})
WRITES = {
    "cluster": "string",
    "client_id": "string",
    "producer_group": "string",
    "process": "string",
    "enforced": "boolean",
    "broker_name": "string",
    "at_ms": "bigint",
    "step": "int",
    "thread": "string",
    "current_latency_ms": "bigint",
    "is_failure": "boolean",
    "reachable": "boolean",
    "cause": "string",
    "evidence": "string",
    "middle_topic": "string",
    "middle_after": "string",
    "seq": "bigint",
    "started_at_ms": "bigint",
    "invoke_id": "bigint",
    "attempt": "int",
    "row_hash": "bigint",
    "policy": "string",
    "profile": "string",
    "version": "string",
    "dies_at_ms": "bigint",
    "op": "string",
    "not_available_ms": "bigint",
    "carried_until_ms": "bigint",
    "carried_earliest_ms": "bigint",
    "carried_latest_ms": "bigint",
    "carried_extensions": "int",
}
SENDS = (
    "outcome string, result_broker_name string, broker_name string, started_at_ms bigint, ended_at_ms bigint,"
    " latency_ms bigint, cluster string, broker_addr string, mode string, cause string, error string"
)
SENDERS = (
    "cluster string, client_id string, producer_group string, process string, enforced boolean, policy string,"
    " detector boolean"
)
TOPIC_BROKERS = (
    "cluster string, topic string, start_ms bigint, end_ms bigint, broker_name string, perm int,"
    " read_queue_nums int, write_queue_nums int, has_master boolean"
)
OWNER = ("c", "p1", "g", "#1", True)


def _write(broker: str, at_ms: int, latency_ms: int, not_available_ms: int, **other: object) -> tuple[object, ...]:
    write = dict(zip(WRITES, OWNER, strict=False)) | asdict(write_to(broker, at_ms, latency_ms, not_available_ms))
    return tuple((write | other)[name] for name in WRITES)


def _keep(_: str, frame: DataFrame) -> DataFrame:
    return frame.localCheckpoint()


def _items(spark: SparkSession, *writes: tuple[object, ...]) -> DataFrame:
    schema = ", ".join(f"{name} {kind}" for name, kind in WRITES.items())
    replayed = replay(spark.createDataFrame(list(writes), schema), POLICIES, 1)
    return replayed.withColumn("first_position", replayed["position"])


def _answers(spark: SparkSession, sends: Sequence[tuple[object, ...]]) -> DataFrame:
    """What brokers answered in 100 ms: outcome, broker of the result, broker, start and end of each attempt."""
    rows = [(*send, 100, "c", None, "SYNC", None, None) for send in sends]
    frame = spark.createDataFrame(rows, SENDS)
    return broker_answers(frame, broker_names(frame.withColumn("sends", F.lit(1))))


def _senders(spark: SparkSession, policy: str, detector: bool) -> DataFrame:  # noqa: FBT001 (as the table has it)
    others = ("c", "p2", "g", "#1", True, "P5", False)
    return spark.createDataFrame([(*OWNER, policy, detector), others], SENDERS)


@pytest.mark.parametrize(
    ("detector", "policy", "answered", "next_at_ms", "expected"),
    [
        pytest.param(True, "P4", (100_500, 100_600), None, [103_600], id="the round after an answer"),
        pytest.param(True, "P4", (99_999, 100_600), None, [], id="sent before the flag fell"),
        pytest.param(True, "P4", (None, 100_600), None, [103_600], id="without a start, 100 ms before its end"),
        pytest.param(True, "P4", (None, 100_099), None, [], id="which was before the flag fell"),
        pytest.param(True, "P4", (100_500, 100_600), 103_600, [], id="the next write came first"),
        pytest.param(True, "P4", (100_500, 100_600), 103_601, [103_600], id="and after it"),
        pytest.param(False, "P4", (100_500, 100_600), None, [], id="no detector"),
        pytest.param(True, "P5", (100_500, 100_600), None, [], id="the flag does not count"),
    ],
)
def test_detector(
    spark: SparkSession,
    detector: bool,  # noqa: FBT001 (a case of the table above)
    policy: str,
    answered: tuple[int | None, int],
    next_at_ms: int | None,
    expected: list[int],
) -> None:
    rules = {"policy": policy, "profile": policy}
    later = [_write("a", next_at_ms, 5, 0, **rules)] if next_at_ms else []
    items = _items(spark, _write("a", 100_000, 0, 10_000, reachable=False, **rules), *later)
    sends = [
        ("RemotingConnectException", None, "a", 99_000, 100_000),
        ("SEND_OK", "a", "a", *answered),
        ("SENT", "a", "a", 100_100, 100_101),
        ("SEND_OK", "b", "b", 100_100, 100_101),
    ]
    found = detector_rounds(items, _answers(spark, sends), _senders(spark, policy, detector), POLICIES).collect()
    assert [row.at_ms for row in found] == expected
    assert all((row.evidence, row.reachable, row.not_available_ms) == (DETECTOR, True, 0) for row in found)


@pytest.mark.parametrize(
    ("cause", "other", "expected"),
    [
        pytest.param("MQBrokerException", "RemotingTimeoutException", [103_000], id="the refusal itself"),
        pytest.param("RemotingTimeoutException", "MQBrokerException", [103_600], id="a refusal to another"),
        pytest.param("RemotingTimeoutException", "RemotingTimeoutException", [], id="silence"),
    ],
)
def test_a_refusal_is_an_answer(spark: SparkSession, cause: str, other: str, expected: list[int]) -> None:
    rules = {"policy": "P4", "profile": "P4", "cause": cause}
    items = _items(spark, _write("a", 100_000, 0, 10_000, reachable=False, **rules))
    sends = [(cause, None, "a", 99_000, 100_000), (other, None, "a", 100_500, 100_600)]
    found = detector_rounds(items, _answers(spark, sends), _senders(spark, "P4", True), POLICIES).collect()
    assert [row.at_ms for row in found] == expected


def test_a_detector_needs_no_routes(spark: SparkSession) -> None:
    """What it finds rests on answers alone; the walk, which needs routes, is left out."""
    rules = {"policy": "P4", "profile": "P4"}
    items = _items(spark, _write("a", 100_000, 0, 10_000, reachable=False, **rules)).drop("first_position")
    sends = spark.createDataFrame([("SEND_OK", "a", "a", 100_500, 100_600, 100, "c", None, "SYNC", None, None)], SENDS)
    at_work = AtWork(has_async=False, policies=(), enforced_policies=(), retries_blindly=True, detects=True)
    senders = Senders(
        sends,
        sends,
        _senders(spark, "P4", True),
        at_work,
        broker_names(sends.withColumn("sends", F.lit(1))),
        with_rules=lambda hours: hours,
        with_owner=lambda attempts: attempts,
    )
    no_routes = known_routes_of(spark.createDataFrame([], TOPIC_BROKERS))
    found = with_inferences(items, sends, senders, no_routes, POLICIES, 1, _keep)
    assert [(row["at_ms"], row["evidence"]) for row in found.orderBy("at_ms").collect()] == [
        (100_000, "LOGGED"),
        (103_600, DETECTOR),
    ]


def test_nothing_inferred_leaves_the_first_pass(spark: SparkSession) -> None:
    first_pass = _items(spark, _write("a", 60_000, 5, 600_000), _write("b", 61_000, 50, 600_000)).drop("first_position")
    nothing = spark.createDataFrame([], SENDS)
    hosts = known_routes_of(spark.createDataFrame([], TOPIC_BROKERS))
    idle = AtWork(has_async=False, policies=(), enforced_policies=(), retries_blindly=True, detects=False)
    senders = Senders(
        nothing, nothing, nothing, idle, nothing, with_rules=lambda _: nothing, with_owner=lambda _: nothing
    )
    second = with_inferences(first_pass, nothing, senders, hosts, POLICIES, 1, _keep)
    assert sorted(second.select(*first_pass.columns).collect()) == sorted(first_pass.collect())
