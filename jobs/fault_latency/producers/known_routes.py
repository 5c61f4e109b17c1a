"""The brokers that a topic's route named over time, and which of them a client that polls it may have known."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
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
    """One small row per `cluster` and `topic`: the brokers of its routes over the day.

    `queued`, `permitted` and `writable`, arrays of {broker_name, from_ms, until_ms}: the spans in which the broker had
    a write queue; had the write permission too; and a master. A client selects writable ones alone
    (`MQClientInstance.topicRouteData2TopicPublishInfo` 4.9.2:179-194), its fallback also one without a master. The
    day's first answer counts from the beginning, its last one without end.

    Args:
        topic_brokers: the day's intervals of unchanged routes.
    """
    known_spans = topic_brokers.groupBy(*_TOPIC).agg(
        F.min("start_ms").alias("known_from_ms"), F.max("end_ms").alias("known_until_ms")
    )
    first, last = F.col("start_ms") == F.col("known_from_ms"), F.col("end_ms") == F.col("known_until_ms")
    with_queues = (
        topic_brokers.join(known_spans, list(_TOPIC))
        .where("write_queue_nums > 0")
        .withColumns(
            {
                "from_ms": F.when(first, F.lit(0).cast("bigint")).otherwise(F.col("start_ms")),
                "until_ms": F.when(last, F.lit(FAR_MS)).otherwise(F.col("end_ms")),
            }
        )
    )
    permitted = with_queues.where(F.col("perm").bitwiseAND(WRITE_BIT) != 0)
    writable = permitted.where("has_master")
    return (
        _spans(with_queues, "queued")
        .join(_spans(permitted, "permitted"), list(_TOPIC))
        .join(_spans(writable, "writable"), list(_TOPIC))
    )


def _spans(with_queues: DataFrame, name: str) -> DataFrame:
    intervals = with_queues.drop("start_ms", "end_ms").withColumnsRenamed({"from_ms": "start_ms", "until_ms": "end_ms"})
    spans = coalesce_overlapping(intervals, (*_TOPIC, "broker_name"))
    span = F.struct("broker_name", F.col("start_ms").alias("from_ms"), F.col("end_ms").alias("until_ms"))
    return spans.groupBy(*_TOPIC).agg(F.collect_list(span).alias(name))


def hosts_throughout(spans: Column, since_ms: Column, until_ms: Column) -> Column:
    """The brokers that every answer valid in [`since_ms`, `until_ms`] named."""
    return F.filter(spans, lambda span: (span["from_ms"] <= since_ms) & (span["until_ms"] > until_ms))["broker_name"]


def hosts_at_some_time(spans: Column, since_ms: Column, until_ms: Column) -> Column:
    """The brokers that any answer valid in [`since_ms`, `until_ms`] named."""
    valid = F.filter(spans, lambda span: (span["from_ms"] <= until_ms) & (span["until_ms"] > since_ms))
    return F.array_distinct(valid["broker_name"])
