"""Attempts whose producer held a broker as not available when it chose: what was available, and its choice."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.within import intervals_met
from jobs.fault_latency.keys import OWNER
from jobs.fault_latency.producers.known_routes import ROUTE_AHEAD_MS, ROUTE_LAG_MS, hosts_at_some_time, hosts_throughout
from udfs.choice import began_at_ms

_ATTEMPT = (
    *OWNER,
    "profile",
    "policy",
    "version",
    "not_replayed",
    "by_caller",
    "mode",
    "topic",
    "attempt",
    "invoke_id",
    "broker_name",
    "result_broker_name",
    "outcome",
    "latency_ms",
    "started_at_ms",
    "chosen_at_ms",
    "ended_at_ms",
    "row_hash",
)


def choices(
    attempts: DataFrame, sends_per_process: DataFrame, isolations: DataFrame, known_routes: DataFrame
) -> DataFrame:
    """CHOICES: the attempts chosen while their producer held a broker, any broker, as not available.

    Grain: one attempt; its own columns, and
    `isolated_brokers`: brokers of the topic not available at the choice, by the best estimate, sorted;
    `since_ms`: start of the isolation that the attempt went against; null = its broker was available;
    `is_surely_isolated`: its broker was not available in every order of tied writes; only then, null for all others,
    `available`: how many brokers of the topic were, in every order of tied writes;
    `only_available`: that broker, if it was one;
    `hosts`: how many brokers the topic had.
    Brokers of a topic are those of any route that the client may have used, 40 s before to 15 s after; of those that
    were available, those of every such route. Without routes of a topic both are the brokers that the cluster's
    attempts of the day name.

    Args:
        attempts: ATTEMPTS.
        sends_per_process: SENDS_PER_PROCESS.
        isolations: ISOLATIONS.
        known_routes: as `known_routes_of` returns it; may be empty.
    """
    chosen = attempts.where("not_replayed IS NULL").withColumn("chosen_at_ms", began_at_ms()).select(*_ATTEMPT)
    intervals = isolations.select(
        *OWNER,
        F.col("broker_name").alias("held_broker"),
        "start_ms",
        "end_ms",
        "end_earliest_ms",
        (F.col("start_ms") - 1).alias("after_ms"),
        F.col("end_latest_ms").alias("until_ms"),
    )
    topic = F.coalesce("topic", F.lit(""))
    named = (
        sends_per_process.select("cluster", topic.alias("named_topic"), "broker_name")
        .distinct()
        .groupBy("cluster", "named_topic")
        .agg(F.collect_set("broker_name").alias("named"))
    )
    since, until = F.col("chosen_at_ms") - ROUTE_LAG_MS, F.col("chosen_at_ms") + ROUTE_AHEAD_MS
    has_route, named_hosts = F.col("writable").isNotNull(), F.col("named")
    hosts_then = F.when(has_route, hosts_throughout(F.col("writable"), since, until)).otherwise(named_hosts)
    all_hosts = F.when(has_route, hosts_at_some_time(F.col("writable"), since, until)).otherwise(named_hosts)
    surely = F.exists("met", lambda met: _went_against(met, "end_earliest_ms"))
    left = F.array_except(hosts_then, F.col("met")["held_broker"])
    return (
        intervals_met(intervals, chosen)
        .withColumn("named_topic", topic)
        .join(F.broadcast(named), ["cluster", "named_topic"])
        .join(F.broadcast(known_routes.select("cluster", "topic", "writable")), ["cluster", "topic"], "left")
        .withColumns(
            {
                "isolated_brokers": _isolated_of(all_hosts),
                "since_ms": F.array_max(F.filter("met", lambda met: _went_against(met, "end_ms"))["start_ms"]),
                "is_surely_isolated": surely,
                "available": F.when(surely, F.size(left)),
                "only_available": F.when(surely & (F.size(left) == 1), F.get(left, F.lit(0))),
                "hosts": F.when(surely, F.size(all_hosts)),
            }
        )
        .drop("named_topic", "named", "writable", "met")
    )


def _lasted(met: Column, end: str) -> Column:
    return (met["start_ms"] < F.col("chosen_at_ms")) & (met[end] > F.col("chosen_at_ms"))


def _went_against(met: Column, end: str) -> Column:
    return _lasted(met, end) & (met["held_broker"] == F.col("broker_name"))


def _isolated_of(hosts: Column) -> Column:
    """Looked up one by one: Spark reads a whole array of texts slowly, and most choices met one stretch."""
    isolated = F.filter("met", lambda met: _lasted(met, "end_ms"))["held_broker"]
    return F.sort_array(F.array_distinct(F.filter(isolated, lambda broker: F.array_contains(hosts, broker))))


def has_other_available() -> Column:
    """Whether another broker of the topic was surely available at the choice."""
    return F.col("available") > 0


def contradictions(choices: DataFrame) -> DataFrame:
    """Per producer: first attempts at a broker surely isolated while another broker of the topic was surely available.

    The client would not have chosen that broker, so the replay, the switch or the version is wrong there: 0 from
    5.2 on when all are right.

    Args:
        choices: CHOICES; those not enforced are left out, and those whose broker was not surely
            isolated, which have no `available`.
    """
    against = choices.where("enforced AND NOT by_caller AND attempt = 1").where(has_other_available())
    return against.groupBy(*(name for name in OWNER if name != "process")).agg(F.count("*").alias("contradictions"))
