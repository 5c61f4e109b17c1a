"""Troubles of brokers: which attempts make one, when it is over, and when it is one of the cluster."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency.effects.troubles import bad_attempts, together, troubles, with_recovery

ATTEMPTS = (
    "cluster string, client_id string, producer_group string, broker_name string, outcome string,"
    " effective_outcome string, response_code int, started_at_ms bigint, ended_at_ms bigint, latency_ms bigint"
)
S, GAP_MS, SLOW_MS = 1_000, 30_000, 550
REFUSED, TIMED_OUT = "RemotingConnectException", "RemotingTimeoutException"


def attempt(
    broker: str, ended_s: float, outcome: str = "SEND_OK", latency_ms: int = 5, client_id: str = "p"
) -> tuple[Any, ...]:
    ended_ms = int(ended_s * S)
    return ("c", client_id, "g", broker, outcome, outcome, None, ended_ms - latency_ms, ended_ms, latency_ms)


def found(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    attempts = spark.createDataFrame([*rows], ATTEMPTS)
    of_brokers = troubles(bad_attempts(attempts, SLOW_MS), GAP_MS)
    return together(with_recovery(of_brokers, attempts, SLOW_MS)).orderBy("bad_from_ms")


def shown(rows: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows.collect()]


def test_a_killed_broker_is_one_trouble_until_it_answers(spark: SparkSession) -> None:
    rows = [attempt("a", at_s, REFUSED, client_id=f"p{at_s}") for at_s in (100, 110, 139)]
    rows += [attempt("a", 99.5), attempt("a", 120, TIMED_OUT, 0), attempt("a", 141), attempt("a", 150)]
    rows += [attempt("b", 120), attempt("a", 170, REFUSED)]
    assert shown(
        found(spark, *rows), "broker_name", "kind", "bad_from_ms", "last_bad_ms", "bad_until_ms", "failed"
    ) == [
        ("a", "REFUSED", 99_995, 139_000, 141_000, 3),
        ("a", "REFUSED", 169_995, 170_000, None, 1),  # 30 s and more after the last
    ]


def test_brokers_that_fail_and_answer_together_are_a_cluster_in_trouble(spark: SparkSession) -> None:
    rows = [attempt(broker, 103 + late, TIMED_OUT, 3_000) for broker, late in (("a", 0), ("b", 0.04), ("c", 0.9))]
    rows += [attempt(broker, 106 + late) for broker, late in (("a", 0), ("b", 1.5), ("c", 1.9))]
    rows += [attempt("d", 103, REFUSED, 2_900), attempt("d", 200)]  # over much later
    assert shown(found(spark, *rows), "broker_name", "brokers", "bad_from_ms", "bad_until_ms") == [
        (None, ["a", "b", "c"], 100_000, 107_900),
        ("d", ["d"], 100_100, 200_000),
    ]


def test_slow_answers_are_slow_and_two_kinds_are_mixed(spark: SparkSession) -> None:
    rows = [attempt("a", 100, latency_ms=550, client_id="p"), attempt("a", 101, latency_ms=900, client_id="q")]
    rows += [attempt("b", 300, REFUSED), attempt("b", 301, TIMED_OUT, 3_000), attempt("b", 302, latency_ms=600)]
    assert shown(found(spark, *rows), "broker_name", "kind", "failed", "slow", "producers_hit", "tried") == [
        ("a", "SLOW", 0, 2, 2, 2),
        ("b", "MIXED", 2, 1, 1, 3),
    ]
