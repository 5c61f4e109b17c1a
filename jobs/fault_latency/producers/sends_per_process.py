"""Attempts counted by process, rules, topic and broker: few rows that stand for many attempts."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.inference.as_of import OWNER
from udfs.choice import began_at_ms
from udfs.outcome import is_answer

_RULES = ("version", "version_number", "profile", "policy", "not_replayed", "detector", "switch_assumed")


def process_sends(attempts: DataFrame) -> DataFrame:
    """One row per `OWNER`, its rules and `dies_at_ms`, `topic`, `by_caller`, `broker_name`.

    `sends`, `failures`; `first_began_ms` and `last_ended_ms`, of the attempts; `last_seq`, the highest (null = none).

    Args:
        attempts: the day's attempts, as `attempts_of` returns them.
    """
    return attempts.groupBy(*OWNER, *_RULES, "dies_at_ms", "topic", "by_caller", "broker_name").agg(
        F.count("*").alias("sends"),
        F.count_if(~is_answer(F.col("outcome"))).alias("failures"),
        F.min(began_at_ms()).alias("first_began_ms"),
        F.max("ended_at_ms").alias("last_ended_ms"),
        F.max("seq").alias("last_seq"),
    )
