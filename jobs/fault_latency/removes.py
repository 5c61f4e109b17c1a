"""Fault items that the fallback dropped (`LatencyFaultToleranceImpl.remove`), told by where the sends went."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.hosts import ROUTE_AHEAD_MS, ROUTE_LAG_MS, hosted_throughout, hosts_at_some_time
from jobs.fault_latency.replay import ITEM, REMOVE, UPDATE
from jobs.fault_latency.second_look import (
    OWNER,
    chosen_within,
    last_write_wins,
    of_nobody,
    with_item_before,
    write_in_place,
)
from jobs.kept import Keep
from udfs.evidence import REMOVED
from udfs.fault_window import FAR_MS
from udfs.policy import Policy
from udfs.version import version_number

_CERTAIN_PICK_ITEMS = 3
_V4_9_8 = 40908
"""The one release whose fallback looks at the topic's write permission."""


def removes(
    items: DataFrame, first_attempts: DataFrame, hosts: DataFrame, policies: Sequence[Policy], keep: Keep
) -> DataFrame:
    """Items that the fallback dropped: all brokers isolated, and the attempt did not go to its pick.

    `MQFaultStrategy.selectOneMessageQueue` (4.9.8, 5.1.3): with no broker available, `pickOneAtLeast` takes the
    item of lowest latency (the first, while there are two or three); with a write queue the attempt goes there,
    without one in the client's route the item is removed. One write per item and pass-one state: the first.

    Args:
        items: writes as `replay.replay` returns them.
        first_attempts: as `second_look.first_attempts` returns them.
        hosts: as `hosts.topic_hosts` returns them.
        policies: every policy that a row may name.
        keep: for the items asked about.
    """
    deciding = items.where(last_write_wins(policies))
    few = (
        deciding.groupBy(*OWNER)
        .agg(F.collect_set("broker_name").alias("brokers"))
        .where(F.size("brokers") <= _CERTAIN_PICK_ITEMS)
    )
    at_ms = F.col("chosen_at_ms")
    asked = keep(
        "asked",
        chosen_within(_all_isolated(deciding), first_attempts)
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
    isolated = (item["until_ms"] > at_ms) & (item["earliest_ms"] >= at_ms)
    fallback = states.groupBy(*OWNER, "row_hash").agg(
        *(
            F.first(name).alias(name)
            for name in ("chosen_at_ms", "went_to", "addressed_broker", "asking_thread", "writable", "queued")
        ),
        F.bool_and(isolated).alias("all_isolated"),
        F.array_sort(
            F.collect_list(
                F.struct(
                    item["known_latency_ms"].alias("latency_ms"),
                    item["until_ms"].alias("until_ms"),
                    "broker_name",
                    "item",
                )
            )
        ).alias("order_of_pick"),
    )
    picked = fallback.withColumns({"pick": F.get("order_of_pick", F.lit(0)), "chosen_by": F.col("asking_thread")})
    missed = picked.where(_is_removed()).select("pick.item.*", "chosen_at_ms", "chosen_by")
    earliest = missed.groupBy(*ITEM, "position").agg(F.min_by(F.struct(*missed.columns), "chosen_at_ms").alias("first"))
    thread = {"thread": F.col("chosen_by")}
    return write_in_place(
        earliest.select("first.*"), items, of_nobody(F.col("chosen_at_ms"), REMOVE, "REMOVED", REMOVED) | thread
    )


def _is_removed() -> Column:
    """Whether the fallback's pick was removed: it is certain, was not used, and may have lost its queues."""
    at_ms, went_to, pick = F.col("chosen_at_ms"), F.array("went_to", "addressed_broker"), F.col("pick.broker_name")
    since, until = at_ms - ROUTE_LAG_MS, at_ms + ROUTE_AHEAD_MS
    names = F.transform("order_of_pick", lambda each: each["broker_name"])
    others = F.slice("order_of_pick", F.lit(2), F.size("order_of_pick"))
    surely_first = F.forall(
        others, lambda other: other["item"]["lowest_latency_ms"] > F.col("pick.item.highest_latency_ms") + 1
    )
    checks_permission = version_number(F.col("pick.item.version")) == _V4_9_8
    looked_at = F.when(checks_permission, F.col("writable")).otherwise(F.col("queued"))
    return (
        F.col("all_isolated")
        & (F.size(F.array_except(hosts_at_some_time(F.col("writable"), since, until), names)) == 0)
        & (F.size(F.array_except(went_to, names)) == 0)
        & ~F.array_contains(went_to, pick)
        & surely_first
        & ~hosted_throughout(looked_at, pick, since, until)
    )


def _all_isolated(items: DataFrame) -> DataFrame:
    """The stretches in which every item that a process had, two or more, was surely isolated.

    Grain: `OWNER`, `after_ms`; `until_ms`.
    """
    surely_until = F.least("earliest_ms", F.coalesce("next_at_ms", F.lit(FAR_MS)))
    isolated = surely_until > F.col("at_ms")
    telling = items.where(isolated | (F.col("position") == 1))
    turn = F.struct(
        F.col("at_ms"), (F.col("position") == 1).cast("int").alias("items"), isolated.cast("int").alias("isolated")
    )
    end = F.struct(surely_until.alias("at_ms"), F.lit(0).alias("items"), F.lit(-1).alias("isolated"))
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
    """The asked owners' writes with the latency they left, and the bounds of it in any order of tied writes.

    Adds `known_latency_ms` (null when carried over midnight), `lowest_latency_ms`, `highest_latency_ms`.
    """
    unordered = Window.partitionBy(*ITEM).orderBy("at_ms").rangeBetween(-1, 0)
    latency = F.when(F.col("op") == UPDATE, F.col("current_latency_ms"))
    return items.join(asked.select(*OWNER).distinct(), list(OWNER), "left_semi").withColumns(
        {
            "known_latency_ms": latency,
            "lowest_latency_ms": F.min(latency).over(unordered),
            "highest_latency_ms": F.max(latency).over(unordered),
        }
    )
