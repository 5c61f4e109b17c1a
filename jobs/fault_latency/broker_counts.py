"""Brokers in the summary: their sends, and how long producers isolated them."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_MOST = 50


@dataclass(frozen=True)
class Broker:
    """A broker over the requested days."""

    broker_name: str
    sends: int
    failures: int
    isolated_ms: int
    isolating_producers: int


def brokers_of(windows: DataFrame, intervals: DataFrame) -> DataFrame:
    """The columns of `Broker`."""
    sums = windows.groupBy("broker_name").agg(
        F.sum("sends").alias("sends"), F.sum("failures").alias("failures"), F.sum("isolated_ms").alias("isolated_ms")
    )
    who = (
        intervals.where("enforced AND end_ms > start_ms")
        .groupBy("broker_name")
        .agg(F.count_distinct("client_id", "producer_group").alias("isolating_producers"))
    )
    joined = sums.join(who, "broker_name", "left").withColumn(
        "isolating_producers", F.coalesce("isolating_producers", F.lit(0))
    )
    return joined.orderBy(F.desc("isolated_ms"), "broker_name").limit(_MOST)
