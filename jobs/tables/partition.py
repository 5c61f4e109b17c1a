"""Adds a table's partition columns, and each instant also as a timestamp."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.tables.day import Day


def with_partition_columns(rows: DataFrame, day: Day, *instants: str) -> DataFrame:
    """The rows with `event_date`, `cluster`, and each instant (`start_ms`) also as a timestamp (`start_at`)."""
    stamps = {f"{name.removesuffix('_ms').removesuffix('_at')}_at": F.timestamp_millis(name) for name in instants}
    return rows.withColumns({"event_date": F.lit(day.date), "cluster": F.lit(day.cluster), **stamps})
