"""Fault items at midnight, from which the next day starts."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.recorded_writes import Recorded
from jobs.fault_latency.keys import ITEM, PROCESS


def closing_state(
    relevant_writes: DataFrame,
    isolations: DataFrame,
    sends_per_process: DataFrame,
    opening: DataFrame,
    day_end_ms: int,
    record: Recorded | None = None,
) -> DataFrame:
    """One row per `ITEM` at 24:00 UTC that was used on the day, or whose isolation still lasts.

    Items of a process that is over are gone. Columns: `fault_item_state` without its day.

    Args:
        relevant_writes: RELEVANT_WRITES.
        isolations: ISOLATIONS.
        sends_per_process: SENDS_PER_PROCESS.
        opening: the state that the day started from.
        day_end_ms: 24:00 UTC, epoch ms.
        record: what clients recorded, which counts in the `seq` of their sends; None when they recorded nothing.
    """
    last_writes = relevant_writes.where(
        "next_at_ms IS NULL AND (process_ended_at_ms IS NULL OR process_ended_at_ms > at_ms)"
    )
    continuing = isolations.where("continues_next_day").select(
        *ITEM, "cause", "evidence", "opener_latency_ms", "extensions", "removable_ms", F.lit(True).alias("stands")
    )
    today = sends_per_process.groupBy(*PROCESS).agg(
        F.max("last_seq").alias("seq_today"), F.max("last_ended_ms").alias("ended_today_ms")
    )
    before = opening.groupBy(*PROCESS).agg(
        F.max("last_seq").alias("seq_before"), F.max("last_ended_at_ms").alias("ended_before_ms")
    )
    if record:
        numbers = F.greatest("seq_today", "last_recorded_seq").alias("seq_today")
        noted = today.join(record.owners.select(*PROCESS, "last_recorded_seq"), list(PROCESS), "full")
        today = noted.select(*PROCESS, numbers, "ended_today_ms")
    alive = F.col("process_ended_at_ms").isNull() | (F.col("process_ended_at_ms") > day_end_ms)
    wanted = F.col("stands").isNotNull() | (F.col("op") != "CARRIED")
    return (
        last_writes.where(alive)
        .drop("cause", "evidence", "extensions")
        .join(continuing, list(ITEM), "left")
        .where(wanted)
        .join(today, list(PROCESS), "left")
        .join(before, list(PROCESS), "left")
        .select(
            *ITEM,
            F.col("version").alias("client_version"),
            "profile",
            "policy",
            "available_at_ms",
            F.when(F.col("removable_ms") > F.col("at_ms"), F.least("earliest_ms", "at_ms"))
            .otherwise(F.col("earliest_ms"))
            .alias("available_earliest_ms"),
            F.col("latest_ms").alias("available_latest_ms"),
            F.col("is_reachable").alias("reachable"),
            "cause",
            "evidence",
            "opener_latency_ms",
            "extensions",
            F.greatest("seq_today", "seq_before").alias("last_seq"),
            F.greatest("ended_today_ms", "ended_before_ms").alias("last_ended_at_ms"),
        )
    )
