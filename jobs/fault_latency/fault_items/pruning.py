"""Leaves out what no isolation can depend on, so that a day of millions of sends is replayed in seconds."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import CARRIED, ITEM
from jobs.fault_latency.producers.rules import PRODUCER
from jobs.tables.day import DAY_MS
from udfs.bucket import bucket_of
from udfs.choice import began_at_ms
from udfs.outcome import is_answer
from udfs.policy import Policy, gated_by_reachable

_BUCKET_MS = 30_000
_BUCKETS_BEFORE = 2
"""An attempt that began a minute before what it bears upon is near it."""

_ALWAYS_NEAR = 0


def may_isolate(policies: Sequence[Policy]) -> Column:
    """Whether a write of the attempt of the row may isolate, or always counts in `half_minutes`.

    Under an uneven ladder an attempt may end without a write, so that the first one of an item has to be looked for.

    Args:
        policies: those that a producer of the day follows.
    """
    lowest_ms = min((each.ladder.lowest_ms for each in policies), default=0)
    by_outcome = ~is_answer(F.col("outcome")) | (F.col("latency_ms") >= lowest_ms) | (F.col("mode") == "ASYNC")
    asked_all = [each.name for each in policies if each.reachable_gates or not each.ladder.is_even]
    # Only where it is needed, as Spark asks the lines themselves before it looks up their rules.
    return by_outcome | F.col("policy").isin(asked_all) if asked_all else by_outcome


def half_minutes(writes: DataFrame, sends_per_process: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """Half minutes of a fault item in which an isolation depends on its writes.

    Grain: hashes `producer` and `item`, `bucket`. A write without isolation matters only while one lasts, or while one
    could in another order of tied writes: those of each isolating write up to its end, those of the item's first and
    last write, of what was carried over midnight, and of any write whose reachable flag decides (5.1.4).

    Args:
        writes: as `replay.replay` takes them: those that may isolate, the carried ones, and all of async attempts.
        sends_per_process: as `process_sends` returns it: when an item got its first and its last direct write.
        policies: every policy that a row may name.
    """
    stands_until = F.greatest(F.col("at_ms") + F.col("not_available_ms"), "carried_until_ms", "carried_latest_ms")
    always_counts = (F.col("op") == CARRIED) | gated_by_reachable(F.col("policy"), policies)
    isolating = writes.where(always_counts | (F.col("not_available_ms") > 0))
    within_day = F.least(stands_until, F.col("at_ms") + DAY_MS)
    producer, item = (F.xxhash64(*keys).alias(name) for name, keys in (("producer", PRODUCER), ("item", ITEM)))
    span = ((F.col("at_ms") - 1).alias("from_ms"), (within_day + 1).alias("until_ms"))
    isolated_spans = isolating.select(producer, item, *span)
    direct = sends_per_process.where("NOT by_caller AND not_replayed IS NULL AND first_write_ms IS NOT NULL")
    items = (
        writes.select(producer, item, F.col("at_ms").alias("first_ms"), F.col("at_ms").alias("last_ms"))
        .unionByName(
            direct.select(
                producer,
                item,
                F.col("first_write_ms").alias("first_ms"),
                F.col("last_write_ms").alias("last_ms"),
            )
        )
        .groupBy("producer", "item")
        .agg(F.min("first_ms").alias("first_ms"), F.max("last_ms").alias("last_ms"))
    )
    outermost = items.select("producer", "item", F.explode(F.array("first_ms", "last_ms")).alias("from_ms")).withColumn(
        "until_ms", F.col("from_ms")
    )
    return (
        isolated_spans.unionByName(outermost)
        .select("producer", "item", F.explode(F.sequence(_bucket("from_ms"), _bucket("until_ms"))).alias("bucket"))
        .distinct()
    )


def attempts_near(owned: DataFrame, half_minutes: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """The attempts that began, ended or were submitted near a half minute of any fault item of their producer.

    All that writes in it, all that was chosen in it, and what was chosen up to a minute before. An attempt that took
    longer, or whose times contradict each other, is always near; so is each of a producer whose item may be unreachable
    without end (5.1.4). Two half minutes whose hashes are equal leave more in, never less.

    Args:
        owned: attempts with their rules and process.
        half_minutes: as `half_minutes` returns them.
        policies: those that a producer of the day follows.
    """
    began, ended = began_at_ms(), F.col("ended_at_ms")
    submitted = F.coalesce("submitted_at_ms", ended)
    in_order = (began <= F.least(ended, submitted)) & (
        F.greatest(ended, submitted) - began <= _BUCKETS_BEFORE * _BUCKET_MS
    )
    gated = [each.name for each in policies if each.reachable_gates]
    always = ~in_order | F.col("policy").isin(gated) if gated else ~in_order
    place = F.xxhash64(F.xxhash64(*PRODUCER), bucket_of(began, _BUCKET_MS))
    around = F.sequence(F.col("bucket") - _BUCKETS_BEFORE, F.col("bucket"))
    places = (
        half_minutes.select("producer", F.explode(around).alias("bucket"))
        .select(F.xxhash64("producer", "bucket").alias("place"))
        .distinct()
        .unionByName(half_minutes.sparkSession.range(1).select(F.lit(_ALWAYS_NEAR).cast("bigint").alias("place")))
    )
    return (
        owned.withColumn("place", F.when(always, _ALWAYS_NEAR).otherwise(place))
        .join(places, "place", "left_semi")
        .drop("place")
    )


def near_isolations(writes: DataFrame, half_minutes: DataFrame) -> DataFrame:
    """One row per write that counts: their replay gives the isolations, changes and closing state of all writes.

    Args:
        writes: as `replay.replay` takes them.
        half_minutes: as `half_minutes` returns them.
    """
    place = F.xxhash64("item", "bucket").alias("place")
    placed = writes.withColumns({"item": F.xxhash64(*ITEM), "bucket": _bucket("at_ms")}).withColumn("place", place)
    return placed.join(half_minutes.select(place), "place", "left_semi").drop("item", "bucket", "place")


def _bucket(instant_ms: str) -> Column:
    return bucket_of(F.col(instant_ms), _BUCKET_MS)
