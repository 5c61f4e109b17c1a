"""What each send attempt wrote to fault items: from attempts to `updateFaultItem` calls.

One attempt makes none (the caller chose the queue), one (sync, one-way) or up to four (async: the callback, the
submit call, and retries that the log does not show). What is not logged but follows from the client's code names
its evidence, and is left out with `infer = false`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.replay import CARRIED, ITEM, UPDATE
from udfs.outcome import (
    REMOTING,
    counts_as_failure,
    counts_with_latency,
    effective_outcome,
    is_answer,
    leaves_reachable,
)
from udfs.policy import Policy, not_available_ms

LOGGED = "LOGGED"
RETRY_RESULT = "INFERRED_FROM_RESULT_BROKER"
RETRY_ERROR = "INFERRED_FROM_ERROR_ADDRESS"
SUBMIT_TIME = "INFERRED_SUBMIT_TIME"

# Where a write stands among those of its own attempt when the millisecond is the same: the submit call and a
# failed callback come before the hook's line, a direct attempt's and a successful callback's update after it.
_BEFORE_FAILURE, _SUBMITTED, _BEFORE_LINE, _AFTER_LINE, _LATE_SUBMIT = 1, 2, 3, 4, 5

_V4_9_3, _V5_1_4, _V5_2_0 = 40903, 50104, 50200
_SLOW_CONNECT_MS = 10


def updates(sends: DataFrame, policies: Sequence[Policy], *, infer: bool) -> DataFrame:
    """The writes of the attempts, as `replay.replay` takes them.

    Grain: one write. `ITEM`, `at_ms`, the order's columns, `op` UPDATE, `policy`, `profile`, `version`,
    `thread`, `current_latency_ms`, `is_failure`, `reachable`, `cause` (LATENCY or the outcome), `evidence`,
    `not_available_ms`, `dies_at_ms`.

    Args:
        sends: attempts that can be replayed, with `producers.with_rules` and `with_process`.
        policies: every policy that a row may name.
        infer: also the writes that are inferred rather than logged.
    """
    seen = sends.transform(_with_addressed_broker).transform(_with_stale_line)
    outcome = effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause"))
    described = seen.withColumns({"seen_outcome": outcome, "error_broker": F.col("error_broker") if infer else F.col("addressed_broker")})
    direct = F.col("mode") != "ASYNC"
    writes = F.when(direct, F.array(_direct(policies))).otherwise(F.array(*_async(infer=infer)))
    exploded = described.withColumn("write", F.explode(F.array_compact(writes))).select(
        *ITEM[:-1], "write.*", "seq", "started_at_ms", "invoke_id", "attempt", "row_hash", "policy", "profile",
        "version", "thread", "dies_at_ms",
    )
    return exploded.withColumns(
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
        nothing.alias("started_at_ms"), nothing.alias("invoke_id"), F.lit(None).cast("int").alias("attempt"),
        nothing.alias("row_hash"),
        "policy", "profile", F.col("client_version").alias("version"), F.lit(None).cast("string").alias("thread"),
        "dies_at_ms",
        F.lit(CARRIED).alias("op"),
        F.lit(0).cast("bigint").alias("not_available_ms"),
        F.col("available_at_ms").alias("carried_until_ms"),
        F.col("available_earliest_ms").alias("carried_earliest_ms"),
        F.col("available_latest_ms").alias("carried_latest_ms"),
        F.coalesce("extensions", F.lit(0)).alias("carried_extensions"),
    )


def _write(
    broker: Column, at_ms: Column, step: int, latency_ms: Column, *, failure: Column, reachable: Column, cause: Column,
    evidence: str | Column,
) -> Column:
    return F.struct(
        broker.alias("broker_name"),
        at_ms.alias("at_ms"),
        F.lit(step).alias("step"),
        latency_ms.alias("current_latency_ms"),
        failure.alias("is_failure"),
        reachable.alias("reachable"),
        F.when(failure, cause).otherwise(F.lit("LATENCY")).alias("cause"),
        (F.lit(evidence) if isinstance(evidence, str) else evidence).alias("evidence"),
    )


def _direct(policies: Sequence[Policy]) -> Column:
    """Sync and one-way attempts: one update after the hook's line, none when the caller chose the queue."""
    outcome = F.col("seen_outcome")
    isolates_not_exist = F.col("policy").isin([each.name for each in policies if each.not_exist_isolates])
    failure = counts_as_failure(outcome, isolates_not_exist)
    counts = ~F.col("by_caller") & (failure | counts_with_latency(outcome, isolates_not_exist))
    return F.when(
        counts,
        _write(
            F.col("broker_name"), F.col("ended_at_ms"), _AFTER_LINE, F.col("latency_ms"), failure=failure,
            reachable=leaves_reachable(outcome, F.col("detector")), cause=outcome, evidence=LOGGED,
        ),
    )


def _async(*, infer: bool) -> list[Column]:
    """Async attempts: the callback, the submit call, and what a hidden retry did before the callback.

    The callback follows the address, not the name: the hook's name is a live object that may be renamed.
    """
    version, ended, latency, submitted = (
        F.col(name) for name in ("version_number", "ended_at_ms", "latency_ms", "submitted_at_ms")
    )
    first = F.col("addressed_broker")
    answered = is_answer(F.col("seen_outcome"))
    answering = F.coalesce("result_broker_name", first) if infer else first
    retried = answered & (answering != first)
    yes, no = F.lit(True), F.lit(False)

    submit_took = submitted - F.coalesce("started_at_ms", ended - latency)
    # Up to 5.1.4 the callback's clock (ResponseFuture.beginTimestamp) starts after the connect.
    connected_late = (version < _V5_2_0) & (submit_took > _SLOW_CONNECT_MS)
    answer_latency = F.when(retried & F.lit(infer), F.lit(0)).when(connected_late, ended - submitted).otherwise(latency)
    answer = F.when(
        answered,
        _write(answering, ended, _AFTER_LINE, answer_latency, failure=no, reachable=yes, cause=F.col("seen_outcome"),
               evidence=LOGGED),
    )

    failed = ~answered & ~F.col("is_stale_line")
    thrown_at_submit = failed & submitted.isNull() & (version < _V4_9_3) & (F.col("seen_outcome") != "MQBrokerException")
    refused_flag = ~((version == _V5_1_4) & F.col("seen_outcome").isin("RemotingConnectException", "RemotingTooMuchRequestException"))
    last_tried = F.when(version >= _V4_9_3, F.col("error_broker")).otherwise(first)
    failure = F.when(
        failed & ~thrown_at_submit,
        _write(last_tried, ended, _BEFORE_LINE, F.when(last_tried == first, latency).otherwise(F.lit(0)), failure=yes,
               reachable=refused_flag, cause=F.col("seen_outcome"),
               evidence=F.when(last_tried == first, LOGGED).otherwise(RETRY_ERROR)),
    )
    refusal = F.when(
        thrown_at_submit & ~F.col("by_caller"),
        _write(first, ended, _AFTER_LINE, latency, failure=yes, reachable=yes, cause=F.col("seen_outcome"), evidence=LOGGED),
    )

    submit = F.when(
        ~F.col("by_caller") & submitted.isNotNull(),
        _write(first, submitted, _SUBMITTED, submit_took, failure=no, reachable=yes, cause=F.lit("LATENCY"), evidence=LOGGED),
    )
    stale_submit = F.when(
        ~F.col("by_caller") & F.col("is_stale_line"),
        _write(first, ended, _AFTER_LINE, latency, failure=no, reachable=yes, cause=F.lit("LATENCY"), evidence=LOGGED),
    )
    logged = [answer, failure, refusal, submit, stale_submit]
    if not infer:
        return logged

    late_submit = F.when(
        ~F.col("by_caller") & submitted.isNull() & answered,
        _write(first, ended, _LATE_SUBMIT, latency, failure=no, reachable=yes, cause=F.lit("LATENCY"), evidence=SUBMIT_TIME),
    )
    first_failed = F.when(
        retried | (failed & ~thrown_at_submit & (last_tried != first)),
        _write(first, ended, _BEFORE_FAILURE, latency, failure=yes, reachable=yes, cause=F.lit("HIDDEN_RETRY"),
               evidence=F.when(retried, RETRY_RESULT).otherwise(RETRY_ERROR)),
    )
    return [*logged, late_submit, first_failed]


def _with_addressed_broker(sends: DataFrame) -> DataFrame:
    """With `addressed_broker` (the broker at the attempt's address) and `error_broker` (at the address in its error).

    The name of an address is the one that most attempts of the day give it.
    """
    uses = sends.where("broker_addr IS NOT NULL").groupBy("cluster", "broker_addr", "broker_name").count()
    most = F.max_by("broker_name", F.struct("count", F.hash("broker_name"), "broker_name"))
    names = F.broadcast(uses.groupBy("cluster", "broker_addr").agg(most.alias("name")))
    by_address = names.select("cluster", "broker_addr", F.col("name").alias("addressed_broker"))
    by_error = names.select("cluster", F.col("broker_addr").alias("error_addr"), F.col("name").alias("error_broker"))
    error_addr = F.when(
        effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause")).isin(*REMOTING),
        F.nullif(F.regexp_extract("error", r"(\d+\.\d+\.\d+\.\d+:\d+)", 1), F.lit("")),
    )
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
    invocation = Window.partitionBy("cluster", "client_id", "producer_group", "process", "invoke_id", "attempt")
    in_order = invocation.orderBy("ended_at_ms", F.asc_nulls_last("seq"), "row_hash")
    line = F.row_number().over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    second = (
        sends.where(refused & F.col("invoke_id").isNotNull()).withColumn("line", line).where("line > 1")
        .select("row_hash", F.lit(True).alias("is_stale_line"))
    )
    return sends.join(F.broadcast(second), "row_hash", "left").withColumn(
        "is_stale_line", F.coalesce("is_stale_line", F.lit(False))
    )
