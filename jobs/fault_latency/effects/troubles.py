"""Troubles of brokers: runs of failed or slow attempts at one broker, and at several at once."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from jobs.fault_latency.effects.calls import minute_of
from jobs.intervals.coalesce import coalesce_overlapping
from jobs.kinds import EventKind
from udfs.choice import began_at_ms
from udfs.plain_outcome import ANSWERS
from udfs.trouble import trouble

_BROKER = ("cluster", "broker_name")
_FAILED = (EventKind.REFUSED, EventKind.TIMED_OUT, EventKind.BUSY)
_SHOWN = (*_FAILED, EventKind.SLOW)
_MOST_OF = 0.8
"""A trouble is of one kind if this share of its failed attempts is."""
_BEGIN_TOGETHER_MS, _END_TOGETHER_MS = 1_000, 2_000


def bad_attempts(attempts: DataFrame, slow_ms: int, day_start_ms: int) -> DataFrame:
    """One row per attempt that shows its broker in trouble: `start_ms` to `end_ms`, `trouble`, `producer`.

    Args:
        attempts: every attempt of the day.
        slow_ms: an answer this late counts as slow.
        day_start_ms: 00:00 of the day; what began before is cut.
    """
    began_ms = F.least(F.greatest(began_at_ms(), F.lit(day_start_ms)), F.col("ended_at_ms"))
    # On columns of `sends`, so that few attempts meet their rules.
    is_candidate = ~F.col("outcome").isin("SEND_OK", "SENT") | (F.col("latency_ms") >= slow_ms)
    return (
        attempts.where(is_candidate)
        .withColumn("trouble", trouble(slow_ms))
        .where("trouble IS NOT NULL")
        .select(
            *_BROKER,
            began_ms.alias("start_ms"),
            F.col("ended_at_ms").alias("end_ms"),
            "trouble",
            _producer().alias("producer"),
        )
    )


def troubles(bad: DataFrame, gap_ms: int) -> DataFrame:
    """One row per trouble of a broker: its bad attempts less than `gap_ms` apart.

    Grain: `cluster`, `broker_name`, `bad_from_ms` (start of the first); `last_bad_ms` (end of the last), attempts of
    each kind, `hit` and `slow_hit`: producers of failed or slow, and of slow ones.

    Args:
        bad: as `bad_attempts` returns them.
        gap_ms: a pause this long between two bad attempts ends a trouble.
    """
    shown = [F.count_if(F.col("trouble") == kind).alias(kind.lower()) for kind in _SHOWN]
    hit = F.collect_set("producer").alias("hit")
    slow = F.collect_set(F.when(F.col("trouble") == EventKind.SLOW, F.col("producer"))).alias("slow_hit")
    runs = coalesce_overlapping(bad, _BROKER, [*shown, hit, slow], gap_ms=gap_ms - 1)
    return runs.withColumnsRenamed({"start_ms": "bad_from_ms", "end_ms": "last_bad_ms"})


def with_attempts(troubles: DataFrame, sends: DataFrame, slow_ms: int) -> DataFrame:
    """With `bad_until_ms` (end of the first attempt answered in time after the last bad one; null = none that day).

    And with `attempts` that ended from `bad_from_ms` to `last_bad_ms`, `sent_by`, the producers that made them,
    `minute_attempts` of all minutes of it, and `all_brokers`, those of the cluster with an attempt on the day.

    Args:
        troubles: as `troubles` returns them.
        sends: the published attempts of the day.
        slow_ms: an answer this late counts as slow.
    """
    first, last, ended_ms = minute_of("bad_from_ms"), minute_of("last_bad_ms"), F.col("ended_at_ms")
    is_good = F.col("outcome").isin(*ANSWERS) & (F.col("latency_ms") < slow_ms)
    during = (ended_ms >= F.col("bad_from_ms")) & (ended_ms <= F.col("last_bad_ms"))
    in_minutes = troubles.withColumn("minute", F.explode(F.sequence(first, last)))
    attempts = sends.select(
        *_BROKER,
        "ended_at_ms",
        minute_of("ended_at_ms").alias("minute"),
        is_good.alias("is_good"),
        _producer().alias("by"),
    )
    seen = (
        attempts.join(F.broadcast(in_minutes), [*_BROKER, "minute"])
        .groupBy(*troubles.columns)
        .agg(
            F.min(F.when(F.col("is_good") & (ended_ms > F.col("last_bad_ms")), ended_ms)).alias("soon_ms"),
            F.count_if(during).alias("attempts"),
            F.collect_set(F.when(during, F.col("by"))).alias("sent_by"),
            F.count("*").alias("minute_attempts"),
        )
    )
    good = F.min(F.when(F.col("is_good"), ended_ms)).alias("good_ms")
    of_minutes = F.array_sort(F.collect_list(F.when(F.col("good_ms").isNotNull(), F.struct("minute", "good_ms"))))
    of_brokers = attempts.groupBy(*_BROKER, "minute").agg(good).groupBy(*_BROKER).agg(of_minutes.alias("minutes"))
    counted = of_brokers.withColumn("all_brokers", F.count("*").over(Window.partitionBy("cluster")))
    later = F.get(F.filter("minutes", lambda minute: minute["minute"] > last), F.lit(0))["good_ms"]
    return (
        seen.join(F.broadcast(counted), list(_BROKER))
        .withColumn("bad_until_ms", F.coalesce("soon_ms", later))
        .drop("soon_ms", "minutes")
    )


def is_event(slow_producers: int, slow_share: float) -> Column:
    """A failed attempt, or slow ones of enough producers or of enough of the attempts of its minutes."""
    failed = sum((F.col(kind.lower()) for kind in _FAILED), F.lit(0))
    of_minutes = F.try_divide("slow", "minute_attempts")  # a quotient: 0.55 * 100 > 55 in floating point
    return (failed > 0) | (F.size("slow_hit") >= slow_producers) | (of_minutes >= F.lit(slow_share))


def together(troubles: DataFrame) -> DataFrame:
    """Troubles of several brokers that begin within a second and end within two are one, of the cluster.

    Grain: `cluster`, `brokers` (sorted), `bad_from_ms`; `broker_name` is null for several.

    Args:
        troubles: as `with_attempts` returns them.
    """
    by_begin = Window.partitionBy("cluster").orderBy("bad_from_ms", "broker_name")
    over_ms = F.coalesce("bad_until_ms", "last_bad_ms")
    begun = _numbered(troubles.withColumn("over_ms", over_ms), by_begin, "bad_from_ms", _BEGIN_TOGETHER_MS, "begun")
    by_end = Window.partitionBy("cluster", "begun").orderBy("over_ms", "broker_name")
    is_over = F.count_if(F.col("bad_until_ms").isNull()) == 0
    counts = [F.sum(name).alias(name) for name in ("attempts", *(kind.lower() for kind in _SHOWN))]
    producers = {"producers": "sent_by", "hit_producers": "hit"}
    return (
        _numbered(begun, by_end, "over_ms", _END_TOGETHER_MS, "over")
        .groupBy("cluster", "begun", "over")
        .agg(
            F.array_sort(F.collect_set("broker_name")).alias("brokers"),
            F.max("all_brokers").alias("all_brokers"),
            F.min("bad_from_ms").alias("bad_from_ms"),
            (F.max("bad_from_ms") - F.min("bad_from_ms")).alias("began_within_ms"),
            F.max("last_bad_ms").alias("last_bad_ms"),
            F.when(is_over, F.max("bad_until_ms")).alias("bad_until_ms"),
            *counts,
            *(
                F.size(F.array_distinct(F.flatten(F.collect_list(sets)))).cast("bigint").alias(name)
                for name, sets in producers.items()
            ),
        )
        .withColumns(
            {
                "broker_name": F.when(F.size("brokers") == 1, F.get("brokers", F.lit(0))),
                "failed_attempts": sum((F.col(kind.lower()) for kind in _FAILED), F.lit(0)),
                "slow_attempts": F.col("slow"),
            }
        )
        .withColumn("kind", _kind())
        .drop("begun", "over", *(kind.lower() for kind in _SHOWN))
    )


def _kind() -> Column:
    """The kind of most of the failed attempts; SLOW if none failed."""
    failed = F.col("failed_attempts")
    of_one = F.coalesce(*(F.when(F.col(kind.lower()) >= failed * _MOST_OF, F.lit(kind)) for kind in _FAILED))
    return F.when(failed == 0, EventKind.SLOW).otherwise(F.coalesce(of_one, F.lit(EventKind.MIXED)))


def _numbered(rows: DataFrame, in_order: WindowSpec, instant: str, apart_ms: int, name: str) -> DataFrame:
    """Numbers of runs whose instants are at most `apart_ms` apart."""
    is_apart = F.coalesce(F.col(instant) - F.lag(instant).over(in_order) > apart_ms, F.lit(False))
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return rows.withColumn("is_apart", is_apart).withColumn(name, F.count_if("is_apart").over(so_far)).drop("is_apart")


def _producer() -> Column:
    return F.struct("client_id", "producer_group")
