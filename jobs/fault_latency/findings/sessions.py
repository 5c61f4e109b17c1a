"""Rows that lie close together in time, as one."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

CLOSE_MS = 60_000
"""What happens again within a minute is told once."""


def sessions(rows: DataFrame, keys: Sequence[str], evidence: Sequence[Column], gap_ms: int = CLOSE_MS) -> DataFrame:
    """One row per run of rows that lie at most `gap_ms` apart.

    Grain: the keys and `start_ms`; `end_ms`, and the evidence.

    Args:
        rows: the keys, `from_ms`, `until_ms` (exclusive).
        keys: what belongs together; null is a key like any other.
        evidence: aggregates over the run's rows, with their names.
        gap_ms: longest pause within a run.
    """
    in_time = Window.partitionBy(*keys).orderBy("from_ms", "until_ms")
    before = in_time.rowsBetween(Window.unboundedPreceding, -1)
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    apart = F.col("from_ms") - F.max("until_ms").over(before) > gap_ms
    return (
        rows.withColumn("apart", F.coalesce(apart.cast("int"), F.lit(0)))
        .withColumn("run", F.sum("apart").over(so_far))
        .groupBy(*keys, "run")
        .agg(F.min("from_ms").alias("start_ms"), F.max("until_ms").alias("end_ms"), *evidence)
        .drop("run")
    )


def moment(at_ms: Column) -> tuple[Column, Column]:
    """An instant as `from_ms` and `until_ms` of a row for `sessions`."""
    return at_ms.alias("from_ms"), (at_ms + 1).alias("until_ms")
