"""Times in which no broker of a topic was available to a producer, and what its fallback may have removed then."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.keys import ITEM, OWNER, TOPIC
from jobs.fault_latency.producers.known_routes import ROUTE_AHEAD_MS, ROUTE_LAG_MS
from jobs.intervals.coalesce import coalesce_overlapping
from jobs.intervals.concurrent_counts import concurrent_counts
from jobs.kinds import Evidence
from udfs.fault_window import FAR_MS
from udfs.policy import Policy, keeps_latest
from udfs.releases import holds
from udfs.version import version_number


def intervals_without_broker(sends_per_process: DataFrame, isolations: DataFrame, known_routes: DataFrame) -> DataFrame:
    """WITHOUT_BROKER, by the best estimate.

    The brokers of a topic are those that its route named writable at the time; without routes those that the cluster's
    attempts of the day name. An interval that ended before the producer's first attempt at the topic is left out.

    Args:
        sends_per_process: SENDS_PER_PROCESS.
        isolations: the day's isolations; those not enforced are left out.
        known_routes: as `known_routes_of` returns it; may be empty.
    """
    with_topic = sends_per_process.where("topic IS NOT NULL")
    routed = _spans(known_routes, "writable").withColumnsRenamed({"from_ms": "start_ms", "until_ms": "end_ms"})
    without_broker = _all_isolated(with_topic, isolations.where("end_ms > start_ms"), "end_ms", routed)
    of_topic = _brokers_of_topics(with_topic, routed).withColumnsRenamed({"start_ms": "from_ms", "end_ms": "until_ms"})
    begun = with_topic.groupBy(*TOPIC).agg(F.coalesce(F.min("first_began_ms"), F.lit(0)).alias("begun_ms"))
    return (
        without_broker.join(begun, list(TOPIC))
        .where("end_ms > begun_ms")
        .join(F.broadcast(of_topic), ["cluster", "topic"])
        .where("from_ms < end_ms AND until_ms > start_ms")
        .groupBy(*TOPIC, "start_ms", "end_ms")
        .agg(F.array_sort(F.collect_set("broker_name")).alias("brokers"))
    )


def with_removals(
    isolations: DataFrame, sends_per_process: DataFrame, known_routes: DataFrame, policies: Sequence[Policy]
) -> DataFrame:
    """The isolations, those that the producer's fallback may have removed with an earlier `end_earliest_ms`.

    Up to 5.1.3: once every broker of a topic may be isolated, a send to it takes `pickOneAtLeast`, of all the brokers
    that the producer has sent to; a pick without a write queue of the topic is removed, and so available again
    (`MQFaultStrategy.selectOneMessageQueue` 4.7.1:73-83, 4.9.8:71-81). From then on the isolation is not certain.
    Without a route of the topic any broker may lack it. Adds `removable_ms`: until when that may be (null = never).

    Args:
        isolations: as `isolations.isolations` returns them.
        sends_per_process: SENDS_PER_PROCESS.
        known_routes: as `known_routes_of` returns it; may be empty.
        policies: every policy that a row may name.
    """
    named = sends_per_process.withColumn("topic", F.coalesce("topic", F.lit("")))
    replayed = ~keeps_latest(F.col("policy"), policies) & (F.col("evidence") != Evidence.RECORDED)
    enforced = isolations.where(replayed).where("enforced")
    without_broker = _all_isolated(named, enforced, "end_latest_ms", _sure(known_routes, "writable"))
    queued, permitted = (
        _sure(known_routes, name)
        .groupBy("cluster", "topic", "broker_name")
        .agg(F.collect_list(F.struct("start_ms", "end_ms")).alias(name))
        for name in ("queued", "permitted")
    )
    checks = F.coalesce(holds("fallback_checks_permission", version_number(F.col("client_version"))), F.lit(False))
    # Where a broker surely has a queue it is not removed: from then on, or once that is over.
    has_queue = F.filter(
        F.when(checks, F.col("permitted")).otherwise(F.col("queued")),
        lambda span: (span["start_ms"] <= F.col("from_ms")) & (span["end_ms"] > F.col("from_ms")),
    )
    removed_ms = F.coalesce(F.array_max(has_queue["end_ms"]), F.col("from_ms"))
    items = (*ITEM, "start_ms")
    times = (
        enforced.select(*items, "end_latest_ms", "client_version")
        .join(without_broker.withColumnsRenamed({"start_ms": "all_from_ms", "end_ms": "all_until_ms"}), list(OWNER))
        .where("all_from_ms < end_latest_ms AND all_until_ms > start_ms")
        .join(F.broadcast(queued), ["cluster", "topic", "broker_name"], "left")
        .join(F.broadcast(permitted), ["cluster", "topic", "broker_name"], "left")
        .withColumn("from_ms", F.greatest("all_from_ms", "start_ms"))
        .withColumn("removed_ms", removed_ms)
        .withColumn("until_ms", F.least("all_until_ms", "end_latest_ms"))
        .where("removed_ms < until_ms")
        .groupBy(*items)
        .agg(F.min("removed_ms").alias("first_removable_ms"), F.max("until_ms").alias("removable_ms"))
    )
    return (
        isolations.join(times, list(items), "left")
        .withColumn("end_earliest_ms", F.least("end_earliest_ms", "first_removable_ms"))
        .drop("first_removable_ms")
    )


def _all_isolated(sends_per_process: DataFrame, isolations: DataFrame, end: str, routed: DataFrame) -> DataFrame:
    """One row per `TOPIC` and time in which every broker of the topic was isolated: `start_ms`, `end_ms`.

    Args:
        sends_per_process: attempts counted by process, with a topic each.
        isolations: the day's; those not enforced are left out.
        end: the column that says until when one counts.
        routed: the brokers of topics over time; a topic without a row has those that the attempts of the day name.
    """
    isolated_spans = isolations.where("enforced").select(
        *OWNER, "broker_name", F.col("start_ms").alias("held_from_ms"), F.col(end).alias("held_until_ms")
    )
    sends = sends_per_process.where("enforced AND NOT by_caller AND not_replayed IS NULL")
    brokers = _brokers_of_topics(sends_per_process, routed)
    # Few isolate as many brokers as a topic always has: of all others their topics' brokers need not be listed.
    always_there = F.expr(f"start_ms <= 0 AND end_ms >= {FAR_MS}")
    fewest = brokers.groupBy("cluster", "topic").agg(F.count_if(always_there).alias("fewest"))
    isolated_brokers = isolated_spans.groupBy(*OWNER).agg(F.size(F.collect_set("broker_name")).alias("isolated"))
    owners = (
        sends.select(*TOPIC)
        .distinct()
        .join(isolated_brokers, list(OWNER))
        .join(F.broadcast(fewest), ["cluster", "topic"])
        .where("isolated >= fewest")
        .drop("isolated", "fewest")
    )
    brokers_of_topics = owners.join(F.broadcast(brokers), ["cluster", "topic"])
    isolated = (
        brokers_of_topics.join(isolated_spans, [*OWNER, "broker_name"])
        .withColumns({"start_ms": F.greatest("start_ms", "held_from_ms"), "end_ms": F.least("end_ms", "held_until_ms")})
        .where("end_ms > start_ms")
    )
    spans = coalesce_overlapping(isolated, (*TOPIC, "broker_name"))
    interval = (*TOPIC, "start_ms", "end_ms")
    of_topic = brokers_of_topics.select(*interval, F.lit(1).alias("hosts"), F.lit(0).alias("held"))
    counted_isolations = spans.select(*interval, F.lit(0).alias("hosts"), F.lit(1).alias("held"))
    counts = concurrent_counts(of_topic.unionByName(counted_isolations), TOPIC, ("hosts", "held"))
    return coalesce_overlapping(counts.where("hosts > 0 AND held = hosts AND end_ms IS NOT NULL"), TOPIC)


def _brokers_of_topics(sends_per_process: DataFrame, routed: DataFrame) -> DataFrame:
    """One row per `cluster`, `topic`, `broker_name` and interval in which the broker took the topic's sends."""
    named = sends_per_process.select("cluster", "topic", "broker_name").distinct()
    unrouted = named.join(F.broadcast(routed.select("cluster", "topic").distinct()), ["cluster", "topic"], "left_anti")
    always = {"start_ms": F.lit(0).cast("bigint"), "end_ms": F.lit(FAR_MS)}
    return routed.unionByName(unrouted.withColumns(always))


def _spans(known_routes: DataFrame, name: str) -> DataFrame:
    return known_routes.select("cluster", "topic", F.inline(name))


def _sure(known_routes: DataFrame, name: str) -> DataFrame:
    """`start_ms` to `end_ms` of each topic and broker: every route that a client may know then has the broker."""
    begins, ends = F.col("from_ms"), F.col("until_ms")
    return (
        _spans(known_routes, name)
        .select(
            "cluster",
            "topic",
            "broker_name",
            F.when(begins == 0, begins).otherwise(begins + ROUTE_LAG_MS).alias("start_ms"),
            F.when(ends == FAR_MS, ends).otherwise(ends - ROUTE_AHEAD_MS).alias("end_ms"),
        )
        .where("end_ms > start_ms")
    )
