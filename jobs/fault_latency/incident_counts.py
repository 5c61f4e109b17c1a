"""What a summary says of incidents: rows of `broker_incidents` to a few, and what makes one minor."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.text.terminal import duration

_ROWS = 100
_COLUMNS = ("broker_name", "start_ms", "end_ms", "peak_producers", "producers", "sends", "lost", "is_minor")


@dataclass(frozen=True)
class Incident:
    """An interval in which many producers isolated one broker."""

    broker_name: str
    start_at: str
    end_at: str
    seconds: float
    peak_producers: int
    producers: int
    sends: int
    lost: int
    is_minor: bool


def incident_counts(incidents: DataFrame) -> DataFrame:
    """One row: `count` of those that are not minor, `minor` of the others."""
    return _with_is_minor(incidents).agg(
        F.count_if(~F.col("is_minor")).alias("count"), F.count_if("is_minor").alias("minor")
    )


def longest_incidents(incidents: DataFrame) -> DataFrame:
    """The hundred longest, as `incident` takes them, minor ones last."""
    longest = (F.col("is_minor"), F.desc(F.col("end_ms") - F.col("start_ms")), F.col("start_ms"), F.col("broker_name"))
    return _with_is_minor(incidents).orderBy(*longest).limit(_ROWS).select(*_COLUMNS)


def _with_is_minor(incidents: DataFrame) -> DataFrame:
    """What an earlier release published is not minor."""
    return incidents.withColumn("is_minor", F.coalesce("is_minor", F.lit(False)))


def minor_incident(min_ms: int, min_lost: int) -> str:
    """What makes an incident minor, in words.

    >>> minor_incident(2_000, 100)
    'shorter than 2.0 s and fewer than 100 sends lost, retried or slow'
    """
    return f"shorter than {duration(min_ms)} and fewer than {min_lost:,} sends lost, retried or slow"


def incident(row: Mapping[str, Any]) -> Incident:
    """The answer of a row of `longest_incidents`."""
    start_ms, end_ms = row["start_ms"], row["end_ms"]
    same = {name: row[name] for name in _COLUMNS if name not in {"start_ms", "end_ms"}}
    return Incident(start_at=_utc(start_ms), end_at=_utc(end_ms), seconds=(end_ms - start_ms) / 1000, **same)


def _utc(at_ms: int) -> str:
    return dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC).strftime("%Y-%m-%d %H:%M:%S")
