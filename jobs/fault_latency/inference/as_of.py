"""Asking the replay: which sends fall into a stretch of a process; replaying again, with more writes."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import ITEM, OWNER, replay
from udfs.bucket import bucket_of
from udfs.choice import began_at_ms
from udfs.policy import Policy, keeps_latest

REPLAYED = (
    "position",
    "next_at_ms",
    "next_op",
    "is_reachable",
    "available_at_ms",
    "until_ms",
    "earliest_ms",
    "latest_ms",
    "until_before_ms",
    "latest_before_ms",
)
"""What `replay.replay` adds to a write."""

_BUCKET_MS = 30_000


def last_write_wins(policies: Sequence[Policy]) -> Column:
    """Enforced, and under a policy whose latest write decides (to 5.1.3)."""
    return F.col("enforced") & ~keeps_latest(F.col("policy"), policies)


def first_attempts(attempts: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """The attempts whose broker the client chose, by fault items under last-write-wins.

    Grain: one attempt. `OWNER`, `topic`, `went_to`, `addressed_broker`, `thread`, `chosen_at_ms`, `row_hash`.

    Args:
        attempts: the day's attempts with their rules and process.
        policies: every policy that a row may name.
    """
    chosen = attempts.where("attempt = 1 AND NOT by_caller AND not_replayed IS NULL").where(last_write_wins(policies))
    return chosen.select(
        *OWNER,
        "topic",
        F.col("broker_name").alias("went_to"),
        "addressed_broker",
        "thread",
        began_at_ms().alias("chosen_at_ms"),
        "row_hash",
    )


def chosen_within(stretches: DataFrame, first_attempts: DataFrame) -> DataFrame:
    """Each stretch (`OWNER`, `after_ms`, `until_ms`, …) with the attempts chosen in (`after_ms`, `until_ms`].

    The join is by owner and half minute, so that its cost follows the sends near a stretch.
    """
    by_bucket = _in_buckets(stretches)
    return (
        _near(first_attempts, by_bucket)
        .join(by_bucket, [*OWNER, "bucket"])
        .where("chosen_at_ms > after_ms AND chosen_at_ms <= until_ms")
        .drop("bucket")
    )


def stretches_met(stretches: DataFrame, attempts: DataFrame) -> DataFrame:
    """The attempts chosen in a stretch of their owner, once each, with `met`: those stretches, as an array.

    The stretches of a bucket are brought together before the join, as they are fewer than the attempts.
    """
    fields = [name for name in stretches.columns if name not in OWNER]
    by_bucket = _in_buckets(stretches).groupBy(*OWNER, "bucket").agg(F.collect_list(F.struct(*fields)).alias("near"))
    at_ms = F.col("chosen_at_ms")
    return (
        _near(attempts, by_bucket)
        .join(by_bucket, [*OWNER, "bucket"])
        .withColumn("met", F.filter("near", lambda each: (at_ms > each["after_ms"]) & (at_ms <= each["until_ms"])))
        .where(F.size("met") > 0)
        .drop("bucket", "near")
    )


def _near(attempts: DataFrame, by_bucket: DataFrame) -> DataFrame:
    """The attempts in a bucket and owner of those, with their `bucket`, and now and then one more.

    Looked up by one number, which leaves most attempts out before Spark makes a row of them.
    """
    place = F.xxhash64(*OWNER, "bucket").alias("place")
    bucketed = attempts.withColumn("bucket", _bucket(F.col("chosen_at_ms"))).withColumn("place", place)
    return bucketed.join(by_bucket.select(place).distinct(), "place", "left_semi").drop("place")


def _in_buckets(stretches: DataFrame) -> DataFrame:
    bucket = F.explode(F.sequence(_bucket(F.col("after_ms")), _bucket(F.col("until_ms"))))
    return stretches.withColumn("bucket", bucket)


def _bucket(instant_ms: Column) -> Column:
    return bucket_of(instant_ms, _BUCKET_MS)


def replayed_with(
    items: DataFrame, writes: DataFrame, policies: Sequence[Policy], unordered_within_ms: int
) -> DataFrame:
    """The items with more or other writes: only those that get one are replayed again.

    Args:
        items: writes as `replay.replay` returns them, with `first_position`: their position.
        writes: as `replay.replay` takes them, with `first_position`: of the write it stands for; null = it is new.
        policies: every policy that a row may name.
        unordered_within_ms: as for the first replay.
    """
    touched = writes.select(*ITEM).distinct()
    replaced = writes.where("first_position IS NOT NULL").select(*ITEM, "first_position")
    others = (
        items.join(touched, list(ITEM), "left_semi")
        .join(replaced, [*ITEM, "first_position"], "left_anti")
        .drop(*REPLAYED)
    )
    again = replay(others.unionByName(writes), policies, unordered_within_ms)
    return items.join(touched, list(ITEM), "left_anti").unionByName(again)


def written_columns(items: DataFrame) -> list[str]:
    """The columns of a write before its replay."""
    return [name for name in items.columns if name not in REPLAYED]
