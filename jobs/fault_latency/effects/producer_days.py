"""Producers' days, one row each, with a check of the replay that needs no recording to compare with."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.choices import contradictions
from jobs.fault_latency.fault_items.recorded_writes import Recorded
from jobs.fault_latency.keys import PRODUCER
from jobs.kinds import Evidence

_KEYS = (*PRODUCER, "enforced")
_RULES = ("version", "profile", "policy", "not_replayed", "call_timeout_ms")


def producer_days(
    sends_per_process: DataFrame, isolations: DataFrame, choices: DataFrame, record: Recorded | None = None
) -> DataFrame:
    """One row per producer and state of its switch. Grain: `cluster`, `client_id`, `producer_group`, `enforced`.

    Args:
        sends_per_process: SENDS_PER_PROCESS.
        isolations: ISOLATIONS.
        choices: CHOICES.
        record: what clients recorded; None when they recorded nothing.
    """
    attempts = sends_per_process.groupBy(*_KEYS).agg(
        F.max("switch_assumed").alias("switch_assumed"),
        F.max_by(F.struct(*_RULES), F.struct("last_ended_ms", *_RULES)).alias("rules"),
        F.sum("sends").alias("sends"),
        F.sum("failures").alias("failures"),
    )
    lasting = (
        isolations.where("end_ms > start_ms")
        .groupBy(*_KEYS)
        .agg(
            F.count("*").alias("isolations"),
            F.sum(F.col("counted_until_ms") - F.col("start_ms")).alias("isolated_ms"),
            F.count_if(~F.col("evidence").isin(Evidence.LOGGED, Evidence.RECORDED)).alias("inferred_isolations"),
        )
    )
    joined = attempts.join(lasting, list(_KEYS), "left").join(contradictions(choices), list(_KEYS), "left")
    updates = F.lit(0).alias("recorded_updates")
    if record:
        recorded = record.owners.groupBy(*_KEYS).agg(F.sum("recorded_updates").alias("recorded_updates"))
        joined, updates = joined.join(recorded, list(_KEYS), "left"), F.col("recorded_updates")
    return joined.withColumn("recorded_updates", updates).select(
        *_KEYS,
        "switch_assumed",
        F.col("rules.version").alias("client_version"),
        "rules.profile",
        "rules.policy",
        "rules.not_replayed",
        "rules.call_timeout_ms",
        "sends",
        "failures",
        *(
            F.coalesce(name, F.lit(0)).cast("bigint").alias(name)
            for name in ("isolations", "isolated_ms", "inferred_isolations", "recorded_updates", "contradictions")
        ),
    )
