"""The attempts whose queue the client chose, and the brokers that each process could choose from."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.keys import PROCESS, PRODUCER
from jobs.fault_latency.producers.known_routes import WRITE_BIT
from jobs.tables.day import DAY_MS
from udfs.choice import chosen_at_ms, is_bad


def choices(attempts: DataFrame, slow_ms: int) -> DataFrame:
    """One row per attempt whose queue the client chose.

    `event_date`, `PROCESS`, `topic`, `broker_name`, `chosen_at_ms`, `bad` (1 or 0).
    """
    day_start_ms = F.unix_date("event_date").cast("bigint") * DAY_MS
    return attempts.where("NOT by_caller").select(
        "event_date",
        *PROCESS,
        "topic",
        "broker_name",
        chosen_at_ms(day_start_ms).alias("chosen_at_ms"),
        is_bad(F.col("outcome"), F.col("latency_ms"), slow_ms).cast("bigint").alias("bad"),
    )


def brokers_of_process(chosen: DataFrame, topic_brokers: DataFrame) -> DataFrame:
    """One row per `event_date` and `PROCESS`: brokers it could choose from, by its attempts and its topics' routes.

    `brokers` is a sorted array without duplicates. A route counts for its whole day.

    Args:
        chosen: as `choices` returns them.
        topic_brokers: the days' intervals of unchanged routes; may be empty.
    """
    topic = ["event_date", "cluster", "topic"]
    writable = (F.col("write_queue_nums") > 0) & (F.col("perm").bitwiseAND(WRITE_BIT) != 0)
    routed = (
        topic_brokers.where(writable & F.col("has_master"))
        .groupBy(*topic)
        .agg(F.collect_set("broker_name").alias("hosts"))
    )
    used = chosen.select("event_date", *PROCESS, "topic", "broker_name").distinct()
    named = used.join(F.broadcast(routed), topic, "left")
    both = F.concat(F.collect_set("broker_name"), F.flatten(F.collect_set("hosts")))
    return named.groupBy("event_date", *PROCESS).agg(F.array_sort(F.array_distinct(both)).alias("brokers"))


def totals(chosen: DataFrame) -> DataFrame:
    """One row per `event_date`, `cluster`, `broker_name`: `producers`, `sends`, `bad_sends`."""
    of_producer = chosen.groupBy("event_date", *PRODUCER, "broker_name").agg(
        F.count("*").alias("sends"), F.sum("bad").alias("bad_sends")
    )
    return of_producer.groupBy("event_date", "cluster", "broker_name").agg(
        F.count("*").alias("producers"), F.sum("sends").alias("sends"), F.sum("bad_sends").alias("bad_sends")
    )
