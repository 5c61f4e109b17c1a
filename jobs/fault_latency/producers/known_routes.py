"""The brokers that a topic's route named over time, and which of them a client that polls it may have known."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.intervals.coalesce import coalesce_overlapping
from udfs.fault_window import FAR_MS

ROUTE_LAG_MS = 40_000
"""A client polls each 30 s, routes are captured each 10 s: an answer this old may still be in use."""

ROUTE_AHEAD_MS = 15_000
"""The client may have learnt a route before it was captured."""

_TOPIC = ("cluster", "topic")
WRITE_BIT = 2
"""Of a route's `perm`."""


def known_routes_of(topic_brokers: DataFrame) -> DataFrame:
    """One small row per `cluster` and `topic` that had a writable broker: the brokers of its routes over the day.

    `queued`, `permitted` and `writable`, arrays of {broker_name, from_ms, until_ms}: the spans in which the broker had
    a write queue; had the write permission too; and a master. A client selects writable ones alone
    (`MQClientInstance.topicRouteData2TopicPublishInfo` 4.9.2:179-194), its fallback also one without a master. The
    day's first answer counts from the beginning, its last one without end.

    Args:
        topic_brokers: the day's intervals of unchanged routes.
    """
    of_topic = Window.partitionBy(*_TOPIC).rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    is_first = F.col("start_ms") == F.min("start_ms").over(of_topic)
    is_last = F.col("end_ms") == F.max("end_ms").over(of_topic)
    is_permitted = F.col("perm").bitwiseAND(WRITE_BIT) != 0
    kinds = F.array(
        F.lit("queued"), F.when(is_permitted, "permitted"), F.when(is_permitted & F.col("has_master"), "writable")
    )
    with_queues = (
        topic_brokers.withColumns({"is_first": is_first, "is_last": is_last})
        .where("write_queue_nums > 0")
        .select(
            *_TOPIC,
            "broker_name",
            F.when(F.col("is_first"), F.lit(0).cast("bigint")).otherwise(F.col("start_ms")).alias("start_ms"),
            F.when(F.col("is_last"), F.lit(FAR_MS)).otherwise(F.col("end_ms")).alias("end_ms"),
            F.explode(F.array_compact(kinds)).alias("kind"),
        )
    )
    span = F.struct("broker_name", F.col("start_ms").alias("from_ms"), F.col("end_ms").alias("until_ms"))
    spans = [
        F.collect_list(F.when(F.col("kind") == kind, span)).alias(kind) for kind in ("queued", "permitted", "writable")
    ]
    merged = coalesce_overlapping(with_queues, (*_TOPIC, "broker_name", "kind"))
    return merged.groupBy(*_TOPIC).agg(*spans).where(F.size("writable") > 0)


def hosts_throughout(spans: Column, since_ms: Column, until_ms: Column) -> Column:
    """The brokers that every answer valid in [`since_ms`, `until_ms`] named."""
    return F.filter(spans, lambda span: (span["from_ms"] <= since_ms) & (span["until_ms"] > until_ms))["broker_name"]


def hosts_at_some_time(spans: Column, since_ms: Column, until_ms: Column) -> Column:
    """The brokers that any answer valid in [`since_ms`, `until_ms`] named."""
    valid = F.filter(spans, lambda span: (span["from_ms"] <= until_ms) & (span["until_ms"] > since_ms))
    return F.array_distinct(valid["broker_name"])
