"""Attempts whose producer held a broker as not available when it chose: what it knew, and what it took."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.hosts import ROUTE_AHEAD_MS, ROUTE_LAG_MS, hosts_at_some_time, hosts_throughout
from jobs.fault_latency.second_look import OWNER, chosen_within
from udfs.choice import began_at_ms

_ATTEMPT = (
    *OWNER,
    "profile",
    "policy",
    "by_caller",
    "mode",
    "topic",
    "attempt",
    "invoke_id",
    "broker_name",
    "outcome",
    "latency_ms",
    "chosen_at_ms",
    "ended_at_ms",
    "row_hash",
)


def with_chosen_at(attempts: DataFrame) -> DataFrame:
    """With `chosen_at_ms`: when the attempt began, so when its broker was chosen."""
    return attempts.withColumn("chosen_at_ms", began_at_ms())


def choices(attempts: DataFrame, isolations: DataFrame, hosts: DataFrame) -> DataFrame:
    """The attempts chosen while their producer held a broker, any broker, as not available.

    Grain: one attempt; its own columns, and
    `isolated`: brokers not available at the choice, by the best estimate;
    `surely_isolated`, `maybe_isolated`: the same for every and for some order of tied writes;
    `since_ms`: start of the isolation that the attempt went against; null = its broker was available;
    `hosts`: brokers of the topic in every route that the client may have used, 40 s before to 15 s after;
    `all_hosts`: brokers of the topic in any of them.
    Without routes of a topic both are the brokers that the cluster's attempts of the day name.

    Args:
        attempts: the day's attempts with their rules and process.
        isolations: the day's isolations, as `isolations.isolations` returns them.
        hosts: as `hosts.topic_hosts` returns them; may be empty.
    """
    chosen = attempts.where("not_replayed IS NULL").transform(with_chosen_at).select(*_ATTEMPT)
    stretches = isolations.select(
        *OWNER,
        F.col("broker_name").alias("held_broker"),
        "start_ms",
        "end_ms",
        "end_earliest_ms",
        (F.col("start_ms") - 1).alias("after_ms"),
        F.col("end_latest_ms").alias("until_ms"),
    )
    at_ms, began = F.col("chosen_at_ms"), F.col("start_ms") < F.col("chosen_at_ms")
    stood, surely_stood = began & (F.col("end_ms") > at_ms), began & (F.col("end_earliest_ms") > at_ms)
    went_against = stood & (F.col("held_broker") == F.col("broker_name"))
    held = (
        chosen_within(stretches, chosen)
        .groupBy(*_ATTEMPT)
        .agg(
            F.array_sort(F.collect_set(F.when(stood, F.col("held_broker")))).alias("isolated"),
            F.collect_set(F.when(surely_stood, F.col("held_broker"))).alias("surely_isolated"),
            F.collect_set("held_broker").alias("maybe_isolated"),
            F.max(F.when(went_against, F.col("start_ms"))).alias("since_ms"),
        )
    )
    topic = F.coalesce("topic", F.lit(""))
    named = (
        attempts.select("cluster", topic.alias("named_topic"), "broker_name")
        .distinct()
        .groupBy("cluster", "named_topic")
        .agg(F.collect_set("broker_name").alias("named"))
    )
    since, until = at_ms - ROUTE_LAG_MS, at_ms + ROUTE_AHEAD_MS
    told = F.col("writable").isNotNull()
    return (
        held.withColumn("named_topic", topic)
        .join(F.broadcast(named), ["cluster", "named_topic"])
        .join(F.broadcast(hosts.select("cluster", "topic", "writable")), ["cluster", "topic"], "left")
        .withColumns(
            {
                "hosts": F.when(told, hosts_throughout(F.col("writable"), since, until)).otherwise(F.col("named")),
                "all_hosts": F.when(told, hosts_at_some_time(F.col("writable"), since, until)).otherwise(
                    F.col("named")
                ),
            }
        )
        .drop("named_topic", "named", "writable")
    )


def has_other_available() -> Column:
    """Whether another broker of the topic was surely available at the choice."""
    return F.size(F.array_except("hosts", "maybe_isolated")) > 0


def contradictions(choices: DataFrame) -> DataFrame:
    """Per producer: first attempts at a broker surely isolated while another broker of the topic was surely available.

    The client would not have chosen that broker, so the replay, the switch or the version is wrong there: 0 from
    5.2 on when all are right.

    Args:
        choices: as `choices` returns them; those not enforced are left out.
    """
    against = choices.where("enforced AND NOT by_caller AND attempt = 1").where(
        F.array_contains("surely_isolated", F.col("broker_name")) & has_other_available()
    )
    return against.groupBy(*(name for name in OWNER if name != "process")).agg(F.count("*").alias("contradictions"))
