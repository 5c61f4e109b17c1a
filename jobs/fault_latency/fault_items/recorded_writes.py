"""Writes that clients recorded themselves, in place of those that their sends would have made.

By process, from its first recorded line to its last, fault items rest on the record, but for its holes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.attempt_writes import AFTER_LINE
from jobs.fault_latency.fault_items.record_holes import numbered_lines, torn_processes, unknown_times
from jobs.fault_latency.fault_items.replay import REMOVE, UPDATE, writes
from jobs.fault_latency.frames import NUMBERED_LINES, RECORDED_LINES
from jobs.fault_latency.keys import ITEM, OWNER, PROCESS
from jobs.fault_latency.producers.processes import process
from jobs.kinds import Evidence
from jobs.spark.materialize import Materialize
from jobs.tables.day import Day
from udfs import recorded
from udfs.outcome import is_answer
from udfs.policy import Policy, not_available_ms

_SOON_MS = 1_000
"""The line of a failed attempt is written this soon before or after its update."""
_THREADS = 16
"""So many lines before one may have read the clock after it."""
_HIDDEN = "HIDDEN_RETRY"


@dataclass(frozen=True)
class Recorded:
    """What clients recorded of their fault items on one day.

    Attributes:
        writes: one row per recorded change, as `replay` takes it; causes are not looked up yet (`with_causes`).
        owners: one row per `OWNER` with a record: `last_recorded_seq`, `last_recorded_ms` (its last line), and
            `recorded_updates`, its lines.
        unknown: one row per hole and item, as `unknown_times` returns them.
    """

    writes: DataFrame
    owners: DataFrame
    unknown: DataFrame


def recorded_of(
    updates: DataFrame,
    attempts: DataFrame,
    sends_per_process: DataFrame,
    opening: DataFrame,
    day: Day,
    materialize: Materialize,
) -> Recorded:
    """The day's record.

    Processes of which neither a send of the day nor an item of the day before says the version are left out: their
    rules are not known.

    Args:
        updates: rows of `fault_item_updates` of the day.
        attempts: every attempt of the day.
        sends_per_process: SENDS_PER_PROCESS.
        opening: `fault_item_state` of the day before; empty when it is not in the lake.
        day: the day and cluster.
        materialize: writes RECORDED_LINES and NUMBERED_LINES.
    """
    rules = _rules_of_processes(sends_per_process, opening)
    of_processes = updates.withColumns({"process": process(), "enforced": F.lit(True)})
    lines = materialize(RECORDED_LINES, of_processes.join(F.broadcast(rules), list(PROCESS)))
    owners = lines.groupBy(*OWNER).agg(
        F.max("seq").alias("last_recorded_seq"),
        F.max("called_at_ms").alias("last_recorded_ms"),
        F.count("*").alias("recorded_updates"),
    )
    torn = torn_processes(lines, sends_per_process, opening)
    numbered = materialize(NUMBERED_LINES, numbered_lines(lines, attempts, torn, day))
    return Recorded(_writes(lines, day), owners, unknown_times(numbered, sends_per_process))


def without_recorded(writes: DataFrame, record: Recorded) -> DataFrame:
    """The writes derived from sends that count: without a record, where it has a hole, and after its end."""
    of = {name: f"of_{name}" for name in ITEM}
    same_item = [F.col(name) == F.col(other) for name, other in of.items()]
    is_unknown = (F.col("at_ms") >= F.col("unknown_from_ms")) & (F.col("at_ms") < F.col("unknown_until_ms"))
    # An update comes after its attempt's line or before it; of lines on the other side of the holes none is lost.
    may_be_lost = F.when(F.col("step") == AFTER_LINE, F.col("seq") < F.col("lost_before_seq")).otherwise(
        F.col("seq") > F.col("lost_after_seq")
    )
    others = writes.join(F.broadcast(record.owners), list(OWNER), "left_anti")
    at_the_end = (
        writes.where(F.col("step") == AFTER_LINE)
        .join(F.broadcast(record.owners), list(OWNER))
        .where("seq > last_recorded_seq")
        .drop("last_recorded_seq", "last_recorded_ms", "recorded_updates")
    )
    unknown = F.broadcast(record.unknown.withColumnsRenamed(of))
    return others.unionByName(at_the_end).unionByName(
        writes.join(unknown, [*same_item, is_unknown, may_be_lost], "left_semi")
    )


def with_causes(writes: DataFrame, attempts: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """The recorded writes, those that a failure made with its outcome as their cause and its `attempt`.

    An update says how long it isolates, not why: longer than its latency earns is a failure. The nearest line of a
    failed attempt to that broker, by `seq`, is its; HIDDEN_RETRY when there is none.

    Args:
        writes: as `Recorded.writes`.
        attempts: ATTEMPTS.
        policies: every policy that a row may name.
    """
    earned = F.coalesce(
        not_available_ms(F.col("policy"), F.col("current_latency_ms"), F.lit(False), policies), F.lit(0)
    )
    judged = writes.withColumn("is_failure", (F.col("not_available_ms") > 0) & (F.col("not_available_ms") != earned))
    failed = attempts.where(~is_answer(F.col("outcome"))).select(
        *OWNER,
        F.explode(F.array_compact(F.array_distinct(F.array("broker_name", "addressed_broker", "error_broker")))).alias(
            "broker_name"
        ),
        F.col("ended_at_ms").alias("failed_at_ms"),
        F.col("seq").alias("failed_seq"),
        F.struct(F.col("effective_outcome").alias("outcome"), "attempt").alias("failure"),
    )
    distance = F.struct(F.abs(F.col("failed_seq") - F.col("seq")), "failed_seq")
    near = F.abs(F.col("failed_at_ms") - F.col("at_ms")) <= _SOON_MS
    causes = (
        judged.where("is_failure")
        .select(*ITEM, "at_ms", "seq", "row_hash")
        .join(failed, list(ITEM))
        .where(near)
        .groupBy(*OWNER, "row_hash")
        .agg(F.min_by("failure", distance).alias("found"))
    )
    cause = F.when(F.col("is_failure"), F.coalesce("found.outcome", F.lit(_HIDDEN))).otherwise(F.col("cause"))
    looked_up = judged.join(causes, [*OWNER, "row_hash"], "left")
    return looked_up.withColumns({"cause": cause, "attempt": F.col("found.attempt")}).drop("found")


def _rules_of_processes(sends_per_process: DataFrame, opening: DataFrame) -> DataFrame:
    """One row per process: its rules; those of a silent one as of the day before.

    The switch is on even if its sends deny it: a client that updates its items has it on.
    """
    rules = ("version", "profile", "policy")
    today = sends_per_process.where("not_replayed IS NULL").select(*PROCESS, *rules)
    all_today = sends_per_process.select(*PROCESS)
    silent = opening.withColumnRenamed("client_version", "version").join(all_today, list(PROCESS), "left_anti")
    first = F.min(F.struct(*rules)).alias("first")
    return today.unionByName(silent.select(*PROCESS, *rules)).groupBy(*PROCESS).agg(first).select(*PROCESS, "first.*")


def _writes(lines: DataFrame, day: Day) -> DataFrame:
    """One row per recorded change of an item, as `replay` takes it; what the fallback picks changes none."""
    is_update = F.col("op") == recorded.UPDATE
    removes = F.col("op").isin(recorded.REMOVE, recorded.DROPPED)
    detector = F.col("op").isin(recorded.REACHABLE, recorded.DROPPED)
    changes = lines.where(F.col("op") != recorded.PICKED).withColumn("at_ms", _decided_at_ms())
    return writes(
        changes,
        at_ms=F.least(F.greatest("at_ms", F.lit(day.start_ms)), F.lit(day.end_ms - 1)),
        current_latency_ms=F.coalesce("current_latency_ms", F.lit(0)),
        reachable=F.when(~removes, F.col("reachable")),
        cause=F.when(detector, F.lit("DETECTOR")).otherwise(F.lit("LATENCY")),
        evidence=F.lit(Evidence.RECORDED),
        op=F.when(removes, F.lit(REMOVE)).otherwise(F.lit(UPDATE)),
        not_available_ms=F.when(is_update, F.col("not_available_ms")).otherwise(F.lit(0)),
        carried_until_ms=F.when(~removes, F.col("available_at_ms")),
    )


def _decided_at_ms() -> Column:
    """The client's own clock when it updated the item: the end that it set, less the isolation.

    When the call returned, where the end is another update's or there is none. Never before the lines before it, so
    that the order stays that of `seq`: two threads may read the clock in another order than they count.
    """
    in_order = Window.partitionBy(*ITEM).orderBy(F.asc_nulls_last("seq"), "called_at_ms", "row_hash")
    returned = F.col("called_at_ms")
    before = F.max("called_at_ms").over(in_order.rowsBetween(-_THREADS, -1))
    own = F.when(F.col("not_available_ms") > 0, F.col("available_at_ms") - F.col("not_available_ms"))
    decided = F.when(own.between(returned - _SOON_MS, returned), own).otherwise(returned)
    return F.greatest(decided, F.when(before - returned <= _SOON_MS, before))
