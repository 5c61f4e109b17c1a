"""Writes to fault items and isolations, of clients and of the replay, in one form.

One row each: `WRITER`, `broker_name`, `side` (CLIENT or REPLAY), `what` (ISOLATED, UNREACHABLE, or STRETCH for an
isolation as a whole), `at_ms`, `until_ms` (end of an isolation; null for the flag), `is_off_ladder` (the client
isolated for a time that the ladder of its sends does not give; null = not known).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import UPDATE
from jobs.fault_latency.keys import ITEM
from jobs.kinds import Source
from jobs.verify.writers import WRITER
from udfs import recorded
from udfs.policy import Policy, keeps_latest, not_available_ms

CLIENT, REPLAY = "CLIENT", "REPLAY"
ISOLATED, UNREACHABLE, STRETCH = "ISOLATED", "UNREACHABLE", "STRETCH"


def recorded_writes(updates: DataFrame, writers: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """The recorded updates that isolate.

    Args:
        updates: rows of `fault_item_updates` of the day.
        writers: as `facts.facts_of_writers` returns them.
        policies: every policy that a row may name.
    """
    isolates_ms, latency_ms, policy = F.col("not_available_ms"), F.col("current_latency_ms"), F.col("policy")
    earned, of_failure = (
        F.coalesce(not_available_ms(policy, latency_ms, F.lit(is_failure), policies), F.lit(0))
        for is_failure in (False, True)
    )
    return (
        _of_producers(updates.where((F.col("op") == recorded.UPDATE) & (isolates_ms > 0)))
        .join(F.broadcast(writers.select(*WRITER, "policy")), list(WRITER), "left")
        .select(
            *_row(CLIENT, F.lit(ISOLATED), F.col("called_at_ms"), F.col("called_at_ms") + isolates_ms),
            F.when(policy.isNotNull(), ~isolates_ms.isin(earned, of_failure)).alias("is_off_ladder"),
        )
    )


def logged_writes(log_lines: DataFrame, writers: DataFrame) -> DataFrame:
    """The lines of client logs about fault items, except the detector's: no send shows those.

    Args:
        log_lines: good lines of the day.
        writers: as `facts.facts_of_writers` returns them.
    """
    of_items = log_lines.where(F.col("event").isin(ISOLATED, UNREACHABLE)).withColumns(
        {"source": F.lit(Source.CLIENT_LOG), "writer": F.col("process"), "producer_group": F.lit("")}
    )
    isolates_ms, lengths = F.col("not_available_ms"), F.col("lengths_ms")
    return of_items.join(F.broadcast(writers.select(*WRITER, "lengths_ms")), list(WRITER), "left").select(
        *_row(CLIENT, F.col("event"), F.col("at_ms"), F.col("at_ms") + isolates_ms),
        F.when(F.size(lengths) > 0, ~F.array_contains(lengths, isolates_ms)).alias("is_off_ladder"),
    )


def replayed_writes(relevant_writes: DataFrame, clients: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """The same in the replay: for a recorded producer all that isolate, for a log those that clients log.

    Args:
        relevant_writes: as `Replayed.relevant_writes`, of a replay from sends alone.
        clients: one row per writer and client, as `writers` makes them.
        policies: every policy that a row may name.
    """
    until_ms, isolates = F.col("at_ms") + F.col("not_available_ms"), F.col("not_available_ms") > 0
    is_isolation = _row(REPLAY, F.lit(ISOLATED), F.col("at_ms"), until_ms)
    in_order = Window.partitionBy(*ITEM).orderBy("position")
    before_ms = F.coalesce(F.lag("available_at_ms").over(in_order), F.lit(0))
    updates = relevant_writes.withColumn("before_ms", before_ms).where(F.col("enforced") & (F.col("op") == UPDATE))
    # Clients log fault items since these have the flag.
    of_logs = (
        updates.where(keeps_latest(F.col("policy"), policies))
        .drop("producer_group")
        .join(F.broadcast(clients.where(F.col("source") == Source.CLIENT_LOG)), "client_id")
    )
    # A client logs only writes that set a later end.
    extending = of_logs.where(isolates & (until_ms > F.col("before_ms"))).select(*is_isolation)
    unreachable = of_logs.where("NOT reachable").select(*_row(REPLAY, F.lit(UNREACHABLE), F.col("at_ms"), F.lit(None)))
    isolating = _of_producers(updates.where(isolates)).select(*is_isolation)
    rows = isolating.unionByName(extending).unionByName(unreachable)
    return rows.withColumn("is_off_ladder", F.lit(None).cast("boolean"))


def stretches(isolations: DataFrame, side: str) -> DataFrame:
    """The isolations of producers as a whole.

    Args:
        isolations: rows of `isolation_intervals`, or isolations of the replay.
        side: CLIENT or REPLAY.
    """
    whole = _of_producers(isolations.where(F.col("enforced") & (F.col("end_ms") > F.col("start_ms"))))
    return whole.select(
        *_row(side, F.lit(STRETCH), F.col("start_ms"), F.col("end_ms")),
        F.lit(None).cast("boolean").alias("is_off_ladder"),
    )


def _of_producers(rows: DataFrame) -> DataFrame:
    """Rows of producers with `WRITER`."""
    return rows.withColumns({"source": F.lit(Source.RECORDED), "writer": F.col("client_id")})


def _row(side: str, what: Column, at_ms: Column, until_ms: Column) -> list[Column]:
    return [
        *(F.col(name) for name in (*WRITER, "broker_name")),
        F.lit(side).alias("side"),
        what.alias("what"),
        at_ms.alias("at_ms"),
        until_ms.cast("bigint").alias("until_ms"),
    ]
