"""Replay of writes to fault items: the state of each item after each write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.keys import ITEM
from jobs.kinds import Evidence
from udfs import fault_window
from udfs.order_of_events import order_of_writes
from udfs.policy import Policy, gated_by_reachable, keeps_latest

UPDATE, REMOVE, CARRIED = "UPDATE", "REMOVE", "CARRIED"

_WRITE: Mapping[str, tuple[str, object]] = {
    "at_ms": ("bigint", None),
    "step": ("int", 0),
    "current_latency_ms": ("bigint", 0),
    "is_failure": ("boolean", False),
    "reachable": ("boolean", None),
    "cause": ("string", "LATENCY"),
    "evidence": ("string", Evidence.LOGGED),
    "seq": ("bigint", None),
    "started_at_ms": ("bigint", None),
    "invoke_id": ("bigint", None),
    "attempt": ("int", None),
    "row_hash": ("bigint", None),
    "policy": ("string", None),
    "profile": ("string", None),
    "version": ("string", None),
    "detector": ("boolean", False),
    "op": ("string", UPDATE),
    "not_available_ms": ("bigint", 0),
    "carried_until_ms": ("bigint", None),
    "carried_earliest_ms": ("bigint", None),
    "carried_latest_ms": ("bigint", None),
    "carried_extensions": ("int", 0),
}
"""Column of a write to its type and its default."""


def writes(rows: DataFrame, item: Sequence[str] = ITEM, **columns: Column) -> DataFrame:
    """The rows as writes that `replay` takes: `item` and every column of a write.

    Args:
        rows: their columns are taken by name.
        item: key of a fault item.
        columns: columns that `rows` lack, or that replace theirs.
    """
    given = {name: F.col(name) for name in rows.columns} | columns
    written = (given.get(name, F.lit(value)).cast(kind).alias(name) for name, (kind, value) in _WRITE.items())
    return rows.select(*item, *written)


def begins_life() -> Column:
    """The write of the row takes the item away, or is as the client recorded it: none before it has a say."""
    return (F.col("op") == REMOVE) | _is_recorded()


def _is_recorded() -> Column:
    return (F.col("op") == UPDATE) & F.col("carried_until_ms").isNotNull()


def replay(
    updates: DataFrame, policies: Sequence[Policy], unordered_within_ms: int, item: Sequence[str] = ITEM
) -> DataFrame:
    """One row per write of `updates`, with the state of its fault item after it.

    Total order within an item: `at_ms`, `seq` (nulls last), `started_at_ms`, `invoke_id`, `attempt`, `row_hash`,
    `step`.

    Args:
        updates: `item`, the order's columns, `op` (UPDATE, REMOVE, CARRIED), `policy`, `not_available_ms`, `reachable`
            (null = keeps it), `detector` (it may set the flag unseen), `carried_until_ms` (what the item was at
            midnight, or was read back as after a recorded update; null otherwise), `carried_earliest_ms`,
            `carried_latest_ms` (CARRIED only).
        policies: every policy that a row may name.
        unordered_within_ms: writes to one item this close together may have run in any order; CARRIED counts as
            written 1 ms before it.
        item: key of a fault item.

    Returns:
        `updates` with `position` (from 1), `available_at_ms`, `is_reachable`, `until_ms` (not available before
        this), `earliest_ms` and `latest_ms` (the band of `until_ms`), `next_at_ms` (null for the last write),
        `next_op`, and `until_before_ms`, `latest_before_ms` as the write before left them (null for the first).
    """
    in_order = Window.partitionBy(*item).orderBy(*order_of_writes())
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_remove = F.col("op") == REMOVE
    is_recorded = _is_recorded()
    is_carried = F.col("op") == CARRIED
    is_absolute = is_carried | is_recorded
    at_ms, until, available_at, is_reachable = (
        F.col(name) for name in ("at_ms", "until_ms", "available_at_ms", "is_reachable")
    )
    latest_stays, gated = keeps_latest(F.col("policy"), policies), gated_by_reachable(F.col("policy"), policies)
    written_until = fault_window.written_until_ms(
        at_ms, F.col("not_available_ms"), is_remove, F.col("carried_until_ms")
    )
    certain = F.when(is_recorded, until)
    tie = F.col("tie")
    latest = fault_window.latest_until_ms(until, available_at, is_reachable, latest_stays, gated, tie, so_far)
    # With its detector on, a client may find the broker reachable at any time, which no line shows.
    for_good = gated & ~F.col("detector")
    earliest = fault_window.earliest_until_ms(until, available_at, is_reachable, latest_stays, for_good, tie, so_far)
    return (
        updates.withColumns(
            {
                "position": F.row_number().over(so_far).cast("bigint"),
                "next_at_ms": F.lead("at_ms").over(in_order),
                "next_op": F.lead("op").over(in_order),
                "life": fault_window.life(begins_life(), so_far),
                "tie": fault_window.tie(at_ms, is_carried, unordered_within_ms, in_order, so_far),
                "is_reachable": fault_window.reachable(F.col("reachable"), is_remove, so_far),
            }
        )
        .withColumn(
            "available_at_ms",
            fault_window.available_at_ms(
                written_until, F.col("not_available_ms"), is_absolute, latest_stays, F.col("life"), so_far
            ),
        )
        .withColumn("until_ms", fault_window.not_available_until_ms(available_at, is_reachable, gated))
        .withColumns(
            {
                "earliest_ms": F.coalesce(certain, "carried_earliest_ms", earliest),
                "latest_ms": F.coalesce(certain, "carried_latest_ms", latest),
            }
        )
        .withColumns(
            {
                "until_before_ms": F.lag("until_ms").over(in_order),
                "latest_before_ms": F.lag("latest_ms").over(in_order),
            }
        )
        .drop("life", "tie")
    )
