"""Each producer's day in one row, with a check of the replay that needs no truth."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.hosts import ROUTE_AHEAD_MS, ROUTE_LAG_MS, hosts_throughout, topic_hosts
from jobs.fault_latency.producers import PRODUCER
from udfs.outcome import is_answer

_KEYS = (*PRODUCER, "enforced")


def producer_days(sends: DataFrame, isolations: DataFrame, topic_brokers: DataFrame) -> DataFrame:
    """One row per producer and state of its switch. Grain: `cluster`, `client_id`, `producer_group`, `enforced`.

    Args:
        sends: the day's attempts with their rules.
        isolations: the day's isolations.
        topic_brokers: the day's stretches of unchanged routes; may be empty.
    """
    attempts = sends.groupBy(*_KEYS).agg(
        F.max("switch_assumed").alias("switch_assumed"),
        F.max_by(F.struct("version", "profile", "policy", "not_replayed"), F.struct("ended_at_ms", "row_hash")).alias(
            "rules"
        ),
        F.count("*").alias("sends"),
        F.count_if(~is_answer(F.col("outcome"))).alias("failures"),
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
    contradicted = contradictions(sends, isolations, topic_brokers)
    joined = attempts.join(lasting, list(_KEYS), "left").join(contradicted, list(_KEYS), "left")
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


def contradictions(sends: DataFrame, isolations: DataFrame, topic_brokers: DataFrame) -> DataFrame:
    """Per producer: first attempts at a broker surely isolated while another broker of the topic was surely available.

    The client would not have chosen that broker, so the replay, the switch or the version is wrong there: 0 from
    5.2 on when all are right. The other broker must stand in every route that the client may have used, 40 s before
    to 15 s after; without routes of a topic its brokers are those that the cluster's attempts of the day name.

    Args:
        sends: the day's attempts with their rules.
        isolations: the day's isolations; those not enforced are left out.
        topic_brokers: the day's stretches of unchanged routes; may be empty.
    """
    at_ms = F.col("chosen_at_ms")
    first_attempts = sends.where("enforced AND NOT by_caller AND attempt = 1").select(
        *_KEYS,
        "process",
        "topic",
        "broker_name",
        "row_hash",
        F.coalesce(F.col("started_at_ms"), F.col("ended_at_ms") - F.col("latency_ms")).alias("chosen_at_ms"),
    )
    believed = isolations.where("enforced").select(
        *PRODUCER, "process", F.col("broker_name").alias("isolated"), "start_ms", "end_earliest_ms", "end_latest_ms"
    )
    maybe_isolated = first_attempts.join(believed, [*PRODUCER, "process"]).where(
        (F.col("start_ms") <= at_ms) & (F.col("end_latest_ms") >= at_ms)
    )
    surely = (F.col("start_ms") < at_ms) & (F.col("end_earliest_ms") > at_ms)
    held = maybe_isolated.groupBy(*_KEYS, "topic", "broker_name", "row_hash", "chosen_at_ms").agg(
        F.collect_set("isolated").alias("maybe_isolated"),
        F.collect_set(F.when(surely, F.col("isolated"))).alias("surely_isolated"),
    )
    hosts = topic_hosts(topic_brokers).select("cluster", "topic", "writable")
    of_topic = sends.where("topic IS NOT NULL").select("cluster", "topic", "broker_name").distinct()
    named = of_topic.groupBy("cluster", "topic").agg(F.collect_set("broker_name").alias("named"))
    in_every_route = hosts_throughout(F.col("writable"), at_ms - ROUTE_LAG_MS, at_ms + ROUTE_AHEAD_MS)
    candidates = F.when(F.col("writable").isNotNull(), in_every_route).otherwise(F.col("named"))
    return (
        held.where(F.array_contains("surely_isolated", F.col("broker_name")))
        .join(F.broadcast(named), ["cluster", "topic"])
        .join(F.broadcast(hosts), ["cluster", "topic"], "left")
        .where(F.size(F.array_except(candidates, "maybe_isolated")) > 0)
        .groupBy(*_KEYS)
        .agg(F.count("*").alias("contradictions"))
    )
