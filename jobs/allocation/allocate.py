"""Owners of queues by the strategies, which run once per different input, however often the input returns."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.allocation.inputs import SUBJECT, VIEW
from jobs.spark.materialize import Materialize
from udfs.allocation_udf import shares_of

_UNCHANGED = "UNCHANGED"
_INPUT = ("strategies_json", "topic", "queues", "client_ids")
_QUEUES = "array<struct<broker_name: string, queue_id: int>>"


def computed_shares(inputs: DataFrame) -> DataFrame:
    """One row per input, with `shares`, as the strategies give them; each different input is computed once.

    `shares` is an array of `client_id`, `outcome` (RESULT; EMPTY = the client drops all its queues; UNCHANGED = its
    strategy throws), `message`, `queues`. Empty where the group has no client.

    Args:
        inputs: as `allocation_inputs` returns them, undetermined ones left out.
    """
    keyed = inputs.withColumn("input", F.sha2(F.to_json(F.struct(*_INPUT)), 256))
    different = keyed.groupBy("input").agg(*(F.any_value(name).alias(name) for name in _INPUT))
    computed = different.select("input", shares_of(*(F.col(name) for name in _INPUT)).alias("shares"))
    return keyed.join(computed, "input").drop("input")


def with_shares(
    inputs: DataFrame,
    materialize: Materialize,
    name: str,
    *,
    subject: Sequence[str] = SUBJECT,
    opening: DataFrame | None = None,
) -> DataFrame:
    """One row per input, with `shares`: the queues of each client, also where its strategy throws and it keeps its own.

    Args:
        inputs: as `allocation_inputs` returns them, undetermined ones left out.
        materialize: for the result.
        name: of the materialized frame.
        subject: keys of one history of intervals: there a client keeps what it had.
        opening: rows of `queue_allocation` valid at 00:00; None = no client had any.
    """
    computed = materialize(name, computed_shares(inputs))
    if computed.where(F.exists("shares", _fails)).isEmpty():
        return computed
    return materialize(f"{name}-carried", _carried(computed, opening, subject))


def _fails(share: Column) -> Column:
    return share["outcome"] == _UNCHANGED


def _carried(allocated: DataFrame, opening: DataFrame | None, subject: Sequence[str]) -> DataFrame:
    """One row per input: a client whose strategy throws has its last queues, by this view or by a later one."""
    interval = (*subject, "view_broker_name", "start_ms")
    of_share = allocated.select(*interval, F.struct(*allocated.columns).alias("row"), F.posexplode("shares")).select(
        *interval,
        "row",
        "pos",
        F.col("col").alias("share"),
        F.col("col.client_id").alias("client_id"),
        F.when(~_fails(F.col("col")), F.col("col.queues")).alias("got"),
    )
    got = of_share if opening is None else of_share.unionByName(owned_at_midnight(opening), allowMissingColumns=True)

    def last(*history: str) -> Column:
        # By range: of views that begin together, none is before the other.
        in_time = Window.partitionBy(*history, "client_id").orderBy("start_ms")
        is_own = F.lit("view_broker_name" in history)
        queues = F.when(F.col("got").isNotNull(), F.struct("start_ms", is_own.alias("is_own"), "got"))
        return F.max(queues).over(in_time.rangeBetween(Window.unboundedPreceding, -1))

    latest = F.greatest(last(*subject), last(*subject, "view_broker_name"))["got"]
    carried_share = F.col("share").withField("queues", F.coalesce(latest, F.array().cast(_QUEUES)))
    resolved = F.when(_fails(F.col("share")), carried_share).otherwise(F.col("share"))
    with_client = (
        got.withColumn("share", resolved)
        .where("row IS NOT NULL")
        .groupBy(*interval)
        .agg(F.any_value("row").alias("row"), F.array_sort(F.collect_list(F.struct("pos", "share"))).alias("resolved"))
    )
    shares = F.transform("resolved", lambda each: each["share"]).alias("shares")
    names = [name for name in allocated.columns if name != "shares"]
    without_client = allocated.where(F.size("shares") == 0)
    return with_client.select(*(F.col("row")[name].alias(name) for name in names), shares).unionByName(without_client)


def owned_at_midnight(opening: DataFrame) -> DataFrame:
    """One row per view and client that had queues at 00:00: `got`, sorted, and `start_ms`, before any of the day.

    Args:
        opening: rows of `queue_allocation` valid at 00:00.
    """
    by_client = opening.where("client_id IS NOT NULL").groupBy(*VIEW, "client_id")
    queues = F.array_sort(F.collect_set(F.struct("broker_name", "queue_id"))).cast(_QUEUES)
    return by_client.agg(queues.alias("got")).withColumn("start_ms", F.lit(0).cast("bigint"))


def queue_allocation(allocated: DataFrame) -> DataFrame:
    """Rows of the table, without day and cluster: each queue with each of its owners, unassigned ones with none.

    Args:
        allocated: as `with_shares` returns them.
    """
    interval = (*VIEW, "start_ms", "end_ms", "strategy", "strategy_source")
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
    queues_and_owners = F.concat(in_route, F.flatten(F.transform("shares", owned)))
    by_queue = (
        allocated.select(*interval, F.inline(queues_and_owners))
        .groupBy(*interval, "queue")
        .agg(F.max("in_route").alias("in_route"), F.collect_list("owner").alias("owners"))  # which leaves nulls out
    )
    return by_queue.select(*interval, "queue", "in_route", F.explode_outer("owners").alias("owner")).select(
        *interval,
        "queue.broker_name",
        "queue.queue_id",
        "in_route",
        "owner.client_id",
        F.coalesce("owner.is_carried", F.lit(False)).alias("is_carried"),
    )
