"""Days that can be replayed again: the lake has their sends."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from pyspark.sql import functions as F

from jobs.errors import InputMissingError
from jobs.lake.tables_io import Lake
from jobs.tables import PRODUCER_DAYS, SENDS
from jobs.tables.day import Day


def days_with_sends(lake: Lake, dates: Sequence[dt.date], cluster: str | None = None) -> list[Day]:
    """Each date in each cluster that has sends on it, cluster by cluster.

    Args:
        lake: has the sends.
        dates: the UTC days.
        cluster: the only one that is meant; None = each that has sends.

    Raises:
        InputMissingError: the lake has no day, none of the cluster, or one of the dates has no sends there.
    """
    if not lake.exists():
        raise InputMissingError(f"lake {lake.root} holds no published day; run faultline nightly first")
    of_dates = F.col("event_date").isin(*(F.lit(date) for date in dates))
    found = lake.read(SENDS).where(of_dates).select("event_date", "cluster").distinct().collect()
    there = ", ".join(sorted({repr(row["cluster"]) for row in found}))
    found = [row for row in found if cluster in (None, row["cluster"])]
    if there and not found:
        raise InputMissingError(
            f"cluster {cluster!r} has no sends of {dates[0]} to {dates[-1]} in lake {lake.root}; name another with"
            f" --cluster: {there}"
        )
    for date in dates:
        if date not in {row["event_date"] for row in found}:
            gone = not lake.read(PRODUCER_DAYS).where(F.col("event_date") == F.lit(date)).isEmpty()
            why = "no longer has sends of it (retention.sends_days)" if gone else "has no sends of it"
            raise InputMissingError(
                f"{date} cannot be replayed: lake {lake.root} {why}; publish it with faultline nightly --date {date}"
            )
    return sorted((Day(row["event_date"], row["cluster"]) for row in found), key=lambda day: (day.cluster, day.date))
