"""Writes that ran within a millisecond: where the sends went afterwards tells which of them came last.

Under last-write-wins (to 5.1.3) the order decides. The log's best guess is refuted when the broker would have been
available for longer than the round robin lets it wait for a send, when a send went to an isolated broker instead,
or when a send went to it while another broker was available. The first of these is a matter of chance: below one in
ten the guess is corrected, below one in a hundred its band is as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import ITEM
from jobs.fault_latency.inference.as_of import OWNER, last_write_wins, with_item_before, written_columns
from jobs.fault_latency.inference.tied_writes import WRITE, sends_after, tied_writes
from jobs.fault_latency.producers.known_routes import (
    ROUTE_AHEAD_MS,
    ROUTE_LAG_MS,
    fewest_queues,
    hosted_since_use,
    hosted_throughout,
    hosts_throughout,
    most_queues,
)
from jobs.spark.materialize import Materialize
from udfs.evidence import ORDER
from udfs.policy import Policy
from udfs.round_robin import chance_of_none

_UNLIKELY, _OUT_OF_QUESTION = 0.1, 0.01
"""The chance that an available broker is passed by: below it another order is told, and told for sure."""

_CHOICES_OF_A_SEND = 3
"""Choices that a send makes with the retries that clients are born with; round robin moves on by each of them."""


def order_proofs(
    items: DataFrame, first_attempts: DataFrame, hosts: DataFrame, policies: Sequence[Policy], materialize: Materialize
) -> DataFrame:
    """The last of tied writes with the isolation that the sends tell, each in place of the write it corrects.

    What is likely and not sure keeps the band of all orders, in `carried_earliest_ms` and `carried_latest_ms`.

    Args:
        items: writes as `replay.replay` returns them.
        first_attempts: as `second_look.first_attempts` returns them.
        hosts: as `hosts.topic_hosts` returns them.
        policies: every policy that a row may name.
        materialize: for the tied writes and the sends after them.
    """
    tied = materialize("tied", tied_writes(items.where(last_write_wins(policies))))
    seen = materialize("seen", sends_after(tied, first_attempts, hosts))
    longer = _starved(seen).unionByName(_passed_over(seen, items))
    latest = longer.groupBy(*WRITE).agg(F.max("told").alias("told"))
    proved = latest.unionByName(_chosen_early(seen, items).join(latest, list(WRITE), "left_anti"))
    told_until, is_sure = F.col("told.until_ms"), F.col("told.is_sure")
    won = F.filter("ends", lambda end: end["until_ms"] == told_until)[0]
    return (
        items.join(tied.join(proved, list(WRITE)).select(*WRITE, "ends", "told"), list(WRITE))
        .withColumns(
            {
                "not_available_ms": F.greatest(told_until - F.col("at_ms"), F.lit(0)),
                "carried_earliest_ms": F.when(~is_sure, F.col("earliest_ms")),
                "carried_latest_ms": F.when(~is_sure, F.col("latest_ms")),
                "cause": won["cause"],
                "evidence": F.lit(ORDER),
            }
        )
        .select(*written_columns(items))
    )


def _elsewhere(seen: DataFrame) -> DataFrame:
    """The sends before the first that came to the broker, while every route that may have been used had its queues."""
    at_ms, writable, broker_name = F.col("chosen_at_ms"), F.col("writable"), F.col("broker_name")
    until = at_ms + ROUTE_AHEAD_MS
    hosted = hosted_throughout(writable, broker_name, at_ms - ROUTE_LAG_MS, until)
    since_use = hosted_since_use(writable, broker_name, F.col("used_at_ms"), until)
    return seen.where(hosted | since_use).where("chosen_at_ms < least(next_at_ms, came_at_ms)")


def _starved(seen: DataFrame) -> DataFrame:
    """Ends refuted because an available broker would have been sent to: the earliest later end that is not.

    Never for sure for P1 (to 4.7.1), whose retries rename queues, so that a broker may have fewer than its route says,
    nor by topics of which it has fewer queues than a send has choices: retries may pass those by again and again.
    """
    at_ms = F.col("chosen_at_ms")
    since = at_ms - ROUTE_LAG_MS
    queues = F.max(most_queues(F.col("queue_counts"), since, at_ms))
    own_queues = F.min(fewest_queues(F.col("broker_counts"), F.col("broker_name"), since, at_ms))
    bound = F.when(F.col("is_bound"), F.col("chance")).otherwise(1.0)
    refuted = (
        _elsewhere(seen)
        .withColumn("end_ms", F.explode(F.array_distinct("ends.until_ms")))
        .where("end_ms >= guessed_until_ms AND chosen_at_ms > end_ms")
        .groupBy(*WRITE, "profile", "guessed_until_ms", "ends", "end_ms", "topic")
        .agg(
            chance_of_none(F.count("*"), own_queues, queues).alias("chance"),
            (own_queues >= _CHOICES_OF_A_SEND).alias("is_bound"),
        )
        .groupBy(*WRITE, "profile", "guessed_until_ms", "ends", "end_ms")
        .agg(F.product("chance").alias("chance"), F.product(bound).alias("chance_at_most"))
        .where(F.col("chance") < _UNLIKELY)
        .groupBy(*WRITE, "profile", "guessed_until_ms", "ends")
        .agg(F.collect_set("end_ms").alias("refuted"), F.max("chance_at_most").alias("chance_at_most"))
    )
    left = F.filter(
        F.col("ends.until_ms"),
        lambda end: (end > F.col("guessed_until_ms")) & ~F.array_contains("refuted", end),
    )
    is_sure = (F.col("chance_at_most") < _OUT_OF_QUESTION) & (F.col("profile") != "P1")
    return refuted.where(F.array_contains("refuted", F.col("guessed_until_ms"))).select(
        *WRITE, F.struct(F.array_min(left).alias("until_ms"), is_sure.alias("is_sure")).alias("told")
    )


def _passed_over(seen: DataFrame, items: DataFrame) -> DataFrame:
    """Ends refuted because a send went to an isolated broker instead: the earliest end after the last such send.

    Selection takes an available broker first. Where queues were renamed the fallback does: `pickOneAtLeast` sorts the
    available ones to the front. The other one was isolated in any order of its writes, just before and at the choice.
    """
    asked = (
        _elsewhere(seen.where("went_to = addressed_broker AND chosen_at_ms > guessed_until_ms"))
        .withColumn("hidden_broker", F.col("broker_name"))
        .withColumn("broker_name", F.col("went_to"))
        .withColumn("asked_at_ms", F.col("chosen_at_ms"))
        .select(*ITEM, "asked_at_ms", "hidden_broker", "position", "ends")
    )
    isolated = (F.col("item.earliest_ms") > F.col("asked_at_ms")) & (F.col("item.at_ms") < F.col("asked_at_ms") - 1)
    undisturbed = F.coalesce(F.col("item.next_at_ms") > F.col("asked_at_ms") + 1, F.lit(True))
    later = F.filter(F.col("ends.until_ms"), lambda end: end > F.col("seen_at_ms"))
    return (
        with_item_before(asked, items)
        .where(isolated & undisturbed)
        .drop("broker_name")
        .withColumnRenamed("hidden_broker", "broker_name")
        .groupBy(*WRITE)
        .agg(F.first("ends").alias("ends"), F.max("asked_at_ms").alias("seen_at_ms"))
        .select(*WRITE, F.struct(F.array_min(later).alias("until_ms"), F.lit(True).alias("is_sure")).alias("told"))
        .where("told.until_ms IS NOT NULL")
    )


def _chosen_early(seen: DataFrame, items: DataFrame) -> DataFrame:
    """Ends refuted because a send went to the broker while another one was available: the latest end before it.

    Selection skips an isolated broker while any other of the topic, writable in every route that the client may
    have used, is available: here one that was so in any order of its writes, just before and at the choice.
    """
    at_ms = F.col("chosen_at_ms")
    early = seen.where("is_here AND chosen_at_ms = came_at_ms AND came_at_ms < guessed_until_ms")
    hosted = hosts_throughout(F.col("writable"), at_ms - ROUTE_LAG_MS, at_ms)
    asked = (
        early.withColumn("hidden_broker", F.col("broker_name"))
        .withColumn("broker_name", F.explode(F.array_except(hosted, F.array("broker_name"))))
        .withColumn("asked_at_ms", F.explode(F.array(at_ms, at_ms + 1)))
        .select(*ITEM, "asked_at_ms", "hidden_broker", "position", "guessed_until_ms", "ends", "came_at_ms")
    )
    free = F.coalesce(F.col("item.latest_ms") < F.col("asked_at_ms"), F.lit(False))
    others = (
        with_item_before(asked, items)
        .groupBy(*OWNER, "hidden_broker", "position", "guessed_until_ms", "ends", "came_at_ms", "broker_name")
        .agg(F.bool_and(free).alias("was_available"))
    )
    before = F.filter(F.col("ends.until_ms"), lambda end: end <= F.col("came_at_ms"))
    return (
        others.where("was_available")
        .drop("broker_name")
        .withColumnRenamed("hidden_broker", "broker_name")
        .groupBy(*WRITE)
        .agg(F.first("ends").alias("ends"), F.first("came_at_ms").alias("came_at_ms"))
        .select(*WRITE, F.struct(F.array_max(before).alias("until_ms"), F.lit(True).alias("is_sure")).alias("told"))
        .where("told.until_ms IS NOT NULL")
    )
