"""Days that can be replayed again: the lake has their sends."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from pyspark.sql import functions as F

from jobs.errors import InputMissingError
from jobs.lake.tables_io import Lake
from jobs.tables import PRODUCER_DAYS, SENDS
from jobs.tables.day import Day


def days_with_sends(lake: Lake, dates: Sequence[dt.date]) -> list[Day]:
    """Each date in each cluster that has sends on it, cluster by cluster.

    Raises:
        InputMissingError: the lake has no day, or one of the dates has no sends there.
    """
    if not lake.exists():
        raise InputMissingError(f"lake {lake.root} holds no published day; run faultline nightly first")
    of_dates = F.col("event_date").isin(*(F.lit(date) for date in dates))
    found = lake.read(SENDS).where(of_dates).select("event_date", "cluster").distinct().collect()
    for date in dates:
        if date not in {row["event_date"] for row in found}:
            gone = not lake.read(PRODUCER_DAYS).where(F.col("event_date") == F.lit(date)).isEmpty()
            why = "no longer has sends of it (retention.sends_days)" if gone else "has no sends of it"
            raise InputMissingError(
                f"{date} cannot be replayed: lake {lake.root} {why}; publish it with faultline nightly --date {date}"
            )
    return sorted((Day(row["event_date"], row["cluster"]) for row in found), key=lambda day: (day.cluster, day.date))
