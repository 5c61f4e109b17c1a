"""Order keys that did not stay on one queue: each change, and what explains it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.producers.known_routes import ROUTE_AHEAD_MS, ROUTE_LAG_MS
from udfs.choice import began_at_ms
from udfs.order_of_events import order_of_attempts
from udfs.queue_by_hash import index_by_hash, string_hash

_KEY = ("cluster", "topic", "order_key")
_PROCESS = ("client_id", "producer_group", "process_id")
_NOT_JAVA = "NOT_A_JAVA_CLIENT"


def key_moves(sends: DataFrame, publish_queues: DataFrame) -> DataFrame:
    """One row per attempt that went to another queue than the one before of its topic and key.

    Columns of `order_key_moves` without the day. Attempts are taken in order of their end; those of one millisecond
    producer by producer, each producer's in its own order. A failed one counts, as it may be stored; an empty key is
    none.

    Args:
        sends: the day's attempts with their rules.
        publish_queues: each topic's lists of queues over the day (`PUBLISH_QUEUES`); may be empty.
    """
    ended, *then = order_of_attempts()
    in_time = Window.partitionBy(*_KEY).orderBy(ended, "client_id", "producer_group", *then)
    attempt = F.struct(
        *_PROCESS,
        "invoke_id",
        "attempt",
        "broker_name",
        "queue_id",
        "outcome",
        "ended_at_ms",
        began_at_ms().alias("chosen_at_ms"),
        "version_number",
        F.coalesce(F.col("not_replayed") == _NOT_JAVA, F.lit(False)).alias("has_own_selectors"),
    )
    with_key = sends.where("order_key <> '' AND topic IS NOT NULL AND queue_id IS NOT NULL")
    pairs = with_key.select(*_KEY, "row_hash", attempt.alias("this"), F.lag(attempt).over(in_time).alias("before"))
    to_another = (F.col("before.broker_name") != F.col("this.broker_name")) | (
        F.col("before.queue_id") != F.col("this.queue_id")
    )
    return (
        pairs.where(to_another)
        .join(F.broadcast(publish_queues), ["cluster", "topic"], "left")
        .withColumns({"lists": _lists("this"), "lists_before": _lists("before")})
        .withColumn("code", string_hash(F.col("order_key")))
        .withColumns({"by_hash": _by_hash("this", "lists"), "by_hash_before": _by_hash("before", "lists_before")})
        .select(
            *_KEY,
            F.col("this.ended_at_ms").alias("moved_at_ms"),
            "this.client_id",
            "this.producer_group",
            "this.outcome",
            F.col("before.broker_name").alias("from_broker_name"),
            F.col("before.queue_id").alias("from_queue_id"),
            F.col("this.broker_name").alias("to_broker_name"),
            F.col("this.queue_id").alias("to_queue_id"),
            F.col("before.ended_at_ms").alias("from_ended_at_ms"),
            F.col("before.client_id").alias("from_client_id"),
            F.col("before.producer_group").alias("from_producer_group"),
            F.col("before.outcome").alias("from_outcome"),
            F.size(F.element_at("lists_before", 1)).alias("queues_before"),
            F.size(F.element_at("lists", -1)).alias("queues"),
            "by_hash_before",
            "by_hash",
            _cause().alias("cause"),
            "row_hash",
        )
    )


def _lists(side: str) -> Column:
    """The lists of queues that the attempt's client may have known when it chose, oldest first; null = not known."""
    at_ms = F.col(f"{side}.chosen_at_ms")
    valid = F.filter(
        "spans", lambda span: (span["from_ms"] <= at_ms + ROUTE_AHEAD_MS) & (span["until_ms"] > at_ms - ROUTE_LAG_MS)
    )
    return F.when(~F.exists(valid, lambda span: span["queues"].isNull()), valid["queues"])


def _by_hash(side: str, lists: str) -> Column:
    """Whether the selector by hash names the attempt's queue in one of the lists."""

    def names_it(queues: Column) -> Column:
        index = index_by_hash(F.col("code"), F.size(queues), F.col(f"{side}.version_number"))
        queue = F.get(queues, index)
        is_named = (queue["broker_name"] == F.col(f"{side}.broker_name")) & (
            queue["queue_id"] == F.col(f"{side}.queue_id")
        )
        return F.coalesce(is_named, F.lit(False))

    return F.when(~F.col(f"{side}.has_own_selectors"), F.exists(lists, names_it))


def _cause() -> Column:
    this, before = (F.struct(*(f"{side}.{name}" for name in _PROCESS)) for side in ("this", "before"))
    same_send = this.eqNullSafe(before) & (F.col("this.invoke_id") == F.col("before.invoke_id"))
    queues_changed = F.size(F.array_distinct(F.concat("lists_before", "lists"))) > 1
    same_producer = (F.col("this.client_id") == F.col("before.client_id")) & (
        F.col("this.producer_group") == F.col("before.producer_group")
    )
    return (
        F.when(same_send & (F.col("this.attempt") > F.col("before.attempt")), "RETRIED")
        .when(F.col("lists").isNotNull() & F.col("lists_before").isNotNull() & queues_changed, "QUEUES_CHANGED")
        .when(F.col("lists_before").isNull() | F.col("by_hash").isNull(), "UNKNOWN")
        .when(F.col("by_hash"), "BACK_BY_HASH")
        .when(~same_producer, "OTHER_PRODUCER")
        .otherwise("NOT_BY_HASH")
    )
