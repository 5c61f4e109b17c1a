"""Counts of the run log that must add up, each breach a sentence."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from jobs.tables.day import Day

_PARTS = ("rows_published", "rows_quarantined", "rows_duplicate", "rows_other_day", "rows_other_cluster")


def run_sums(run_log: DataFrame) -> list[str]:
    """Events of the run log whose lines read are not the sum of where they went."""
    total = sum((F.coalesce(name, F.lit(0)) for name in _PARTS), F.lit(0))
    wrong = run_log.where(F.col("rows_read").isNotNull() & (F.col("rows_read") != total))
    return [
        f"run {row['run_id']} read {row['rows_read']} lines for {row['event_date']} ({row['cluster']}, {row['flow']}),"
        f" but {row['total']} were published, quarantined, duplicates, of other days or of other clusters"
        for row in wrong.withColumn("total", total).orderBy("event_date", "cluster", "flow", "logged_at").collect()
    ]


def day_sums(day: Day, logged: Row, sends: int, quarantined: int) -> list[str]:
    """What the tables hold of a day against the latest counts in the run log.

    Args:
        logged: `rows_published` and `rows_quarantined`; null when the run log has no counts.
        sends: rows of `sends`.
        quarantined: rows of `quarantine` that are lines of sends.
    """
    return [
        f"{table} holds {found} rows of {day.date} ({day.cluster}), the run log says {logged[name]}"
        for table, name, found in (("sends", "rows_published", sends), ("quarantine", "rows_quarantined", quarantined))
        if logged[name] is not None and logged[name] != found
    ]
