"""Troubles of brokers: which attempts make one, when it is over, and when it is one of the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from jobs.fault_latency.effects.troubles import (
    bad_attempts,
    sent_minutes,
    together,
    troubles,
    until_answered,
    without_few_slow,
)

ATTEMPTS = (
    "cluster string, client_id string, producer_group string, broker_name string, outcome string,"
    " effective_outcome string, response_code int, started_at_ms bigint, ended_at_ms bigint, latency_ms bigint,"
    " call_timeout_ms bigint, result_broker_name string"
)
S, GAP_MS, SLOW_MS = 1_000, 30_000, 550
REFUSED, TIMED_OUT = "RemotingConnectException", "RemotingTimeoutException"


def attempt(
    broker: str, ended_s: float, outcome: str = "SEND_OK", latency_ms: int = 5, client_id: str = "p", **other: Any
) -> tuple[Any, ...]:
    ended_ms = int(ended_s * S)
    began_ms = ended_ms - latency_ms
    code, timeout_ms, result = (other.get(name) for name in ("response_code", "call_timeout_ms", "result_broker_name"))
    return ("c", client_id, "g", broker, outcome, outcome, code, began_ms, ended_ms, latency_ms, timeout_ms, result)


def alone(spark: SparkSession, rows: Sequence[tuple[Any, ...]], producers: int = 2, share: float = 0.1) -> DataFrame:
    """Troubles of brokers, before those of several brokers are put together."""
    attempts = spark.createDataFrame([*rows], ATTEMPTS)
    minutes = sent_minutes(attempts, SLOW_MS)
    bad = without_few_slow(bad_attempts(attempts, SLOW_MS, 0), minutes, producers, share)
    return until_answered(troubles(bad, GAP_MS), attempts, minutes, SLOW_MS)


def of_cluster(spark: SparkSession, *rows: tuple[Any, ...]) -> list[Row]:
    return together(alone(spark, rows)).orderBy("bad_from_ms", "brokers").collect()


def test_bad_attempts_less_than_the_gap_apart_are_one_trouble(spark: SparkSession) -> None:
    rows = [attempt("a", at, REFUSED, latency_ms=0) for at in (100, 129.999, 159.999, 189.998)]
    good = [attempt("a", at) for at in (99, 110, 140, 190, 191)]
    first, second = of_cluster(spark, *rows, *good)
    assert (first["bad_from_ms"], first["last_bad_ms"], first["bad_until_ms"]) == (100 * S, 129_999, 140 * S)
    assert (second["bad_from_ms"], second["last_bad_ms"], second["bad_until_ms"]) == (159_999, 189_998, 190 * S)
    assert (first["failed_attempts"], first["attempts"], second["attempts"]) == (2, 3, 2)


def test_a_broker_that_answered_nobody_in_between_is_in_one_trouble(spark: SparkSession) -> None:
    """Its only producers keep away for ten minutes after each failure."""
    rows = [attempt("a", at, REFUSED, client_id=client) for at, client in ((100, "p"), (700, "q"), (1_300, "p"))]
    (row,) = of_cluster(spark, *rows, attempt("a", 99), attempt("a", 1_900), attempt("b", 400))
    assert (row["bad_from_ms"], row["last_bad_ms"], row["bad_until_ms"]) == (99_995, 1_300 * S, 1_900 * S)
    assert (row["failed_attempts"], row["attempts"], row["producers"], row["hit_producers"]) == (3, 3, 2, 2)


def test_a_trouble_starts_with_its_first_attempt_and_lasts_until_an_answer(spark: SparkSession) -> None:
    """A slow answer is not the end of it; nor is what was answered before the last bad attempt ended."""
    (row,) = of_cluster(
        spark,
        attempt("a", 103, TIMED_OUT, latency_ms=3_000),
        attempt("a", 104, latency_ms=600),
        attempt("a", 103.5),
        attempt("a", 3_704, client_id="q"),
        attempt("a", 3_705),
    )
    assert (row["bad_from_ms"], row["last_bad_ms"], row["bad_until_ms"]) == (100 * S, 104 * S, 3_704 * S)
    assert (row["kind"], row["failed_attempts"], row["slow_attempts"]) == ("TIMED_OUT", 1, 1)
    assert (row["attempts"], row["producers"], row["hit_producers"]) == (3, 1, 1)


def test_a_broker_that_does_not_answer_any_more_has_no_end(spark: SparkSession) -> None:
    (row,) = of_cluster(spark, attempt("a", 103, REFUSED), attempt("b", 104))
    assert row["bad_until_ms"] is None
    assert (row["brokers"], row["all_brokers"]) == (["a"], 2)


def test_brokers_that_begin_and_end_together_are_one_event(spark: SparkSession) -> None:
    rows = [attempt(broker, at, REFUSED, 0) for broker, at in (("a", 100), ("b", 100.04), ("d", 101.04))]
    good = [attempt(broker, at) for broker, at in (("a", 105), ("b", 106.9), ("d", 109))]
    cluster, other = of_cluster(spark, *rows, *good, attempt("quiet", 1))
    assert (cluster["broker_name"], cluster["brokers"], cluster["all_brokers"]) == (None, ["a", "b"], 4)
    assert (cluster["began_within_ms"], cluster["bad_until_ms"], cluster["attempts"]) == (40, 106_900, 2)
    assert (other["broker_name"], other["bad_from_ms"]) == ("d", 101_040)  # it was bad for two seconds longer


@pytest.mark.parametrize(
    ("last_ms", "brokers"),
    [pytest.param(101_000, [["a", "b"]], id="a second"), pytest.param(101_001, [["a"], ["b"]], id="longer")],
)
def test_a_second_apart_is_together(spark: SparkSession, last_ms: int, brokers: list[list[str]]) -> None:
    bad = [attempt("a", 100, REFUSED, 0), attempt("b", last_ms / S, REFUSED, 0)]
    rows = of_cluster(spark, *bad, attempt("a", 103), attempt("b", 103))
    assert [row["brokers"] for row in rows] == brokers


def test_a_kind_is_that_of_four_fifths_of_the_failures(spark: SparkSession) -> None:
    refused = [attempt("a", 100 + number, REFUSED) for number in range(4)]
    mixed = [attempt("b", 200 + number, REFUSED) for number in range(3)]
    busy = [attempt("d", 300, "MQBrokerException", response_code=2)]
    slow = [attempt("e", 400, latency_ms=550)]
    rows = [*refused, attempt("a", 105, TIMED_OUT, 3_000), *mixed, attempt("b", 205, TIMED_OUT, 3_000), *busy, *slow]
    kinds = {row["broker_name"]: row["kind"] for row in of_cluster(spark, *rows)}
    assert kinds == {"a": "REFUSED", "b": "MIXED", "d": "BUSY", "e": "SLOW"}


def test_what_says_nothing_about_the_broker_is_no_trouble(spark: SparkSession) -> None:
    rows = [
        attempt("a", 100, TIMED_OUT, 0),  # earlier tries had spent the time
        attempt("a", 101, "MQClientException"),
        attempt("a", 102, "SENT", 9_000),
        attempt("a", 103, "MQBrokerException", response_code=13),  # the message is illegal
        attempt("a", 104, TIMED_OUT, 3_000, call_timeout_ms=3_000),  # a call: it may have waited for another broker
    ]
    assert of_cluster(spark, *rows) == []


def test_slow_answers_count_by_producers_or_by_share_of_a_minute(spark: SparkSession) -> None:
    quick = [attempt(broker, 121 + number) for broker in ("a", "b", "d") for number in range(9)]
    slow = [
        attempt("a", 120, latency_ms=600),  # one of ten of its minute
        *(attempt("b", 120, latency_ms=600, client_id=client) for client in ("p", "q")),
        attempt("d", 120, latency_ms=600), attempt("d", 130),  # one of eleven
        attempt("e", 120, REFUSED), *(attempt("e", 121 + number) for number in range(30)),
    ]  # fmt: skip
    rows = [*quick, *slow]
    for producers, share, expected in ((2, 0.1, "abe"), (3, 0.11, "be"), (3, 0.5, "e")):
        found = {row["broker_name"] for row in alone(spark, rows, producers, share).collect()}
        assert found == set(expected)


def test_a_slow_answer_now_and_then_does_not_join_two_outages(spark: SparkSession) -> None:
    quick = [attempt("a", 60 * minute + second) for minute in range(10) for second in range(30)]
    now_and_then = [attempt("a", 20 * number + 0.5, latency_ms=600, client_id=f"p{number}") for number in range(30)]
    outages = [attempt("a", at, REFUSED, 0) for at in (61, 421)]
    found = of_cluster(spark, *quick, *outages, *now_and_then[::3])
    assert [(row["bad_from_ms"], row["kind"], row["slow_attempts"]) for row in found] == [
        (61 * S, "REFUSED", 0), (421 * S, "REFUSED", 0),
    ]  # fmt: skip


def test_an_event_of_slow_answers_with_hardly_a_failure_is_slow(spark: SparkSession) -> None:
    slow = [attempt("a", 100 + number, latency_ms=600) for number in range(10)]
    (row,) = of_cluster(spark, *slow, attempt("a", 105, REFUSED))
    assert (row["kind"], row["failed_attempts"]) == ("SLOW", 1)


def test_what_another_broker_answered_is_a_failed_try_at_the_one_addressed(spark: SparkSession) -> None:
    """A line of an async send that stands for all its tries."""
    (row,) = of_cluster(spark, attempt("a", 100, result_broker_name="b"), attempt("a", 101, result_broker_name="a"))
    assert (row["brokers"], row["kind"], row["failed_attempts"], row["bad_until_ms"]) == (["a"], "MIXED", 1, 101 * S)


def test_an_attempt_under_way_at_midnight_is_cut(spark: SparkSession) -> None:
    attempts = spark.createDataFrame([attempt("a", 102, TIMED_OUT, 3_000)], ATTEMPTS)
    (row,) = bad_attempts(attempts, SLOW_MS, 100 * S).collect()
    assert (row["start_ms"], row["end_ms"]) == (100 * S, 102 * S)
