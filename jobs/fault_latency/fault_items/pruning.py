"""Leaves out writes that no isolation can depend on, so that a day of millions of sends is replayed in seconds."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import CARRIED, ITEM
from jobs.spark.materialize import Materialize
from jobs.tables.day import DAY_MS
from udfs.bucket import bucket_of
from udfs.policy import Policy, gated_by_reachable

_BUCKET_MS = 30_000


def near_isolations(writes: DataFrame, policies: Sequence[Policy], materialize: Materialize) -> DataFrame:
    """One row per write that counts: their replay gives the isolations, changes and closing state of all writes.

    A write without isolation matters only while one lasts, or while one could in another order of tied writes. Whole
    half minutes of a fault item stay: those of each isolating write up to its end, those of the item's first and last
    write, of what was carried over midnight, and of any write whose reachable flag decides (5.1.4) or whose middle try
    is not logged. Two half minutes whose hashes are equal leave more in, never less.

    Args:
        writes: as `replay.replay` takes them.
        policies: every policy that a row may name.
        materialize: for the half minutes, so that Spark knows how few they are.
    """
    stands_until = F.greatest(F.col("at_ms") + F.col("not_available_ms"), "carried_until_ms", "carried_latest_ms")
    always_counts = (F.col("op") == CARRIED) | gated_by_reachable(F.col("policy"), policies)
    isolating = writes.where(always_counts | F.col("middle_topic").isNotNull() | (F.col("not_available_ms") > 0))
    within_day = F.least(stands_until, F.col("at_ms") + DAY_MS)
    isolated_spans = isolating.select(
        _item(), (F.col("at_ms") - 1).alias("from_ms"), (within_day + 1).alias("until_ms")
    )
    ends = writes.groupBy(_item()).agg(F.min("at_ms").alias("first_ms"), F.max("at_ms").alias("last_ms"))
    outermost = ends.select("item", F.explode(F.array("first_ms", "last_ms")).alias("from_ms")).withColumn(
        "until_ms", F.col("from_ms")
    )
    wanted = materialize(
        "wanted",
        isolated_spans.unionByName(outermost)
        .select("item", F.explode(F.sequence(_bucket("from_ms"), _bucket("until_ms"))).alias("bucket"))
        .select(_place())
        .distinct(),
    )
    placed = writes.withColumns({"item": _item(), "bucket": _bucket("at_ms")}).withColumn("place", _place())
    return placed.join(wanted, "place", "left_semi").drop("item", "bucket", "place")


def _item() -> Column:
    return F.xxhash64(*ITEM).alias("item")


def _place() -> Column:
    """Fault item and half minute as one number, which Spark looks up without building a row."""
    return F.xxhash64("item", "bucket").alias("place")


def _bucket(instant_ms: str) -> Column:
    return bucket_of(F.col(instant_ms), _BUCKET_MS)
