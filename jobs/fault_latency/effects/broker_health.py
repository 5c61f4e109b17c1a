"""Health of brokers: failing and slow attempts of all producers, second by second."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from udfs.bucket import bucket_of
from udfs.choice import began_at_ms, is_bad
from udfs.outcome import is_out_of_time

_BUCKET_MS = 1_000
_BAD_SHARE = 0.5


def broker_health(sends: DataFrame, moments: DataFrame, at_ms: str, slow_ms: int) -> DataFrame:
    """Brokers that were bad in the seconds of some moments.

    Grain: `cluster`, `bucket`. `tried_brokers`: those that any producer sent to; `bad_brokers`: those of which at least
    half of the attempts that began then failed or were slow. Attempts that had no time left say nothing about their
    broker and do not count.

    Args:
        sends: the published attempts of the day.
        moments: rows with `cluster` and a moment each.
        at_ms: its column.
        slow_ms: an answer this late counts as slow.
    """
    bad = is_bad(F.col("outcome"), F.col("latency_ms"), slow_ms)
    seconds = moments.select("cluster", health_bucket(F.col(at_ms)).alias("bucket")).distinct()
    return (
        sends.where(~is_out_of_time(F.col("outcome"), F.col("latency_ms")))
        .withColumn("bucket", health_bucket(began_at_ms()))
        .join(F.broadcast(seconds), ["cluster", "bucket"], "left_semi")
        .groupBy("cluster", "bucket", "broker_name")
        .agg(F.avg(bad.cast("int")).alias("bad_share"))
        .groupBy("cluster", "bucket")
        .agg(
            F.collect_list("broker_name").alias("tried_brokers"),
            F.collect_list(F.when(F.col("bad_share") >= _BAD_SHARE, F.col("broker_name"))).alias("bad_brokers"),
        )
    )


def health_bucket(instant_ms: Column) -> Column:
    """The second of an instant."""
    return bucket_of(instant_ms, _BUCKET_MS)
