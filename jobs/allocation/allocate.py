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
    serves_any = F.exists("shares", lambda share: F.exists(share["queues"], lambda queue: queue["queue_id"] < 0))
    nothing = F.lit(None).cast("struct<client_id: string, is_carried: boolean>")

    def owned(share: Column) -> Column:
        owner = F.struct(share["client_id"].alias("client_id"), (share["outcome"] == _UNCHANGED).alias("is_carried"))
        return F.transform(
            F.array_distinct(share["queues"]),
            lambda queue: F.struct(
                queue.alias("queue"), (queue["queue_id"] < 0).alias("in_route"), owner.alias("owner")
            ),
        )

    in_route = F.transform(
        F.when(serves_any, F.slice("queues", 1, 0)).otherwise(F.col("queues")),
        lambda queue: F.struct(queue.alias("queue"), F.lit(True).alias("in_route"), nothing.alias("owner")),
    )
    told = F.concat(in_route, F.flatten(F.transform("shares", owned)))
    by_queue = (
        allocated.select(*stretch, F.inline(told))
        .groupBy(*stretch, "queue")
        .agg(F.max("in_route").alias("in_route"), F.collect_list("owner").alias("owners"))  # which leaves nulls out
    )
    return by_queue.select(*stretch, "queue", "in_route", F.explode_outer("owners").alias("owner")).select(
        *stretch,
        "queue.broker_name",
        "queue.queue_id",
        "in_route",
        "owner.client_id",
        F.coalesce("owner.is_carried", F.lit(False)).alias("is_carried"),
    )
