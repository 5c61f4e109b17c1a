"""Producers' days, one row each, with a check of the replay that needs no recording to compare with."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.choices import contradictions
from jobs.fault_latency.producers.rules import PRODUCER

_KEYS = (*PRODUCER, "enforced")
_RULES = ("version", "profile", "policy", "not_replayed")


def producer_days(sends_per_process: DataFrame, isolations: DataFrame, choices: DataFrame) -> DataFrame:
    """One row per producer and state of its switch. Grain: `cluster`, `client_id`, `producer_group`, `enforced`.

    Args:
        sends_per_process: as `process_sends` returns it.
        isolations: the day's isolations.
        choices: as `choices` returns them.
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
            F.sum(F.col("end_ms") - F.col("start_ms")).alias("isolated_ms"),
            F.count_if(F.col("evidence") != "LOGGED").alias("inferred_isolations"),
        )
    )
    joined = attempts.join(lasting, list(_KEYS), "left").join(contradictions(choices), list(_KEYS), "left")
    return joined.select(
        *_KEYS,
        "switch_assumed",
        F.col("rules.version").alias("client_version"),
        "rules.profile",
        "rules.policy",
        "rules.not_replayed",
        "sends",
        "failures",
        *(
            F.coalesce(name, F.lit(0)).cast("bigint").alias(name)
            for name in ("isolations", "isolated_ms", "inferred_isolations", "contradictions")
        ),
    )
