"""One attempt with its rules, as its writes are derived from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.updates import updates
from jobs.fault_latency.producers.rules import policies
from jobs.settings.client_profiles import released_profiles
from udfs.outcome import effective_outcome

POLICIES = policies(released_profiles(), {})


ATTEMPT = {
    "cluster string": "c",
    "client_id string": "p1",
    "producer_group string": "g",
    "process string": "p1",
    "enforced boolean": True,
    "topic string": "T",
    "mode string": "ASYNC",
    "outcome string": "SEND_OK",
    "cause string": None,
    "not_replayed string": None,
    "broker_name string": "a",
    "addressed_broker string": "a",
    "error_broker string": "a",
    "result_broker_name string": None,
    "started_at_ms bigint": 1_000,
    "submitted_at_ms bigint": 1_005,
    "ended_at_ms bigint": 1_020,
    "latency_ms bigint": 20,
    "version_number int": 40908,
    "version string": None,
    "policy string": "P2",
    "profile string": "P2",
    "detector boolean": False,
    "by_caller boolean": False,
    "is_stale_line boolean": False,
    "connected_late boolean": False,
    "broker_failed_ms bigint": None,
    "one_line_per string": None,
    "call_timeout_ms bigint": None,
    "previous_broker_name string": None,
    "seq bigint": 7,
    "invoke_id bigint": None,
    "attempt int": 1,
    "row_hash bigint": 1,
}


def writes_of(spark: SparkSession, others: Iterable[Mapping[str, Any]]) -> DataFrame:
    """The writes of attempts that differ from ATTEMPT in these columns."""
    base = {name.split()[0]: value for name, value in ATTEMPT.items()}
    frame = spark.createDataFrame([tuple((base | dict(other)).values()) for other in others], ", ".join(ATTEMPT))
    outcome = effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause"))
    return updates(frame.withColumn("effective_outcome", outcome), POLICIES, has_async=True)
