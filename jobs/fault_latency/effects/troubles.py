"""Troubles of brokers: runs of failed or slow attempts at one broker, and at several at once."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from jobs.fault_latency.producers.processes import producer
from jobs.intervals.coalesce import coalesce_overlapping
from jobs.kinds import EventKind
from udfs.bucket import minute_of
from udfs.choice import chosen_at_ms
from udfs.plain_outcome import ANSWERS, SENT
from udfs.trouble import answered_by_another, trouble

_BROKER = ("cluster", "broker_name")
_FAILED = (EventKind.REFUSED, EventKind.TIMED_OUT, EventKind.BUSY, EventKind.MIXED)
_COUNTS = tuple(kind.lower() for kind in (*_FAILED, EventKind.SLOW))
_MOST_OF, _FEW_OF = 0.8, 0.1
_BEGIN_TOGETHER_MS, _END_TOGETHER_MS = 1_000, 2_000


def bad_attempts(attempts: DataFrame, slow_ms: int, day_start_ms: int) -> DataFrame:
    """One row per attempt that shows its broker in trouble: `start_ms` to `end_ms`, `trouble`, `producer`.

    Args:
        attempts: every attempt of the day.
        slow_ms: an answer this late counts as slow.
        day_start_ms: 00:00 of the day; what began before is cut.
    """
    # On columns of `sends`, so that few attempts meet their rules.
    is_quick = F.col("outcome").isin("SEND_OK", "SENT") & (F.col("latency_ms") < slow_ms)
    return (
        attempts.where(~is_quick | answered_by_another())
        .withColumn("trouble", trouble(slow_ms))
        .where("trouble IS NOT NULL")
        .select(
            *_BROKER,
            chosen_at_ms(F.lit(day_start_ms)).alias("start_ms"),
            F.col("ended_at_ms").alias("end_ms"),
            "trouble",
            producer().alias("producer"),
        )
    )


def sent_minutes(sends: DataFrame, slow_ms: int) -> DataFrame:
    """One row per broker and minute with attempts: `attempts`, and `good_ms`, end of the first answered in time.

    Args:
        sends: the published attempts of the day.
        slow_ms: an answer this late counts as slow.
    """
    good_ms = F.min(F.when(_is_good(slow_ms), F.col("ended_at_ms")))
    minute = minute_of(F.col("ended_at_ms")).alias("minute")
    return sends.groupBy(*_BROKER, minute).agg(F.count("*").alias("attempts"), good_ms.alias("good_ms"))


def without_few_slow(bad: DataFrame, minutes: DataFrame, producers: int, share: float) -> DataFrame:
    """Failed attempts, and slow ones in a minute in which enough producers, or enough of the attempts, met slow ones.

    Args:
        bad: as `bad_attempts` returns them.
        minutes: as `sent_minutes` returns them.
        producers: setting `event_slow_producers`.
        share: setting `event_slow_share`.
    """
    in_minute = Window.partitionBy(*_BROKER, "minute")
    is_slow = F.col("trouble") == EventKind.SLOW
    hit = F.size(F.collect_set(F.when(is_slow, F.col("producer"))).over(in_minute))
    of_minute = F.try_divide(F.count_if(is_slow).over(in_minute), "attempts")  # 0.55 * 100 > 55 in floating point
    totals = F.broadcast(minutes.select(*_BROKER, "minute", "attempts"))
    return (
        bad.withColumn("minute", minute_of(F.col("end_ms")))
        .join(totals, [*_BROKER, "minute"])
        .withColumn("counts", ~is_slow | (hit >= producers) | (of_minute >= F.lit(share)))
        .where("counts")
        .drop("minute", "attempts", "counts")
    )


def troubles(bad: DataFrame, gap_ms: int) -> DataFrame:
    """One row per run of a broker's bad attempts less than `gap_ms` apart.

    Grain: `cluster`, `broker_name`, `bad_from_ms` (start of the first); `last_bad_ms` (end of the last), attempts by
    kind.

    Args:
        bad: as `without_few_slow` returns them.
        gap_ms: a pause this long between two bad attempts ends a run.
    """
    kinds = (*_FAILED, EventKind.SLOW)
    shown = [F.count_if(F.col("trouble") == kind).alias(name) for kind, name in zip(kinds, _COUNTS, strict=True)]
    runs = coalesce_overlapping(bad, _BROKER, shown, gap_ms=gap_ms - 1)
    return runs.withColumnsRenamed({"start_ms": "bad_from_ms", "end_ms": "last_bad_ms"})


def until_answered(troubles: DataFrame, sends: DataFrame, minutes: DataFrame, slow_ms: int) -> DataFrame:
    """Runs between which no attempt was answered in time are one.

    Adds `bad_until_ms`, end of the first attempt answered in time after the last bad one (null = none that day);
    `attempts` that ended from `bad_from_ms` to `last_bad_ms`; `sent_by`, the producers that made them; `hit`, those of
    them with one that was not answered in time; `all_brokers`, those of the cluster with an attempt on the day.

    Args:
        troubles: as `troubles` returns them.
        sends: the published attempts of the day.
        minutes: as `sent_minutes` returns them.
        slow_ms: an answer this late counts as slow.
    """
    ended_ms = F.col("ended_at_ms")
    during = (ended_ms >= F.col("bad_from_ms")) & (ended_ms <= F.col("last_bad_ms"))
    first, last = minute_of(F.col("bad_from_ms")), minute_of(F.col("last_bad_ms"))
    spans = troubles.withColumn("minute", F.explode(F.sequence(first, last)))
    by, is_handed_over = F.col("by"), F.col("outcome") == SENT
    seen = (
        sends.withColumns({"minute": minute_of(ended_ms), "is_good": _is_good(slow_ms), "by": producer()})
        .join(F.broadcast(spans), [*_BROKER, "minute"])
        .groupBy(*troubles.columns)
        .agg(
            F.min(F.when(F.col("is_good") & (ended_ms > F.col("last_bad_ms")), ended_ms)).alias("soon_ms"),
            F.count_if(during).alias("attempts"),
            F.collect_set(F.when(during, by)).alias("sent_by"),
            F.collect_set(F.when(during & ~F.col("is_good") & ~is_handed_over, by)).alias("hit"),
        )
    )
    answered = F.array_sort(F.collect_list(F.when(F.col("good_ms").isNotNull(), F.struct("minute", "good_ms"))))
    of_brokers = minutes.groupBy(*_BROKER).agg(answered.alias("answered"))
    of_brokers = of_brokers.withColumn("all_brokers", F.count("*").over(Window.partitionBy("cluster")))
    later = F.get(F.filter("answered", lambda minute: minute["minute"] > last), F.lit(0))["good_ms"]
    return (
        seen.join(F.broadcast(of_brokers), list(_BROKER))
        .withColumn("bad_until_ms", F.coalesce("soon_ms", later))
        .groupBy(*_BROKER, "bad_until_ms", "all_brokers")
        .agg(F.min("bad_from_ms").alias("bad_from_ms"), F.max("last_bad_ms").alias("last_bad_ms"), *_sums())
    )


def together(troubles: DataFrame) -> DataFrame:
    """Troubles of several brokers that begin within a second and end within two are one, of the cluster.

    Grain: `cluster`, `brokers` (sorted), `bad_from_ms`; `broker_name` is null for several.

    Args:
        troubles: as `until_answered` returns them.
    """
    by_begin = Window.partitionBy("cluster").orderBy("bad_from_ms", "broker_name")
    over_ms = F.coalesce("bad_until_ms", "last_bad_ms")
    begun = _numbered(troubles.withColumn("over_ms", over_ms), by_begin, "bad_from_ms", _BEGIN_TOGETHER_MS, "begun")
    by_end = Window.partitionBy("cluster", "begun").orderBy("over_ms", "broker_name")
    is_over = F.count_if(F.col("bad_until_ms").isNull()) == 0
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
            *_sums(),
        )
        .withColumns(
            {
                "broker_name": F.when(F.size("brokers") == 1, F.get("brokers", F.lit(0))),
                "failed_attempts": sum((F.col(kind.lower()) for kind in _FAILED), F.lit(0)),
                "slow_attempts": F.col("slow"),
                "producers": F.size("sent_by").cast("bigint"),
                "hit_producers": F.size("hit").cast("bigint"),
            }
        )
        .withColumn("kind", _kind())
        .drop("begun", "over", "hit", *_COUNTS)
    )


def _sums() -> list[Column]:
    """Attempts, and producers without those that occur twice."""
    sets = [F.array_distinct(F.flatten(F.collect_list(name))).alias(name) for name in ("sent_by", "hit")]
    return [*(F.sum(name).alias(name) for name in ("attempts", *_COUNTS)), *sets]


def _kind() -> Column:
    """The kind of four fifths of the failed attempts, else MIXED; SLOW if fewer than a tenth of the bad ones failed."""
    failed = F.col("failed_attempts")
    of_one = F.coalesce(*(F.when(F.col(kind.lower()) >= failed * _MOST_OF, F.lit(kind)) for kind in _FAILED))
    is_slow = failed < (failed + F.col("slow_attempts")) * _FEW_OF
    return F.when((failed == 0) | is_slow, EventKind.SLOW).otherwise(F.coalesce(of_one, F.lit(EventKind.MIXED)))


def _numbered(rows: DataFrame, in_order: WindowSpec, instant: str, within_ms: int, name: str) -> DataFrame:
    """Numbers of groups whose instants are at most `within_ms` apart.

    Neighbours are chained; a chain that is longer is cut each `within_ms` after its first.
    """
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    goes_on = F.col(instant) - F.lag(instant).over(in_order) <= within_ms
    return (
        rows.withColumn("first_ms", F.when(F.coalesce(goes_on, F.lit(False)), None).otherwise(F.col(instant)))
        .withColumn("first_ms", F.last("first_ms", ignorenulls=True).over(so_far))
        .withColumn(name, F.struct("first_ms", F.floor((F.col(instant) - F.col("first_ms")) / (within_ms + 1))))
        .drop("first_ms")
    )


def _is_good(slow_ms: int) -> Column:
    """The broker of the row answered in time."""
    in_time = F.col("outcome").isin(*ANSWERS) & (F.col("latency_ms") < slow_ms)
    return in_time & ~answered_by_another()
