"""Attempts whose broker was chosen within an interval of their owner: joined by owner and half minute."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.keys import OWNER
from udfs.bucket import bucket_of

_BUCKET_MS = 30_000


def chosen_within(intervals: DataFrame, attempts: DataFrame) -> DataFrame:
    """Each interval (`OWNER`, `after_ms`, `until_ms`, …) with the attempts chosen in (`after_ms`, `until_ms`].

    Args:
        intervals: may overlap.
        attempts: `OWNER`, `chosen_at_ms`, and any other columns.
    """
    by_bucket = _in_buckets(intervals)
    return (
        _near(attempts, by_bucket)
        .join(by_bucket, [*OWNER, "bucket"])
        .where("chosen_at_ms > after_ms AND chosen_at_ms <= until_ms")
        .drop("bucket")
    )


def intervals_met(intervals: DataFrame, attempts: DataFrame) -> DataFrame:
    """The attempts chosen in an interval of their owner, once each, with `met`: an array of those intervals.

    Intervals are grouped by bucket before the join, because there are fewer of them than of attempts.
    """
    fields = [name for name in intervals.columns if name not in OWNER]
    by_bucket = _in_buckets(intervals).groupBy(*OWNER, "bucket").agg(F.collect_list(F.struct(*fields)).alias("near"))
    at_ms = F.col("chosen_at_ms")
    return (
        _near(attempts, by_bucket)
        .join(by_bucket, [*OWNER, "bucket"])
        .withColumn(
            "met", F.filter("near", lambda interval: (at_ms > interval["after_ms"]) & (at_ms <= interval["until_ms"]))
        )
        .where(F.size("met") > 0)
        .drop("bucket", "near")
    )


def _near(attempts: DataFrame, by_bucket: DataFrame) -> DataFrame:
    """The attempts in those buckets, with their `bucket`; a hash collision lets a few more through.

    The semi join on one hash drops most attempts before Spark builds a row of them.
    """
    place = F.xxhash64(*OWNER, "bucket").alias("place")
    bucketed = attempts.withColumn("bucket", _bucket(F.col("chosen_at_ms"))).withColumn("place", place)
    return bucketed.join(by_bucket.select(place).distinct(), "place", "left_semi").drop("place")


def _in_buckets(intervals: DataFrame) -> DataFrame:
    bucket = F.explode(F.sequence(_bucket(F.col("after_ms")), _bucket(F.col("until_ms"))))
    return intervals.withColumn("bucket", bucket)


def _bucket(instant_ms: Column) -> Column:
    return bucket_of(instant_ms, _BUCKET_MS)
