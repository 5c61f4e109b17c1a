"""Attempts, isolations and sends of producers that isolate a broker, as incidents look at them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from jobs.fault_latency.effects.incidents import broker_incidents

SENDS = (
    "cluster string, broker_name string, client_id string, producer_group string, mode string, outcome string,"
    " latency_ms bigint, started_at_ms bigint, ended_at_ms bigint, enforced boolean"
)


ISOLATIONS = (
    "cluster string, broker_name string, client_id string, producer_group string, enforced boolean,"
    " start_ms bigint, end_ms bigint, counted_until_ms bigint"
)


CALLS = (
    "cluster string, client_id string, producer_group string, enforced boolean, is_replayed boolean,"
    " by_caller boolean, broker_names array<string>, ended_ms bigint, failed boolean, retried boolean, slow boolean"
)


def send_row(
    broker: str, client: str, mode: str, outcome: str, latency_ms: int, ended_at_ms: int
) -> tuple[object, ...]:
    return ("c", broker, client, "g", mode, outcome, latency_ms, ended_at_ms - latency_ms, ended_at_ms, True)


def isolation_row(
    broker: str, client: str, start_ms: int, end_ms: int, *, enforced: bool = True, counted_until_ms: int | None = None
) -> tuple[object, ...]:
    counted = end_ms if counted_until_ms is None else counted_until_ms
    return ("c", broker, client, "g", enforced, start_ms, end_ms, counted)


def incidents_of(
    spark: SparkSession,
    isolations: list[tuple[object, ...]],
    sends: list[tuple[object, ...]],
    calls: list[tuple[object, ...]],
) -> list[dict[str, object]]:
    held = spark.createDataFrame(isolations, ISOLATIONS)
    attempts = spark.createDataFrame(sends, SENDS)
    sent = attempts.withColumnsRenamed({"started_at_ms": "first_began_ms", "ended_at_ms": "last_ended_ms"})
    found = broker_incidents(held, sent, spark.createDataFrame(calls, CALLS), 0.5)
    return [row.asDict() for row in found.orderBy("broker_name", "start_ms").collect()]


def call_row(client: str, ended_ms: int, *brokers: str, failed: bool = False, slow: bool = False) -> tuple[object, ...]:
    return ("c", client, "g", True, True, False, list(brokers), ended_ms, failed, len(brokers) > 1, slow)
