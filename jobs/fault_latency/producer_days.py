"""Each producer's day in one row, with a check of the replay that needs no truth."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.producers import PRODUCER
from udfs.outcome import is_answer

_KEYS = (*PRODUCER, "enforced")


def producer_days(sends: DataFrame, isolations: DataFrame) -> DataFrame:
    """One row per producer and state of its switch. Grain: `cluster`, `client_id`, `producer_group`, `enforced`.

    Args:
        sends: the day's attempts with their rules.
        isolations: the day's isolations.
    """
    attempts = sends.groupBy(*_KEYS).agg(
        F.max("switch_assumed").alias("switch_assumed"),
        F.max_by(F.struct("version", "profile", "policy", "not_replayed"), F.struct("ended_at_ms", "row_hash")).alias("rules"),
        F.count("*").alias("sends"),
        F.count_if(~is_answer(F.col("outcome"))).alias("failures"),
    )
    lasting = isolations.where("end_ms > start_ms").groupBy(*_KEYS).agg(
        F.count("*").alias("isolations"),
        F.sum(F.col("end_ms") - F.col("start_ms")).alias("isolated_ms"),
        F.count_if(F.col("evidence") != "LOGGED").alias("inferred_isolations"),
    )
    joined = attempts.join(lasting, list(_KEYS), "left").join(contradictions(sends, isolations), list(_KEYS), "left")
    return joined.select(
        *_KEYS, "switch_assumed", F.col("rules.version").alias("client_version"), "rules.profile", "rules.policy",
        "rules.not_replayed", "sends", "failures",
        *(F.coalesce(name, F.lit(0)).cast("bigint").alias(name)
          for name in ("isolations", "isolated_ms", "inferred_isolations", "contradictions")),
    )


def contradictions(sends: DataFrame, isolations: DataFrame) -> DataFrame:
    """Per producer: first attempts at a broker believed isolated while another broker of the topic was available.

    The client would not have chosen that broker, so the replay, the switch or the version is wrong there: 0 from
    5.2 on when all are right. The brokers of a topic are those that the cluster's attempts of the day name.

    Args:
        sends: the day's attempts with their rules.
        isolations: the day's isolations; those not enforced are left out.
    """
    first_attempts = sends.where("enforced AND NOT by_caller AND attempt = 1").select(
        *_KEYS, "process", "topic", "broker_name", "row_hash",
        F.coalesce(F.col("started_at_ms"), F.col("ended_at_ms") - F.col("latency_ms")).alias("chosen_at_ms"),
    )
    believed = isolations.where("enforced AND end_ms > start_ms").select(
        *PRODUCER, "process", F.col("broker_name").alias("isolated_broker"), "start_ms", "end_ms"
    )
    at_isolated = first_attempts.join(believed, [*PRODUCER, "process"]).where(
        "chosen_at_ms >= start_ms AND chosen_at_ms < end_ms"
    )
    of_topic = sends.where("topic IS NOT NULL").select("cluster", "topic", "broker_name").distinct()
    brokers = of_topic.groupBy("cluster", "topic").agg(F.collect_set("broker_name").alias("topic_brokers"))
    held = at_isolated.groupBy(*_KEYS, "topic", "broker_name", "row_hash").agg(
        F.collect_set("isolated_broker").alias("isolated_brokers")
    )
    others_available = F.size(F.array_except("topic_brokers", "isolated_brokers")) > 0
    chosen_isolated = F.array_contains("isolated_brokers", F.col("broker_name"))
    return (
        held.join(F.broadcast(brokers), ["cluster", "topic"])
        .where(chosen_isolated & others_available)
        .groupBy(*_KEYS).agg(F.count("*").alias("contradictions"))
    )
