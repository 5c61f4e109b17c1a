"""Attempts whose broker was chosen within an interval of their owner: joined by owner and half minute."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.keys import OWNER
from udfs.bucket import bucket_of

_BUCKET_MS = 30_000


def intervals_met(intervals: DataFrame, attempts: DataFrame) -> DataFrame:
    """The attempts chosen in an interval of their owner, once each, with `met`: an array of those intervals.

    Intervals are grouped by half minute before the join, because there are fewer of them than of attempts. The semi
    join on one hash drops most attempts before Spark builds a row of them; a collision lets a few more through.

    Args:
        intervals: `OWNER`, `after_ms`, `until_ms` (an attempt is in it after the one and up to the other), and any
            other columns; may overlap.
        attempts: `OWNER`, `chosen_at_ms`, and any other columns.
    """
    fields = F.struct(*(name for name in intervals.columns if name not in OWNER))
    buckets = F.explode(F.sequence(_bucket(F.col("after_ms")), _bucket(F.col("until_ms")))).alias("bucket")
    by_bucket = intervals.select("*", buckets).groupBy(*OWNER, "bucket").agg(F.collect_list(fields).alias("near"))
    place = F.xxhash64(*OWNER, "bucket").alias("place")
    at_ms = F.col("chosen_at_ms")
    return (
        attempts.withColumn("bucket", _bucket(at_ms))
        .withColumn("place", place)
        .join(by_bucket.select(place).distinct(), "place", "left_semi")
        .drop("place")
        .join(by_bucket, [*OWNER, "bucket"])
        .withColumn(
            "met", F.filter("near", lambda interval: (at_ms > interval["after_ms"]) & (at_ms <= interval["until_ms"]))
        )
        .where(F.size("met") > 0)
        .drop("bucket", "near")
    )


def _bucket(instant_ms: Column) -> Column:
    return bucket_of(instant_ms, _BUCKET_MS)
