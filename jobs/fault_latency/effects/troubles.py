"""Troubles of brokers: runs of failed or slow attempts at one broker, and at several at once."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from jobs.intervals.coalesce import coalesce_overlapping
from udfs.choice import began_at_ms
from udfs.plain_outcome import ANSWERS
from udfs.trouble import Trouble, trouble

_BROKER = ("cluster", "broker_name")
_MOST_OF = 0.8
"""A trouble is of one kind if this share of its failed attempts is."""
_FAILED = (Trouble.REFUSED, Trouble.TIMED_OUT, Trouble.BUSY)
_BEGIN_TOGETHER_MS, _END_TOGETHER_MS = 1_000, 2_000


def bad_attempts(attempts: DataFrame, slow_ms: int) -> DataFrame:
    """One row per attempt that shows its broker in trouble: `start_ms` to `end_ms`, `trouble`, `producer`.

    Args:
        attempts: every attempt of the day.
        slow_ms: an answer this late counts as slow.
    """
    shown = trouble(F.col("effective_outcome"), F.col("response_code"), F.col("latency_ms"), slow_ms)
    began_ms = F.least(began_at_ms(), F.col("ended_at_ms"))
    return (
        attempts.withColumn("trouble", shown)
        .where("trouble IS NOT NULL")
        .select(
            *_BROKER,
            began_ms.alias("start_ms"),
            F.col("ended_at_ms").alias("end_ms"),
            "trouble",
            F.struct("client_id", "producer_group").alias("producer"),
        )
    )


def troubles(bad: DataFrame, gap_ms: int) -> DataFrame:
    """One row per trouble of a broker: its bad attempts less than `gap_ms` apart.

    Grain: `cluster`, `broker_name`, `bad_from_ms` (start of the first); `last_bad_ms` (end of the last), `kind`,
    `failed` and `slow` attempts, `producers_hit`, `slow_producers`.

    Args:
        bad: as `bad_attempts` returns them.
        gap_ms: a pause this long between two bad attempts ends a trouble.
    """
    of_kind = {kind: F.count_if(F.col("trouble") == kind).alias(kind.lower()) for kind in (*_FAILED, Trouble.SLOW)}
    hit = F.collect_set("producer").alias("hit")
    slow = F.collect_set(F.when(F.col("trouble") == Trouble.SLOW, F.col("producer"))).alias("slow_hit")
    runs = coalesce_overlapping(bad, _BROKER, [*of_kind.values(), hit, slow], gap_ms=gap_ms - 1)
    return runs.withColumns({"failed": _failed(), "kind": _kind()}).select(
        *_BROKER,
        F.col("start_ms").alias("bad_from_ms"),
        F.col("end_ms").alias("last_bad_ms"),
        "kind",
        "failed",
        "slow",
        F.size("hit").alias("producers_hit"),
        F.size("slow_hit").alias("slow_producers"),
    )


def _failed() -> Column:
    return sum((F.col(kind.lower()) for kind in _FAILED), F.lit(0))


def _kind() -> Column:
    """The kind of most of the failed attempts; SLOW if none failed."""
    failed = _failed()
    of_one = F.coalesce(*(F.when(F.col(kind.lower()) >= failed * _MOST_OF, F.lit(kind)) for kind in _FAILED))
    return F.when(failed == 0, Trouble.SLOW).otherwise(F.coalesce(of_one, F.lit(Trouble.MIXED)))


def with_recovery(troubles: DataFrame, attempts: DataFrame, slow_ms: int) -> DataFrame:
    """With `bad_until_ms` (end of the first attempt answered in time after the last bad one; null = none that day).

    And with `tried`, attempts at the broker from `bad_from_ms` to `last_bad_ms`, and `producers`, that made them.

    Args:
        troubles: as `troubles` returns them.
        attempts: every attempt of the day.
        slow_ms: an answer this late counts as slow.
    """
    in_time = Window.partitionBy(*_BROKER).orderBy("bad_from_ms")
    spans = troubles.select(
        *_BROKER, "bad_from_ms", "last_bad_ms", F.lead("bad_from_ms").over(in_time).alias("next_bad_ms")
    )
    during = F.col("ended_at_ms") <= F.col("last_bad_ms")
    is_good = F.col("outcome").isin(*ANSWERS) & (F.col("latency_ms") < slow_ms)
    until_next = F.coalesce(F.col("ended_at_ms") < F.col("next_bad_ms"), F.lit(True))
    seen = (
        attempts.join(F.broadcast(spans), list(_BROKER))
        .where((F.col("ended_at_ms") >= F.col("bad_from_ms")) & until_next)
        .groupBy(*_BROKER, "bad_from_ms")
        .agg(
            F.min(F.when(is_good & ~during, F.col("ended_at_ms"))).alias("bad_until_ms"),
            F.count_if(during).alias("tried"),
            F.count_distinct(F.when(during, F.struct("client_id", "producer_group"))).alias("producers"),
        )
    )
    return troubles.join(seen, [*_BROKER, "bad_from_ms"])


def together(troubles: DataFrame) -> DataFrame:
    """Troubles of several brokers that begin within a second and end within two are one, of the cluster.

    Grain: `cluster`, `broker_name` (null = several), `bad_from_ms`. Adds `brokers`, sorted.

    Args:
        troubles: as `with_recovery` returns them.
    """
    by_begin = Window.partitionBy("cluster").orderBy("bad_from_ms", "broker_name")
    end_ms = F.coalesce("bad_until_ms", "last_bad_ms")
    begun = _numbered(troubles.withColumn("over_ms", end_ms), by_begin, "bad_from_ms", _BEGIN_TOGETHER_MS, "begun")
    by_end = Window.partitionBy("cluster", "begun").orderBy("over_ms", "broker_name")
    numbered = _numbered(begun, by_end, "over_ms", _END_TOGETHER_MS, "over")
    kinds, brokers = F.collect_set("kind"), F.array_sort(F.collect_set("broker_name"))
    return (
        numbered.groupBy("cluster", "begun", "over")
        .agg(
            brokers.alias("brokers"),
            F.min("bad_from_ms").alias("bad_from_ms"),
            F.max("last_bad_ms").alias("last_bad_ms"),
            # Not over at one broker: not over.
            F.when(F.count_if(F.col("bad_until_ms").isNull()) == 0, F.max("bad_until_ms")).alias("bad_until_ms"),
            F.when(F.size(kinds) == 1, F.get(kinds, F.lit(0))).otherwise(Trouble.MIXED).alias("kind"),
            *(F.sum(name).alias(name) for name in ("failed", "slow", "tried")),
            *(F.max(name).alias(name) for name in ("producers_hit", "slow_producers", "producers")),
        )
        .withColumn("broker_name", F.when(F.size("brokers") == 1, F.get("brokers", F.lit(0))))
        .drop("begun", "over")
    )


def _numbered(rows: DataFrame, in_order: WindowSpec, instant: str, apart_ms: int, name: str) -> DataFrame:
    """Numbers of runs whose instants are at most `apart_ms` apart."""
    is_apart = F.coalesce(F.col(instant) - F.lag(instant).over(in_order) > apart_ms, F.lit(False))
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return rows.withColumn("is_apart", is_apart).withColumn(name, F.count_if("is_apart").over(so_far)).drop("is_apart")
