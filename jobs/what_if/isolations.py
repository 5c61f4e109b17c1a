"""Isolations that each policy would have made, from isolating writes."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.keys import ITEM, PROCESS
from jobs.tables.day import DAY_MS, Day
from udfs.fault_window import FAR_MS


def isolations(writes: DataFrame) -> DataFrame:
    """One row per isolation of an item under a rule, ended by the end of its process at the latest.

    Grain: `ITEM`, `rule`, `start_ms`; `end_ms` is exclusive. The rules are those of `replay`, without bands:
    last write wins, or the latest end stays, or (5.1.4) also while the reachable flag is false.

    Args:
        writes: as `isolating` returns them.
    """
    at_ms, next_at_ms = F.col("at_ms"), F.coalesce("next_at_ms", F.lit(FAR_MS))
    unreachable = F.col("gated") & ~F.col("reachable")
    window_until = F.when(F.col("not_available_ms") > 0, at_ms + F.col("not_available_ms"))
    latest_until = F.greatest(window_until, F.when(unreachable, next_at_ms))
    in_order = Window.partitionBy(*ITEM, "rule").orderBy("position")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    still_lasts = F.col("latest_stays") & (F.max("window_until_ms").over(before) > at_ms)
    follows = F.lag("position").over(in_order) == F.col("position") - 1
    continues = still_lasts | (follows & (F.lag("until_ms").over(in_order) > at_ms))
    return (
        writes.withColumns(
            {
                "window_until_ms": window_until,
                "until_ms": F.when(unreachable, F.lit(FAR_MS)).otherwise(window_until),
                "held_until_ms": F.when(F.col("latest_stays"), latest_until).otherwise(
                    F.least(window_until, next_at_ms)
                ),
            }
        )
        .withColumn("opens", (~F.coalesce(continues, F.lit(False))).cast("int"))
        .withColumn("isolation", F.sum("opens").over(so_far))
        .groupBy(*ITEM, "rule", "isolation")
        .agg(
            F.min("at_ms").alias("start_ms"),
            F.least(F.max("held_until_ms"), F.max("process_ended_at_ms")).alias("end_ms"),
        )
        .drop("isolation")
        .where("end_ms > start_ms")
    )


def cut_at_midnight(whole: DataFrame, days: Sequence[Day]) -> DataFrame:
    """One row per isolation and day, cut to the day.

    Grain: `event_date`, `PROCESS`, `broker_name`, `rule`, `start_ms`. `begins`: the isolation starts in this part,
    otherwise it lasted at 00:00 UTC.

    Args:
        whole: as `isolations` returns them.
        days: the requested days, of whatever cluster, in a row.
    """
    first, last = min(day.start_ms for day in days), max(day.end_ms for day in days)
    until = F.least("end_ms", F.lit(last))
    day_numbers = F.sequence(F.floor(F.greatest("start_ms", F.lit(first)) / DAY_MS), F.floor((until - 1) / DAY_MS))
    midnight = F.col("day_number") * DAY_MS
    return (
        whole.where((F.col("start_ms") < last) & (F.col("end_ms") > first))
        .select("*", F.explode(day_numbers).alias("day_number"))
        .select(
            F.date_from_unix_date(F.col("day_number").cast("int")).alias("event_date"),
            *PROCESS,
            "broker_name",
            "rule",
            F.greatest("start_ms", midnight).alias("start_ms"),
            F.least("end_ms", midnight + DAY_MS).alias("end_ms"),
            (F.col("start_ms") >= midnight).alias("begins"),
        )
    )
