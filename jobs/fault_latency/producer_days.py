"""Each producer's day in one row, with a check of the replay that needs no truth."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.choices import contradictions
from jobs.fault_latency.producers import PRODUCER
from udfs.outcome import is_answer

_KEYS = (*PRODUCER, "enforced")
_RULES = ("version", "profile", "policy", "not_replayed")


def producer_days(sends: DataFrame, isolations: DataFrame, choices: DataFrame) -> DataFrame:
    """One row per producer and state of its switch. Grain: `cluster`, `client_id`, `producer_group`, `enforced`.

    Args:
        sends: the day's attempts with their rules.
        isolations: the day's isolations.
        choices: as `choices.choices` returns them.
    """
    # By rules first: Spark would sort all attempts to find the last one's.
    by_rules = sends.groupBy(*_KEYS, *_RULES).agg(
        F.max("switch_assumed").alias("switch_assumed"),
        F.max("ended_at_ms").alias("last_at_ms"),
        F.count("*").alias("sends"),
        F.count_if(~is_answer(F.col("outcome"))).alias("failures"),
    )
    attempts = by_rules.groupBy(*_KEYS).agg(
        F.max("switch_assumed").alias("switch_assumed"),
        F.max_by(F.struct(*_RULES), F.struct("last_at_ms", *_RULES)).alias("rules"),
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
