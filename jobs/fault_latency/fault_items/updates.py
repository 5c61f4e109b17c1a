"""Writes to fault items: from send attempts to `updateFaultItem` calls.

One attempt makes none (the caller chose the queue), one (sync, one-way) or up to four (async: the callback, the
submit call, and tries that have no line of their own). `evidence` says which part of the line shows it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.attempt_writes import direct, hidden_async, logged_async, makes_direct_write
from jobs.fault_latency.fault_items.replay import CARRIED, ITEM, UPDATE
from jobs.kinds import Evidence
from udfs.fault_window import FAR_MS
from udfs.outcome import effective_outcome
from udfs.policy import Policy, not_available_ms

_WRITE = (
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
    "detector",
    "process_ended_at_ms",
)


def updates(sends: DataFrame, policies: Sequence[Policy], *, has_async: bool = True) -> DataFrame:
    """One row per write of an attempt, as `replay` takes it.

    `ITEM`, `at_ms`, the order's columns, `op` UPDATE, `policy`, `profile`, `version`, `thread` (a submit call counts as
    a thread of its own; null = not known), `current_latency_ms`, `is_failure`, `reachable`, `cause` (LATENCY or the
    outcome), `evidence`, `not_available_ms`, `detector`, `process_ended_at_ms`.

    Args:
        sends: attempts that can be replayed, as `attempts_of` returns them.
        policies: every policy that a row may name.
        has_async: whether any attempt is async; without one the plan is a third as long.
    """
    outcome = effective_outcome(F.col("mode"), F.col("outcome"), F.col("cause"))
    described = sends.withColumn("seen_outcome", outcome)
    is_direct = F.col("mode") != "ASYNC"
    direct_attempts = described.where(is_direct).where(makes_direct_write(policies))
    written = direct_attempts.withColumn("write", direct(policies)).select(*_WRITE)
    if has_async:
        of_async = F.array_compact(F.array(*logged_async(), *hidden_async()))
        written = written.unionByName(
            described.where(~is_direct).withColumn("write", F.explode(of_async)).select(*_WRITE)
        )
    made = written.withColumns(
        {
            "op": F.lit(UPDATE),
            "not_available_ms": _earned(policies),
            "carried_until_ms": F.lit(None).cast("bigint"),
            "carried_earliest_ms": F.lit(None).cast("bigint"),
            "carried_latest_ms": F.lit(None).cast("bigint"),
            "carried_extensions": F.lit(0),
        }
    )
    # Only an uneven ladder makes a client fail; without one nothing is null, so nothing is looked at.
    return made if all(each.ladder.is_even for each in policies) else made.where("not_available_ms IS NOT NULL")


def _earned(policies: Sequence[Policy]) -> Column:
    """The isolation that a write earns; most stay below every ladder, so none is looked up for them."""
    latency_ms, is_failure = F.col("current_latency_ms"), F.col("is_failure")
    lowest = min((each.ladder.lowest_ms for each in policies), default=0)
    earned = not_available_ms(F.col("policy"), latency_ms, is_failure, policies)
    return F.when(~is_failure & (latency_ms < lowest), F.lit(0).cast("bigint")).otherwise(earned)


def carried_updates(opening: DataFrame, day_start_ms: int) -> DataFrame:
    """One row per fault item of the day before, as a write at 00:00 UTC of this one.

    Args:
        opening: `fault_item_state` of the day before, with `process_ended_at_ms`.
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
        F.coalesce("evidence", F.lit(Evidence.LOGGED)).alias("evidence"),
        F.lit(-1).cast("bigint").alias("seq"),
        nothing.alias("started_at_ms"),
        nothing.alias("invoke_id"),
        F.lit(None).cast("int").alias("attempt"),
        nothing.alias("row_hash"),
        "policy",
        "profile",
        F.col("client_version").alias("version"),
        F.lit(None).cast("string").alias("thread"),
        (~F.col("reachable") & (F.col("available_earliest_ms") < FAR_MS)).alias("detector"),
        "process_ended_at_ms",
        F.lit(CARRIED).alias("op"),
        F.lit(0).cast("bigint").alias("not_available_ms"),
        F.col("available_at_ms").alias("carried_until_ms"),
        F.col("available_earliest_ms").alias("carried_earliest_ms"),
        F.col("available_latest_ms").alias("carried_latest_ms"),
        F.coalesce("extensions", F.lit(0)).alias("carried_extensions"),
    )
