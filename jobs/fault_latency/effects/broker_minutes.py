"""Broker minutes: sends, exact latencies, and isolation as producer-milliseconds."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from udfs.outcome import is_answer
from udfs.plain_outcome import ANSWERS

_MINUTE_MS = 60_000
_SENDER = ("client_id", "producer_group")
_PERCENTILES = {"latency_p50_ms": 50, "latency_p95_ms": 95, "latency_p99_ms": 99}


def broker_windows(sends: DataFrame, isolations: DataFrame) -> DataFrame:
    """One row per broker and minute with sends or enforced isolation.

    Grain: `cluster`, `broker_name`, `window_start_ms`.
    Latencies are exact percentiles over answered sync and async attempts: the lowest latency that at least
    that share of them does not exceed.

    Args:
        sends: the day's attempts.
        isolations: the day's isolations; those not enforced are left out.
    """
    keys = ["cluster", "broker_name", "window_start_ms"]
    answered = F.when((F.col("mode") != "ONEWAY") & F.col("outcome").isin(*ANSWERS), F.col("latency_ms"))
    minute = F.col("ended_at_ms") - F.col("ended_at_ms") % _MINUTE_MS
    in_minute = sends.withColumns({"window_start_ms": minute, "answered_ms": answered})
    attempts = _outcomes(in_minute, keys)
    # Counted apart: many attempts have the same latency, few the same producer.
    senders = in_minute.select(*keys, *_SENDER).distinct().groupBy(*keys).agg(F.count("*").alias("producers"))
    first, last = F.col("start_ms") - F.col("start_ms") % _MINUTE_MS, F.col("counted_until_ms") - 1
    minutes = isolations.where("enforced AND counted_until_ms > start_ms").withColumn(
        "window_start_ms", F.explode(F.sequence(first, last, F.lit(_MINUTE_MS).cast("bigint")))
    )
    share_of_minute = F.least("counted_until_ms", F.col("window_start_ms") + _MINUTE_MS) - F.greatest(
        "start_ms", "window_start_ms"
    )
    isolated = minutes.groupBy(*keys).agg(
        F.sum(share_of_minute).alias("isolated_ms"),
        F.count_distinct("client_id", "producer_group").alias("isolating_producers"),
    )
    counts = {
        name: F.coalesce(name, F.lit(0))
        for name in ("sends", "failures", "producers", "isolated_ms", "isolating_producers")
    }
    return attempts.join(senders, keys).join(isolated, keys, "full").withColumns(counts)


def _outcomes(attempts: DataFrame, keys: Sequence[str]) -> DataFrame:
    """One row per broker and minute with sends: `sends`, `failures` and the latencies.

    Equal latencies are counted first, so that far fewer rows than attempts are put in order.
    """
    counted = attempts.groupBy(*keys, "answered_ms").agg(
        F.count("*").alias("sends"),
        F.count("answered_ms").alias("answers"),
        F.count_if(~is_answer(F.col("outcome"))).alias("failures"),
    )
    minute = Window.partitionBy(*keys)
    so_far = minute.orderBy("answered_ms").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    whole = minute.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    ranked = counted.withColumns(
        {"answers_so_far": F.sum("answers").over(so_far), "all_answers": F.sum("answers").over(whole)}
    )
    reached = {
        name: F.col("answers_so_far") * 100 >= F.col("all_answers") * percent for name, percent in _PERCENTILES.items()
    }
    return ranked.groupBy(*keys).agg(
        F.sum("sends").alias("sends"),
        F.sum("failures").alias("failures"),
        *(F.min(F.when(is_reached, F.col("answered_ms"))).alias(name) for name, is_reached in reached.items()),
        F.max("answered_ms").alias("latency_max_ms"),
    )
