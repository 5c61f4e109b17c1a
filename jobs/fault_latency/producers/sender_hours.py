"""Attempts counted by sender, broker and hour: few rows that stand for many attempts."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from udfs.bucket import bucket_of
from udfs.choice import began_at_ms, is_plain
from udfs.outcome import is_answer, may_write

HOUR_MS = 3_600_000

SENDER = (
    "cluster",
    "client_id",
    "producer_group",
    "process_id",
    "client_version",
    "client_language",
    "fault_latency_enabled",
    "detector_enabled",
    "queue_chosen_by",
    "topic",
    "mode",
    "broker_name",
    "broker_addr",
)
"""What the rules of an attempt, its process and the names of addresses are looked up by, and what it was for."""


def sender_hours(sends: DataFrame, slow_ms: int) -> DataFrame:
    """One row per `SENDER` and `hour` in which its attempts ended.

    The columns of `totals`; `lowest_seq` (null = none is logged); `plain`, those that were answered in time by their
    own broker, each as a send of its own.

    Args:
        sends: the day's attempts.
        slow_ms: an answer this late counts as slow.
    """
    return sends.groupBy(*SENDER, hour().alias("hour")).agg(
        *totals(), F.min("seq").alias("lowest_seq"), F.count_if(is_plain(slow_ms)).alias("plain")
    )


def totals() -> list[Column]:
    """Of attempts taken together.

    `sends`, `failures`; `first_began_ms` and `last_ended_ms`; `last_seq`, the highest (null = none is logged);
    `first_write_ms` and `last_write_ms`, the ends of those that may write to a fault item as they return (null = none).
    """
    written_ms = F.when((F.col("mode") != "ASYNC") & may_write(F.col("outcome")), F.col("ended_at_ms"))
    return [
        F.count("*").alias("sends"),
        F.count_if(~is_answer(F.col("outcome"))).alias("failures"),
        F.min(began_at_ms()).alias("first_began_ms"),
        F.max("ended_at_ms").alias("last_ended_ms"),
        F.max("seq").alias("last_seq"),
        F.min(written_ms).alias("first_write_ms"),
        F.max(written_ms).alias("last_write_ms"),
    ]


def hour() -> Column:
    """The hour in which the attempt of the row ended, counted from 1970."""
    return bucket_of(F.col("ended_at_ms"), HOUR_MS)
