"""Holes in the record of a process, and the times in which its fault items are not known for them.

Sends and updates of a process count in one `seq`, so that a number which neither has is a line that was lost. What an
item was after a hole is not known until its next line; until then it is replayed from sends.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.keys import PROCESS
from jobs.tables.day import Day
from udfs.fault_window import FAR_MS
from udfs.recorded import PICKED

_FIRST_SEQ = 1


def torn_processes(lines: DataFrame, sends_per_process: DataFrame, opening: DataFrame) -> DataFrame:
    """One row per process with a record and with sends whose numbers are not all there: `carried_seq`.

    Without one of the two logs a missing number does not count as lost.

    Args:
        lines: recorded lines with their process.
        sends_per_process: SENDS_PER_PROCESS.
        opening: `fault_item_state` of the day before; empty when it is not in the lake.
    """
    attempts = sends_per_process.groupBy(*PROCESS).agg(
        F.min("first_seq").alias("first_attempt"),
        F.max("last_seq").alias("last_attempt"),
        F.sum("sends").alias("sends"),
    )
    changes = lines.groupBy(*PROCESS).agg(
        F.min("seq").alias("first_change"), F.max("seq").alias("last_change"), F.count("*").alias("updates")
    )
    carried = opening.groupBy(*PROCESS).agg(F.max("last_seq").alias("carried_seq"))
    first, last = F.least("first_attempt", "first_change"), F.greatest("last_attempt", "last_change")
    expected = F.coalesce(F.col("carried_seq") + 1, F.lit(_FIRST_SEQ))
    is_whole = (first == expected) & (last - first + 1 == F.col("sends") + F.col("updates"))
    return (
        attempts.join(changes, list(PROCESS))
        .join(carried, list(PROCESS), "left")
        .where(~F.coalesce(is_whole, F.lit(False)))
        .select(*PROCESS, "carried_seq")
    )


def numbered_lines(lines: DataFrame, attempts: DataFrame, torn: DataFrame, day: Day) -> DataFrame:
    """NUMBERED_LINES: sends and updates of torn processes in the order of `seq`, and the holes up to each.

    Args:
        lines: recorded lines with their process.
        attempts: every attempt of the day.
        torn: as `torn_processes` returns them.
        day: the day and cluster.
    """
    place = ("seq", "row_hash")
    sent = attempts.select(*PROCESS, *place, F.col("ended_at_ms").alias("at_ms"))
    changed = F.when(F.col("op") != PICKED, F.col("broker_name")).alias("broker_name")
    changes = lines.select(*PROCESS, *place, F.col("called_at_ms").alias("at_ms"), changed)
    numbers = sent.unionByName(changes, allowMissingColumns=True).join(F.broadcast(torn), list(PROCESS))
    in_order = Window.partitionBy(*PROCESS).orderBy(*_order())
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = F.coalesce(F.lag("seq").over(in_order), "carried_seq", F.lit(_FIRST_SEQ - 1))
    return (
        numbers.withColumn("before", before)
        .withColumn("is_hole", F.coalesce(F.col("seq") > F.col("before") + 1, F.lit(False)))
        .withColumn("before_ms", F.coalesce(F.lag("at_ms").over(in_order), F.lit(day.start_ms)))
        .withColumn("holes", F.sum(F.col("is_hole").cast("int")).over(so_far))
    )


def _order() -> tuple[Column, str, str]:
    return F.asc_nulls_last("seq"), "at_ms", "row_hash"


def unknown_times(numbered: DataFrame, sends_per_process: DataFrame) -> DataFrame:
    """One row per fault item and holes in a row: `ITEM`, `unknown_from_ms`, `unknown_until_ms` (exclusive).

    From the line before the first hole, or the day's start, to the item's next line, or without end if it has none. The
    numbers that were lost lie between `lost_after_seq` and `lost_before_seq`.

    Args:
        numbered: NUMBERED_LINES.
        sends_per_process: SENDS_PER_PROCESS.
    """
    holes = numbered.where("is_hole")
    first = holes.select(
        *PROCESS,
        F.col("holes").alias("hole"),
        F.col("before_ms").alias("unknown_from_ms"),
        F.col("before").alias("lost_after_seq"),
    )
    last = holes.select(*PROCESS, F.col("holes").alias("last_hole"), F.col("seq").alias("lost_before_seq"))
    of_item = Window.partitionBy(*PROCESS, "broker_name").orderBy(*_order())
    known = numbered.where("broker_name IS NOT NULL").withColumn(
        "known", F.coalesce(F.lag("holes").over(of_item), F.lit(0))
    )
    until_known = known.select(
        *PROCESS, "broker_name", (F.col("known") + 1).alias("hole"), F.col("holes").alias("last_hole"), "at_ms"
    ).where("last_hole >= hole")
    used = sends_per_process.where("enforced").select(*PROCESS, "broker_name", F.lit(0).alias("holes"))
    known_last = known.select(*PROCESS, "broker_name", "holes").unionByName(used)
    last_of_all = last.groupBy(*PROCESS).agg(F.max("last_hole").alias("last_hole"))
    for_good = (
        known_last.groupBy(*PROCESS, "broker_name")
        .agg((F.max("holes") + 1).alias("hole"))
        .join(last_of_all, list(PROCESS))
        .withColumn("at_ms", F.lit(FAR_MS))
    )
    return (
        until_known.unionByName(for_good)
        .join(first, [*PROCESS, "hole"])
        .join(last, [*PROCESS, "last_hole"])
        .drop("hole", "last_hole")
        .withColumnRenamed("at_ms", "unknown_until_ms")
        .withColumn("enforced", F.lit(True))
    )
