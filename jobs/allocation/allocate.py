"""Inputs to owners: every strategy runs once per different input, however often the input returns."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.allocation.inputs import VIEW
from udfs.allocation_udf import shares_of

_UNCHANGED = "UNCHANGED"
_INPUT = ("strategies_json", "topic", "queues", "client_ids")


def with_shares(inputs: DataFrame, history: Sequence[str] = VIEW) -> DataFrame:
    """With `shares`: what each client of the stretch gets, and how it came about.

    `shares` is an array of `client_id`, `outcome` (RESULT; EMPTY = the client drops all its queues; UNCHANGED = its
    strategy throws, it keeps what it had), `message`, `queues`. Empty where the group has no client.

    Args:
        inputs: as `allocation_inputs` returns them, undetermined ones left out.
        history: what has one history of stretches: there a client keeps what it had.
    """
    keyed = inputs.withColumn("input", F.sha2(F.to_json(F.struct(*_INPUT)), 256))
    different = keyed.groupBy("input").agg(*(F.any_value(name).alias(name) for name in _INPUT))
    computed = different.select("input", shares_of(*(F.col(name) for name in _INPUT)).alias("shares"))
    allocated = keyed.join(computed, "input").drop("input")
    return allocated.transform(_carried, history)


def _carried(allocated: DataFrame, history: Sequence[str]) -> DataFrame:
    """A client whose strategy throws has the queues of the last stretch in which nobody's did."""
    so_far = (
        Window.partitionBy(*history).orderBy("valid_from_ms").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    fails = F.exists("shares", lambda share: share["outcome"] == _UNCHANGED)
    sound = F.last(F.when(~fails, F.col("shares")), ignorenulls=True).over(so_far)
    nothing = F.array().cast("array<struct<broker_name: string, queue_id: int>>")

    def resolved(share: Column) -> Column:
        kept = F.filter("sound", lambda before: before["client_id"] == share["client_id"])
        queues = F.coalesce(F.try_element_at(kept, F.lit(1))["queues"], nothing)
        return F.when(share["outcome"] == _UNCHANGED, share.withField("queues", queues)).otherwise(share)

    shares = F.when(fails, F.transform("shares", resolved)).otherwise(F.col("shares"))
    return allocated.withColumn("sound", sound).withColumn("shares", shares).drop("sound")


def queue_allocation(allocated: DataFrame) -> DataFrame:
    """The table's rows, without day and cluster: each queue with each of its owners, unassigned ones with none.

    Args:
        allocated: as `with_shares` returns them.
    """
    stretch = (*VIEW, "valid_from_ms", "valid_until_ms", "strategy", "strategy_source")
    by_client = allocated.select(*stretch, F.explode("shares").alias("share"))
    owned = by_client.select(
        *stretch,
        F.col("share.client_id").alias("client_id"),
        (F.col("share.outcome") == _UNCHANGED).alias("is_carried"),
        F.explode(F.array_distinct("share.queues")).alias("queue"),
    )
    serves_any = F.exists("shares", lambda share: F.exists(share["queues"], lambda queue: queue["queue_id"] < 0))
    in_route = allocated.where(~serves_any).select(*stretch, F.explode("queues").alias("queue"))
    where = [*VIEW, "valid_from_ms", "queue"]
    owners = owned.select(*where, "client_id", "is_carried").withColumn("key", F.to_json(F.struct(*where)))
    routed = in_route.withColumn("key", F.to_json(F.struct(*where)))
    assigned = routed.join(owners.select("key", "client_id", "is_carried"), "key", "left").withColumn(
        "in_route", F.lit(True)
    )
    elsewhere = (
        owned.withColumn("key", F.to_json(F.struct(*where)))
        .join(routed.select("key"), "key", "left_anti")
        .withColumn("in_route", F.col("queue.queue_id") < 0)
    )
    columns = (*stretch, "queue", "client_id", "is_carried", "in_route")
    return (
        assigned.select(*columns)
        .unionByName(elsewhere.select(*columns))
        .select(
            *stretch,
            "queue.broker_name",
            "queue.queue_id",
            "in_route",
            "client_id",
            F.coalesce("is_carried", F.lit(False)).alias("is_carried"),
        )
    )
