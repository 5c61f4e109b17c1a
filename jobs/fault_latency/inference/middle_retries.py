"""The broker between the first and the last of three async tries: isolated because no time was left, and not logged."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import ITEM
from jobs.fault_latency.inference.as_of import OWNER, with_item_before, write_in_place, written_columns
from jobs.fault_latency.producers.known_routes import ROUTE_LAG_MS, hosts_throughout
from udfs.evidence import RETRY_MIDDLE
from udfs.policy import Policy, keeps_latest

_STEP = 2


def middle_brokers(items: DataFrame, hosts: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """The writes to middle brokers, as `replay.replay` takes them.

    `MQFaultStrategy.selectOneMessageQueue` takes available brokers first: one that was isolated already was not
    tried. It must have been writable in every route that the client may have used. Where more brokers could have been
    tried than were, none is told, and none that another order of tied writes would have left isolated. Three tries,
    as `retryTimesWhenSendAsyncFailed` has it by default; 4.9.3 to 5.2.0 (`MQClientAPIImpl.sendMessageAsync`, catch:
    4.9.8:576, 5.1.4:714, 5.2.0:702; it leaves the item unreachable from 5.1.4 on), and the charged ones to 4.9.2.

    Args:
        items: writes, those with `middle_topic` lacking a middle broker.
        hosts: as `hosts.topic_hosts` returns them.
        policies: every policy that a row may name.
    """
    told = _candidates(items, hosts).transform(with_item_before, items).transform(_told)
    return write_in_place(
        told.transform(_available_still, policies),
        items,
        {
            "step": F.lit(_STEP),
            "current_latency_ms": F.lit(0).cast("bigint"),
            "reachable": ~keeps_latest(F.col("policy"), policies),
            "cause": F.lit("HIDDEN_RETRY"),
            "evidence": F.lit(RETRY_MIDDLE),
            "middle_after": F.lit(None).cast("string"),
        },
    )


def _candidates(items: DataFrame, hosts: DataFrame) -> DataFrame:
    """Each failure with each broker of its topic that the log does not name, and `hidden`: how many were tried."""
    since = F.col("at_ms") - ROUTE_LAG_MS
    unnamed = F.array_except(
        hosts_throughout(F.col("writable"), since, F.col("at_ms")), F.array("broker_name", "middle_after")
    )
    # An error without an address tells the first broker alone: then the last one is hidden too.
    hidden = F.when(F.col("broker_name") == F.col("middle_after"), 2).otherwise(1)
    failures = items.where("enforced AND middle_topic IS NOT NULL").withColumnRenamed("middle_topic", "topic")
    return (
        failures.join(F.broadcast(hosts), ["cluster", "topic"])
        .where("known_from_ms <= at_ms")
        .withColumn("hidden", hidden)
        .withColumn("broker_name", F.explode(unnamed))
        .withColumns({"asked_at_ms": F.col("at_ms"), "middle_topic": F.lit(None).cast("string")})
        .select(*written_columns(items), "asked_at_ms", "hidden")
    )


def _told(candidates: DataFrame) -> DataFrame:
    """The candidates that were tried without doubt, as far as the first pass knows their items."""
    was_available = F.coalesce(F.col("item.until_ms") < F.col("asked_at_ms"), F.lit(True))
    surely = F.coalesce(F.col("item.latest_ms") < F.col("asked_at_ms"), F.lit(True))
    of_attempt = Window.partitionBy(*OWNER, "row_hash")
    possible = candidates.where(was_available).withColumn("many", F.count("*").over(of_attempt))
    return possible.where("many <= hidden").where(surely)


def _available_still(told: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """Those that none told before them had isolated: what each leaves stands to its end or the item's next write."""
    each = F.struct(
        "asked_at_ms",
        "row_hash",
        (F.col("asked_at_ms") + F.col("not_available_ms")).alias("isolated_until_ms"),
        F.when(~keeps_latest(F.col("policy"), policies), F.col("item.at_ms")).alias("cleared_at_ms"),
    )
    nothing = F.struct(
        F.lit(0).cast("bigint").alias("at_ms"),
        F.lit(-1).cast("bigint").alias("until_ms"),
        F.array().cast("array<bigint>").alias("tried"),
    )

    def after(known: Column, middle: Column) -> Column:
        cleared = F.coalesce(middle["cleared_at_ms"] >= known["at_ms"], F.lit(False))
        isolated = (known["until_ms"] >= middle["asked_at_ms"]) & ~cleared
        tried = F.struct(
            middle["asked_at_ms"].alias("at_ms"),
            middle["isolated_until_ms"].alias("until_ms"),
            F.array_append(known["tried"], middle["row_hash"]).alias("tried"),
        )
        return F.when(isolated, known).otherwise(tried)

    in_order = told.groupBy(*ITEM).agg(F.array_sort(F.collect_list(each)).alias("in_order"))
    tried = in_order.select(*ITEM, F.explode(F.aggregate("in_order", nothing, after)["tried"]).alias("row_hash"))
    return told.join(tried, [*ITEM, "row_hash"], "left_semi")
