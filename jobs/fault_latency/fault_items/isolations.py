"""Isolations of a broker by a producer, and the writes that open, extend and end them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.recorded_writes import Recorded
from jobs.fault_latency.fault_items.replay import CARRIED, REMOVE
from jobs.fault_latency.keys import ITEM, PROCESS
from jobs.kinds import FindingKind
from udfs.fault_window import FAR_MS


def isolation_relevant_writes(items: DataFrame, item: Sequence[str] = ITEM) -> DataFrame:
    """One row per write that opens, extends or ends an isolation, or could in another order, and the last per item.

    Adds `is_isolated` and `was_isolated` (best estimate, after and just before the write), `may_be_isolated` and
    `might_have_been` (the same for some order of tied writes); `isolation` (number within the item) and `possible`
    (number of the interval in which some order of tied writes has an isolation), both from 1; `change`: OPENED,
    EXTENDED, CLEARED or REMOVED, null when it changed nothing.

    EXTENDED is any write that sets a new end while the isolation lasts; under last-write-wins that end may be
    an earlier one. What was carried over midnight opened before.

    Args:
        items: as `replay.replay` returns them.
        item: key of a fault item.
    """
    is_isolated, was_isolated = F.col("is_isolated"), F.col("was_isolated")
    in_order = Window.partitionBy(*item).orderBy("position")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    opens_possible = F.col("may_be_isolated") & ~F.col("might_have_been")
    change = (
        F.when(F.col("op") == CARRIED, None)
        .when(is_isolated & ~was_isolated, "OPENED")
        .when(is_isolated & (F.col("until_ms") != F.col("until_before_ms")), "EXTENDED")
        .when(was_isolated & ~is_isolated & (F.col("op") == REMOVE), "REMOVED")
        .when(was_isolated & ~is_isolated, "CLEARED")
    )
    return (
        items.withColumns(
            {
                "is_isolated": F.col("until_ms") > F.col("at_ms"),
                "was_isolated": F.coalesce(F.col("until_before_ms") > F.col("at_ms"), F.lit(False)),
                "may_be_isolated": F.col("latest_ms") > F.col("at_ms"),
                "might_have_been": F.coalesce(F.col("latest_before_ms") > F.col("at_ms"), F.lit(False)),
            }
        )
        .where("is_isolated OR was_isolated OR may_be_isolated OR next_at_ms IS NULL")
        .withColumns(
            {
                "isolation": F.sum((is_isolated & ~was_isolated).cast("int")).over(so_far),
                "possible": F.sum(opens_possible.cast("int")).over(so_far),
                "change": change,
            }
        )
    )


def changes(writes: DataFrame) -> DataFrame:
    """The writes that changed an isolation; `position` counts them within the item, from 1.

    Args:
        writes: RELEVANT_WRITES.
    """
    in_order = Window.partitionBy(*ITEM).orderBy("position")
    place = F.row_number().over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    return writes.where("change IS NOT NULL").withColumn("position", place.cast("bigint"))


def isolating_writes(writes: DataFrame) -> DataFrame:
    """The writes that touch an isolation, or might in another order.

    Args:
        writes: as `isolation_relevant_writes` returns them.
    """
    return writes.where("is_isolated OR was_isolated OR may_be_isolated")


def isolations(writes: DataFrame, day_end_ms: int, item: Sequence[str] = ITEM) -> DataFrame:
    """One row per isolation, cut at the day's end and at the end of the process.

    Grain: `item`, `start_ms`. An isolation that only another order of tied writes holds ends at its start and has its
    length in the band. `ended_by` is RESTARTED when a new process of the producer began, DAY_END when it lasts at
    24:00, EXPIRED when its time was over, else what the next write did.

    Args:
        writes: as `isolating_writes` returns them.
        day_end_ms: 24:00 UTC, epoch ms.
        item: key of a fault item.
    """
    cut, end = F.least(F.lit(day_end_ms), "process_ended_at_ms"), F.col("holds_until_ms")
    possible_end = F.greatest(end, F.least("possible_end_ms", F.coalesce("next_start_ms", F.lit(FAR_MS))))
    ended_by = (
        F.when((end > cut) & (F.col("process_ended_at_ms") <= day_end_ms), FindingKind.RESTARTED)
        .when(end > cut, "DAY_END")
        .when(F.col("last.until_ms") <= end, "EXPIRED")
        .when(F.col("last.next_op") == REMOVE, "REMOVED")
        .when(F.col("last.until_ms") == FAR_MS, "REACHABLE")
        .otherwise("CLEARED")
    )
    return (
        _with_possible_end(_grouped(writes, item), item)
        .select(
            *item,
            F.col("opener.version").alias("client_version"),
            "opener.profile",
            "opener.policy",
            "start_ms",
            F.least(end, cut).alias("end_ms"),
            F.least(F.coalesce("surely_until_ms", end), cut).alias("end_earliest_ms"),
            F.least(possible_end, cut).alias("end_latest_ms"),
            "opener.cause",
            "opener.evidence",
            F.col("opener.current_latency_ms").alias("opener_latency_ms"),
            "extensions",
            ended_by.alias("ended_by"),
            (F.col("opener.op") == CARRIED).alias("continued_from_previous_day"),
            (ended_by == "DAY_END").alias("continues_next_day"),
        )
        .where("end_latest_ms > start_ms")
    )


def with_counted_until(isolations: DataFrame, sends_per_process: DataFrame, record: Recorded | None) -> DataFrame:
    """The isolations, with `counted_until_ms`: the end, but no later than the last sign of life of the process.

    That is its last attempt or recorded line of the day: a client that sends no more avoids nobody. A process without
    one counts for nothing.

    Args:
        isolations: as `isolations` returns them.
        sends_per_process: SENDS_PER_PROCESS.
        record: what clients recorded; None when they recorded nothing.
    """
    signs = sends_per_process.select(*PROCESS, F.col("last_ended_ms").alias("sign_ms"))
    if record:
        signs = signs.unionByName(record.owners.select(*PROCESS, F.col("last_recorded_ms").alias("sign_ms")))
    last_signs = signs.groupBy(*PROCESS).agg(F.max("sign_ms").alias("last_sign_ms"))
    counted = F.greatest("start_ms", F.least("end_ms", F.coalesce("last_sign_ms", "start_ms")))
    signed = isolations.join(F.broadcast(last_signs), list(PROCESS), "left")
    return signed.withColumn("counted_until_ms", counted).drop("last_sign_ms")


def _grouped(writes: DataFrame, item: Sequence[str]) -> DataFrame:
    """One row per isolation of its writes, and one per interval of those that open none (`isolation` null)."""
    next_at = F.coalesce("next_at_ms", F.lit(FAR_MS))
    holds_until, surely_until = F.least("until_ms", next_at), F.greatest("earliest_ms", "at_ms")
    isolated = F.col("is_isolated")
    opener = F.struct("op", "cause", "evidence", "current_latency_ms", "profile", "policy", "version")
    return (
        writes.where(isolated | F.col("may_be_isolated"))
        .groupBy(*item, "possible", F.when(isolated, F.col("isolation")).alias("isolation"))
        .agg(
            F.min("at_ms").alias("start_ms"),
            F.max(holds_until).alias("holds_until_ms"),
            F.min(F.when(surely_until < holds_until, surely_until)).alias("surely_until_ms"),
            F.max(F.least("latest_ms", next_at)).alias("possibly_until_ms"),
            F.min_by(opener, "position").alias("opener"),
            F.max_by(F.struct("until_ms", "next_op"), "position").alias("last"),
            (F.count_if(F.col("change") == "EXTENDED") + F.max("carried_extensions")).cast("int").alias("extensions"),
            F.max("process_ended_at_ms").alias("process_ended_at_ms"),
        )
    )


def _with_possible_end(grouped: DataFrame, item: Sequence[str]) -> DataFrame:
    """One row per isolation, with the end of its possible interval and the start of the next isolation in it."""
    of_interval = Window.partitionBy(*item, "possible")
    whole = of_interval.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    in_order = of_interval.orderBy(F.col("isolation").isNull(), "start_ms", "isolation")
    next_start = F.lead(F.when(F.col("isolation").isNotNull(), F.col("start_ms"))).over(in_order)
    return grouped.withColumns(
        {"possible_end_ms": F.max("possibly_until_ms").over(whole), "next_start_ms": next_start}
    ).where("isolation IS NOT NULL")
