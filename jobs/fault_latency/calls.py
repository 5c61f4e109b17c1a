"""Sends as their callers saw them: the attempts of one invoke id together, and what fault latency did to them."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.choices import with_chosen_at
from jobs.fault_latency.health import health_bucket
from jobs.fault_latency.producers import PRODUCER
from jobs.fault_latency.second_look import OWNER
from udfs.outcome import ANSWERS, is_answer


def send_calls(attempts: DataFrame, choices: DataFrame, health: DataFrame, slow_ms: int) -> DataFrame:
    """The table's rows, without day.

    Grain: `cluster`, `client_id`, `producer_group`, `row_hash` (the first attempt). An attempt without an invoke id
    is a send of its own.

    Args:
        attempts: the day's attempts with their rules and process.
        choices: as `choices.choices` returns them.
        health: as `health.broker_health` returns it.
        slow_ms: an answer this late counts as slow.
    """
    known = choices.select(
        *PRODUCER,
        "row_hash",
        F.array_intersect("isolated", "all_hosts").alias("isolated_brokers"),
        F.col("since_ms").isNotNull().alias("went_to_isolated"),
    )
    return (
        _together(attempts, slow_ms)
        .join(known, [*PRODUCER, "row_hash"], "left")
        .withColumn("bucket", health_bucket(F.col("started_ms")))
        .join(F.broadcast(health), ["cluster", "bucket"], "left")
        .withColumn("isolated_brokers", F.when(F.size("isolated_brokers") > 0, F.col("isolated_brokers")))
        .withColumn("fault_latency", _effect())
        .drop("bucket", "is_bad_broker", "went_to_isolated", "by_caller", "is_replayed", "is_bad_first")
    )


def _together(attempts: DataFrame, slow_ms: int) -> DataFrame:
    """One row per send, from its attempts in their total order."""
    tried = F.struct(
        "ended_at_ms",
        F.col("seq").isNull().alias("has_no_seq"),
        "seq",
        "chosen_at_ms",
        "attempt",
        "row_hash",
        "broker_name",
        "result_broker_name",
        "latency_ms",
        "outcome",
    )
    of_send = F.struct("version", "topic", "mode", "by_caller", F.col("not_replayed").isNull().alias("is_replayed"))
    own_number = F.when(F.col("invoke_id").isNull(), F.col("row_hash"))
    told = (
        attempts.transform(with_chosen_at)
        .groupBy(*OWNER, "invoke_id", own_number.alias("own_number"))
        .agg(F.array_sort(F.collect_list(tried)).alias("tries"), F.first(of_send).alias("send"))
    )
    first, last = F.get("tries", F.lit(0)), F.element_at("tries", -1)
    brokers = F.flatten(
        F.transform(
            "tries",
            lambda each: F.when(
                each["result_broker_name"] != each["broker_name"],
                F.array(each["broker_name"], each["result_broker_name"]),
            ).otherwise(F.array(each["broker_name"])),
        )
    )
    numbers = F.array_distinct(F.transform("tries", lambda each: F.coalesce(each["attempt"], each["row_hash"])))
    # A clock that was set back may end a send before its start.
    started = F.least(F.array_min(F.transform("tries", lambda each: each["chosen_at_ms"])), last["ended_at_ms"])
    answered_late = last["outcome"].isin(*ANSWERS) & (last["ended_at_ms"] - started >= slow_ms)
    return told.select(
        *OWNER,
        F.col("send.version").alias("client_version"),
        "send.topic",
        "send.mode",
        "send.by_caller",
        "send.is_replayed",
        "invoke_id",
        started.alias("started_ms"),
        last["ended_at_ms"].alias("ended_ms"),
        (last["ended_at_ms"] - started).alias("total_ms"),
        F.size(numbers).alias("attempts"),
        brokers.alias("broker_names"),
        last["outcome"].alias("outcome"),
        (~is_answer(last["outcome"])).alias("failed"),
        ((F.size(numbers) > 1) | (F.size(brokers) > F.size("tries"))).alias("retried"),
        answered_late.alias("slow"),
        first["row_hash"].alias("row_hash"),
        (~is_answer(first["outcome"]) | (first["latency_ms"] >= slow_ms)).alias("is_bad_first"),
    )


def _effect() -> Column:
    """`fault_latency` of a send: what it was spared, or what it cost, by how others fared in the same second."""
    bad = F.col("failed") | F.col("slow")
    known = F.transform("isolated_brokers", lambda broker: F.col("is_bad_broker")[broker])
    others_bad = F.exists(known, lambda is_bad: F.coalesce(is_bad, F.lit(False)))
    others_known = F.exists(known, lambda is_bad: is_bad.isNotNull())
    to_isolated, off = F.col("went_to_isolated"), ~F.col("enforced")
    return (
        F.when(~F.col("is_replayed"), "NOT_REPLAYED")
        .when(F.col("by_caller"), "CALLER_CHOSE_QUEUE")
        .when(F.col("isolated_brokers").isNull(), "NONE_ISOLATED")
        .when(off & to_isolated & F.col("is_bad_first"), "WOULD_HAVE_SPARED")
        .when(off & to_isolated, "WOULD_HAVE_COST")
        .when(off, "NO_DIFFERENCE")
        .when(to_isolated, "SENT_TO_ISOLATED")
        .when(others_bad & ~bad, "SPARED")
        .when(others_bad, "NO_DIFFERENCE")
        .when(~F.coalesce(others_known, F.lit(False)), "UNKNOWN")
        .when(bad, "COST")
        .otherwise("NO_DIFFERENCE")
    )
