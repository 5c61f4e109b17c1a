"""What each send attempt wrote to fault items: from attempts to `updateFaultItem` calls.

One attempt makes none (the caller chose the queue), one (sync, one-way) or up to four (async: the callback, the
submit call, and retries that the log does not show). What is not logged but follows from the client's code names
its evidence, and is left out with `infer = false`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.attempt_writes import direct, inferred_async, logged_async
from jobs.fault_latency.replay import CARRIED, ITEM, UPDATE
from udfs.evidence import LOGGED
from udfs.outcome import REMOTING, effective_outcome, is_answer
from udfs.policy import Policy, not_available_ms

_V4_9_3 = 40903


def updates(sends: DataFrame, policies: Sequence[Policy], *, infer: bool) -> DataFrame:
    """The writes of the attempts, as `replay.replay` takes them.

    Grain: one write. `ITEM`, `at_ms`, the order's columns, `op` UPDATE, `policy`, `profile`, `version`,
    `thread` (a submit call counts as a thread of its own; null = not known), `current_latency_ms`, `is_failure`,
    `reachable`, `cause` (LATENCY or the outcome), `evidence`, `not_available_ms`, `dies_at_ms`, and
    `middle_topic`, `middle_after`: topic and first broker of a failure that ran out of time after three tries,
    whose middle one is not in the log (null for all others).

    Args:
        sends: attempts that can be replayed, with `producers.with_rules` and
            `processes.with_process`.
        policies: every policy that a row may name.
        infer: also the writes that are inferred rather than logged.
    """
    seen = sends.transform(with_addressed_broker).transform(_with_stale_line)
    outcome = effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause"))
    error_broker = F.col("error_broker") if infer else F.col("addressed_broker")
    described = seen.withColumns({"seen_outcome": outcome, "error_broker": error_broker})
    is_direct = F.col("mode") != "ASYNC"
    of_async = F.array(*logged_async(), *inferred_async(infer=infer))
    writes = F.when(is_direct, F.array(direct(policies))).otherwise(of_async)
    exploded = described.withColumn("write", F.explode(F.array_compact(writes))).select(
        *ITEM[:-1],
        "write.*",
        "seq",
        "started_at_ms",
        "invoke_id",
        "attempt",
        "row_hash",
        "policy",
        "profile",
        "version",
        "dies_at_ms",
    )
    made = exploded.withColumns(
        {
            "op": F.lit(UPDATE),
            "not_available_ms": not_available_ms(
                F.col("policy"), F.col("current_latency_ms"), F.col("is_failure"), policies
            ),
            "carried_until_ms": F.lit(None).cast("bigint"),
            "carried_earliest_ms": F.lit(None).cast("bigint"),
            "carried_latest_ms": F.lit(None).cast("bigint"),
            "carried_extensions": F.lit(0),
        }
    )
    return made.where("not_available_ms IS NOT NULL")


def carried_updates(opening: DataFrame, day_start_ms: int) -> DataFrame:
    """The fault items of the day before as the first writes of this one, at 00:00 UTC.

    Args:
        opening: `fault_item_state` of the day before, with `dies_at_ms`.
        day_start_ms: 00:00 UTC of the day, epoch ms.
    """
    nothing = F.lit(None).cast("bigint")
    return opening.select(
        *ITEM,
        F.lit(day_start_ms).cast("bigint").alias("at_ms"),
        F.lit(0).alias("step"),
        F.coalesce("opener_latency_ms", F.lit(0)).cast("bigint").alias("current_latency_ms"),
        F.lit(False).alias("is_failure"),
        F.col("reachable"),
        F.coalesce("cause", F.lit("LATENCY")).alias("cause"),
        F.coalesce("evidence", F.lit(LOGGED)).alias("evidence"),
        F.lit(-1).cast("bigint").alias("seq"),
        nothing.alias("started_at_ms"),
        nothing.alias("invoke_id"),
        F.lit(None).cast("int").alias("attempt"),
        nothing.alias("row_hash"),
        "policy",
        "profile",
        F.col("client_version").alias("version"),
        *(F.lit(None).cast("string").alias(name) for name in ("thread", "middle_topic", "middle_after")),
        "dies_at_ms",
        F.lit(CARRIED).alias("op"),
        F.lit(0).cast("bigint").alias("not_available_ms"),
        F.col("available_at_ms").alias("carried_until_ms"),
        F.col("available_earliest_ms").alias("carried_earliest_ms"),
        F.col("available_latest_ms").alias("carried_latest_ms"),
        F.coalesce("extensions", F.lit(0)).alias("carried_extensions"),
    )


def with_addressed_broker(sends: DataFrame) -> DataFrame:
    """With `addressed_broker` (at the attempt's address) and `error_broker` (at the last address in its error).

    The name of an address is the one that most attempts of the day give it. An MQBrokerException's text names the
    producer's address before the broker's, so the last one counts.
    """
    uses = sends.where("broker_addr IS NOT NULL").groupBy("cluster", "broker_addr", "broker_name").count()
    most = F.max_by("broker_name", F.struct("count", F.hash("broker_name"), "broker_name"))
    names = F.broadcast(uses.groupBy("cluster", "broker_addr").agg(most.alias("name")))
    by_address = names.select("cluster", "broker_addr", F.col("name").alias("addressed_broker"))
    by_error = names.select("cluster", F.col("broker_addr").alias("error_addr"), F.col("name").alias("error_broker"))
    seen_outcome = effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause"))
    addresses = F.regexp_extract_all("error", F.lit(r"(\d+\.\d+\.\d+\.\d+:\d+)"), 1)
    error_addr = F.when(seen_outcome.isin(*REMOTING, "MQBrokerException"), F.try_element_at(addresses, F.lit(-1)))
    return (
        sends.withColumn("error_addr", error_addr)
        .join(by_address, ["cluster", "broker_addr"], "left")
        .join(by_error, ["cluster", "error_addr"], "left")
        .withColumn("addressed_broker", F.coalesce("addressed_broker", "broker_name"))
        .withColumn("error_broker", F.coalesce("error_broker", "addressed_broker"))
        .drop("error_addr")
    )


def _with_stale_line(sends: DataFrame) -> DataFrame:
    """With `is_stale_line`: the second hook call of an async invocation that was refused at every try.

    From 4.9.3 the retries run inside the submit call; when it returns, the hook fires again with the exception
    of the last try still in its context.
    """
    refused = (F.col("mode") == "ASYNC") & F.col("submitted_at_ms").isNull() & ~is_answer(F.col("outcome"))
    retries_inside = F.col("version_number") >= _V4_9_3
    invocation = Window.partitionBy("cluster", "client_id", "producer_group", "process", "invoke_id", "attempt")
    in_order = invocation.orderBy("ended_at_ms", F.asc_nulls_last("seq"), "row_hash")
    line = F.row_number().over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    candidates = sends.where(refused & retries_inside & F.col("invoke_id").isNotNull())
    later = candidates.withColumn("line", line).where("line > 1")
    second = later.select("row_hash", F.lit(True).alias("is_stale_line"))
    return sends.join(F.broadcast(second), "row_hash", "left").withColumn(
        "is_stale_line", F.coalesce("is_stale_line", F.lit(False))
    )
