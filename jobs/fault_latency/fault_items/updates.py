"""Writes to fault items: from send attempts to `updateFaultItem` calls.

One attempt makes none (the caller chose the queue), one (sync, one-way) or up to four (async: the callback, the
submit call, and tries that have no line of their own). `evidence` says which part of the line shows it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.attempt_writes import direct, hidden_async, logged_async, makes_direct_write
from jobs.fault_latency.fault_items.replay import CARRIED, writes
from jobs.fault_latency.keys import OWNER, PROCESS
from jobs.fault_latency.producers.processes import shared_processes
from jobs.kinds import Evidence
from jobs.tables.day import Day
from udfs.fault_window import FAR_MS
from udfs.policy import Policy, not_available_ms

_WRITE = (
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
    "call_timeout_ms",
)


def updates(
    attempts: DataFrame, policies: Sequence[Policy], *, has_async: bool, owner: Sequence[str] = OWNER
) -> DataFrame:
    """One row per write of an attempt, as `replay` takes it.

    `owner`, `broker_name`, `at_ms`, the order's columns, `op` UPDATE, `policy`, `profile`, `version`,
    `current_latency_ms`, `is_failure`, `reachable`, `cause` (LATENCY or the outcome), `evidence`, `not_available_ms`,
    `detector`.

    Args:
        attempts: ATTEMPTS.
        policies: every policy that a row may name.
        has_async: whether any attempt is async; without one the plan is a third as long.
        owner: key of a process; every item is of one.
    """
    replayable, is_direct = attempts.where("not_replayed IS NULL"), F.col("mode") != "ASYNC"
    direct_attempts = replayable.where(is_direct).where(makes_direct_write(policies))
    written = direct_attempts.withColumn("write", direct(policies)).select(*owner, *_WRITE)
    if has_async:
        of_async = F.array_compact(F.array(*logged_async(), *hidden_async()))
        written = written.unionByName(
            replayable.where(~is_direct).withColumn("write", F.explode(of_async)).select(*owner, *_WRITE)
        )
    # A call's first try may have failed unseen, so what its line shows of a broker is inferred.
    evidence = F.when(F.col("call_timeout_ms").isNotNull(), Evidence.CALL).otherwise(F.col("evidence"))
    made = writes(written, (*owner, "broker_name"), not_available_ms=_earned(policies), evidence=evidence)
    # Only an uneven ladder makes a client fail; without one nothing is null, so nothing is looked at.
    return made if all(policy.ladder.is_even for policy in policies) else made.where("not_available_ms IS NOT NULL")


def within_day(writes: DataFrame, day: Day) -> DataFrame:
    """The writes, each at a time of the day: of an attempt that ended on it, the submit call may return beside it."""
    return writes.withColumn("at_ms", F.greatest(F.least("at_ms", F.lit(day.end_ms - 1)), F.lit(day.start_ms)))


def _earned(policies: Sequence[Policy]) -> Column:
    """The isolation that a write earns; most stay below every ladder, so none is looked up for them."""
    latency_ms, is_failure = F.col("current_latency_ms"), F.col("is_failure")
    lowest = min((policy.ladder.lowest_ms for policy in policies), default=0)
    earned = not_available_ms(F.col("policy"), latency_ms, is_failure, policies)
    return F.when(~is_failure & (latency_ms < lowest), F.lit(0).cast("bigint")).otherwise(earned)


def carried_updates(opening: DataFrame, sends_per_process: DataFrame, day: Day) -> DataFrame:
    """One row per fault item of the day before, as a write at 00:00 UTC of this one.

    Items of a process whose id turns out to be shared are not replayed further.

    Args:
        opening: `fault_item_state` of the day before.
        sends_per_process: SENDS_PER_PROCESS.
        day: the day and cluster.
    """
    items = opening.join(F.broadcast(shared_processes(sends_per_process)), list(PROCESS), "left_anti")
    return writes(
        items,
        at_ms=F.lit(day.start_ms),
        current_latency_ms=F.coalesce("opener_latency_ms", F.lit(0)),
        cause=F.coalesce("cause", F.lit("LATENCY")),
        evidence=F.coalesce("evidence", F.lit(Evidence.LOGGED)),
        seq=F.lit(-1),
        version=F.col("client_version"),
        detector=~F.col("reachable") & (F.col("available_earliest_ms") < FAR_MS),
        op=F.lit(CARRIED),
        carried_until_ms=F.col("available_at_ms"),
        carried_earliest_ms=F.col("available_earliest_ms"),
        carried_latest_ms=F.col("available_latest_ms"),
        carried_extensions=F.coalesce("extensions", F.lit(0)),
    )
