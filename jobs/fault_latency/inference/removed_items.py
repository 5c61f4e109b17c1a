"""Fault items that the fallback dropped (`LatencyFaultToleranceImpl.remove`), told by where the sends went."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import ITEM, REMOVE, UPDATE
from jobs.fault_latency.inference.as_of import (
    OWNER,
    chosen_within,
    last_write_wins,
    synthetic_write,
    with_item_before,
    write_in_place,
    written_columns,
)
from jobs.fault_latency.producers.known_routes import (
    ROUTE_AHEAD_MS,
    ROUTE_LAG_MS,
    hosted_throughout,
    hosts_at_some_time,
)
from jobs.spark.materialize import Materialize
from udfs.evidence import REMOVED
from udfs.fault_window import FAR_MS
from udfs.policy import Policy
from udfs.releases import holds
from udfs.version import version_number

_CERTAIN_PICK_ITEMS = 3


def removes(
    items: DataFrame, first_attempts: DataFrame, hosts: DataFrame, policies: Sequence[Policy], materialize: Materialize
) -> DataFrame:
    """Items that the fallback dropped: all brokers isolated, and the attempt did not go to its pick.

    `MQFaultStrategy.selectOneMessageQueue` (4.9.8, 5.1.3): with no broker available, `pickOneAtLeast` takes the
    item of lowest latency (the first, while there are two or three); with a write queue the attempt goes there,
    without one in the client's route the item is removed. One write per item and pass-one state: the first. Where
    it is not sure, because writes ran within a millisecond or latencies differ by no more, the item's own write comes
    back with `carried_earliest_ms`: from then on the item may be gone.

    Args:
        items: writes as `replay.replay` returns them.
        first_attempts: as `second_look.first_attempts` returns them.
        hosts: as `hosts.topic_hosts` returns them.
        policies: every policy that a row may name.
        materialize: for the items asked about, and those that were or may have been dropped.
    """
    deciding = items.where(last_write_wins(policies))
    few = (
        deciding.groupBy(*OWNER)
        .agg(F.collect_set("broker_name").alias("brokers"))
        .where(F.size("brokers") <= _CERTAIN_PICK_ITEMS)
    )
    at_ms = F.col("chosen_at_ms")
    asked = materialize(
        "asked",
        chosen_within(_all_may_be_isolated(deciding), first_attempts)
        .drop("after_ms", "until_ms")
        .withColumnRenamed("thread", "asking_thread")
        .join(F.broadcast(hosts), ["cluster", "topic"])
        .where(F.col("known_from_ms") <= at_ms + ROUTE_AHEAD_MS)
        .join(few, list(OWNER))
        .withColumns({"broker_name": F.explode("brokers"), "asked_at_ms": at_ms})
        .drop("brokers"),
    )
    item = F.col("item")
    states = with_item_before(asked, _with_possible_latency(deciding, asked)).where("item IS NOT NULL")
    surely, perhaps = (item["until_ms"] > at_ms) & (item["earliest_ms"] >= at_ms), item["latest_ms"] > at_ms
    fallback = states.groupBy(*OWNER, "row_hash").agg(
        *(
            F.first(name).alias(name)
            for name in ("chosen_at_ms", "went_to", "addressed_broker", "asking_thread", "writable", "queued")
        ),
        F.bool_and(surely).alias("all_isolated"),
        F.bool_and(surely | perhaps).alias("all_may_be"),
        F.collect_list(F.struct("broker_name", "item")).alias("known"),
    )
    picked = (
        fallback.where("all_may_be")
        .withColumn("pick", F.explode("known"))
        .where(_would_be_removed())
        .where(_may_be_first())
        .withColumn("is_sure", F.col("all_isolated") & F.coalesce(_is_first(), F.lit(False)))
    )
    missed = F.struct("pick.item.*", "chosen_at_ms", F.col("asking_thread").alias("chosen_by"))
    dropped = materialize(
        "dropped",
        picked.withColumn("missed", missed)
        .groupBy(*(F.col(f"missed.{name}") for name in (*ITEM, "position")))
        .agg(
            F.min_by("missed", F.when(F.col("is_sure"), at_ms)).alias("surely"),
            F.min_by("missed", F.when(~F.col("is_sure"), at_ms)).alias("perhaps"),
        ),
    )
    thread = {"thread": F.col("chosen_by")}
    removed = write_in_place(
        dropped.where("surely IS NOT NULL").select("surely.*"),
        items,
        synthetic_write(at_ms, REMOVE, "REMOVED", REMOVED) | thread,
    )
    doubtful = dropped.where("perhaps.chosen_at_ms < coalesce(surely.chosen_at_ms, perhaps.chosen_at_ms + 1)")
    widened = (
        doubtful.select("perhaps.*")
        .where("first_position IS NOT NULL")
        .withColumns(
            {"carried_earliest_ms": F.least("earliest_ms", "chosen_at_ms"), "carried_latest_ms": F.col("latest_ms")}
        )
    )
    return removed.unionByName(widened.select(*written_columns(items)))


def _would_be_removed() -> Column:
    """Whether the fallback's pick, if it was this one, was removed: it was not used, and may have lost its queues."""
    at_ms, went_to, pick = F.col("chosen_at_ms"), F.array("went_to", "addressed_broker"), F.col("pick.broker_name")
    since, until = at_ms - ROUTE_LAG_MS, at_ms + ROUTE_AHEAD_MS
    names = F.transform("known", lambda each: each["broker_name"])
    checks_permission = holds("fallback_checks_permission", version_number(F.col("pick.item.version")))
    looked_at = F.when(checks_permission, F.col("writable")).otherwise(F.col("queued"))
    return (
        (F.size(F.array_except(hosts_at_some_time(F.col("writable"), since, until), names)) == 0)
        & (F.size(F.array_except(went_to, names)) == 0)
        & ~F.array_contains(went_to, pick)
        & ~hosted_throughout(looked_at, pick, since, until)
    )


def _is_first() -> Column:
    """Whether every other item's latency is surely above the pick's: the clocks of log and client differ by 1 ms."""
    return F.forall(
        _others(), lambda other: other["item"]["lowest_latency_ms"] > F.col("pick.item.highest_latency_ms") + 1
    )


def _may_be_first() -> Column:
    """Whether no other item's latency is surely below the pick's."""

    def is_below(other: Column) -> Column:
        below = other["item"]["highest_latency_ms"] + 1 < F.col("pick.item.lowest_latency_ms")
        return F.coalesce(below, F.lit(False))

    return ~F.exists(_others(), is_below)


def _others() -> Column:
    return F.filter("known", lambda each: each["broker_name"] != F.col("pick.broker_name"))


def _all_may_be_isolated(items: DataFrame) -> DataFrame:
    """The stretches in which every item that a process had, two or more, was isolated in some order of tied writes.

    Grain: `OWNER`, `after_ms`; `until_ms`.
    """
    isolated_until = F.least(F.greatest("until_ms", "latest_ms"), F.coalesce("next_at_ms", F.lit(FAR_MS)))
    isolated = isolated_until > F.col("at_ms")
    telling = items.where(isolated | (F.col("position") == 1))
    turn = F.struct(
        F.col("at_ms"), (F.col("position") == 1).cast("int").alias("items"), isolated.cast("int").alias("isolated")
    )
    end = F.struct(isolated_until.alias("at_ms"), F.lit(0).alias("items"), F.lit(-1).alias("isolated"))
    turns = telling.select(*OWNER, F.explode(F.array_compact(F.array(turn, F.when(isolated, end)))).alias("turn"))
    moments = turns.groupBy(*OWNER, F.col("turn.at_ms").alias("after_ms")).agg(
        F.sum("turn.items").alias("items"), F.sum("turn.isolated").alias("isolated")
    )
    in_time = Window.partitionBy(*OWNER).orderBy("after_ms")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = moments.withColumns(
        {
            "items": F.sum("items").over(so_far),
            "isolated": F.sum("isolated").over(so_far),
            "until_ms": F.lead("after_ms").over(in_time),
        }
    )
    return counted.where("items >= 2 AND items = isolated AND until_ms IS NOT NULL").drop("items", "isolated")


def _with_possible_latency(items: DataFrame, asked: DataFrame) -> DataFrame:
    """The asked owners' writes with the bounds of the latency they left, in any order of tied writes.

    Adds `lowest_latency_ms` and `highest_latency_ms`; null when carried over midnight.
    """
    unordered = Window.partitionBy(*ITEM).orderBy("at_ms").rangeBetween(-1, 0)
    latency = F.when(F.col("op") == UPDATE, F.col("current_latency_ms"))
    return items.join(asked.select(*OWNER).distinct(), list(OWNER), "left_semi").withColumns(
        {
            "lowest_latency_ms": F.min(latency).over(unordered),
            "highest_latency_ms": F.max(latency).over(unordered),
        }
    )
