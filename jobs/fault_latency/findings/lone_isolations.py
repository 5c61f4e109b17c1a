"""LONE_ISOLATION: is it the producer, or the broker?"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.findings.finding import (
    clock_text,
    count_text,
    duration_text,
    finding,
    percent_text,
)
from jobs.fault_latency.findings.sessions import sessions
from jobs.fault_latency.keys import PRODUCER
from jobs.fault_latency.producers.processes import producer
from jobs.kinds import FindingCause, FindingKind, Severity
from udfs.bucket import minute_of
from udfs.choice import began_at_ms, is_bad
from udfs.outcome import is_out_of_time

_FEWEST_OTHERS = 2
_HEALTHY_SHARE = 0.05
_MINUTE = ("cluster", "broker_name", "minute")
_RUN = (*PRODUCER, "broker_name", "start_ms")


def lone_isolations(isolations: DataFrame, sends: DataFrame, slow_ms: int) -> DataFrame:
    """One finding per producer and broker and run of isolations, all with the switch on, that no other producer shares.

    At least two others sent to the broker in the same minutes, none of them isolated it (or would have, with the
    switch on), and at most one in twenty of their attempts failed or was slow. A broker that was given no time to
    answer says nothing about the way to it, so such isolations do not count.

    Args:
        isolations: ISOLATIONS.
        sends: the published attempts of the day.
        slow_ms: an answer this late counts as slow.
    """
    had_time = ~F.coalesce(is_out_of_time(F.col("cause"), F.col("opener_latency_ms")), F.lit(False))
    lasting = isolations.where(had_time & (F.col("end_ms") > F.col("start_ms")))
    evidence = [
        F.count("*").alias("isolations"),
        F.sum(F.col("end_ms") - F.col("start_ms")).alias("isolated_ms"),
        F.bool_or(F.col("cause") != "LATENCY").alias("by_failure"),
        F.bool_and("enforced").alias("enforced"),
    ]
    alone = _of_one_producer(sessions(lasting, (*PRODUCER, "broker_name"), evidence)).where("enforced")
    others = _sends_of_others(alone, sends, slow_ms).where(
        (F.col("producers") >= _FEWEST_OTHERS) & (F.col("share") <= _HEALTHY_SHARE)
    )
    return finding(
        alone.join(others, list(_RUN)),
        FindingKind.LONE_ISOLATION,
        F.when(F.col("by_failure"), Severity.WARNING).otherwise(Severity.INFO),
        F.lit(FindingCause.PRODUCER_SIDE),
        F.col("client_id"),
        " alone isolated ",
        F.col("broker_name"),
        " for ",
        duration_text(F.col("isolated_ms")),
        " from ",
        clock_text(F.col("start_ms")),
        "; ",
        count_text(F.col("producers"), "other"),
        " sent to it meanwhile, ",
        percent_text(F.col("share")),
        " of their attempts slow or failed: look at the producer and its network",
    )


def _of_one_producer(runs: DataFrame) -> DataFrame:
    """Runs that no run of another producer overlaps; those of one producer at one broker do not overlap."""
    in_time = Window.partitionBy("cluster", "broker_name").orderBy("start_ms", "end_ms", *PRODUCER)
    before = F.max("end_ms").over(in_time.rowsBetween(Window.unboundedPreceding, -1))
    after = F.lead("start_ms").over(in_time)
    overlaps = (before > F.col("start_ms")) | (after < F.col("end_ms"))
    return runs.withColumn("overlaps", overlaps).where(~F.coalesce("overlaps", F.lit(False))).drop("overlaps")


def _sends_of_others(runs: DataFrame, sends: DataFrame, slow_ms: int) -> DataFrame:
    """One row per run: `producers`, others that sent to its broker in the same minutes, `sends`, and bad `share`."""
    minutes = F.sequence(minute_of(F.col("start_ms")), minute_of(F.col("end_ms") - 1))
    in_minute = runs.withColumn("minute", F.explode(minutes))
    counted = (
        sends.withColumn("minute", minute_of(began_at_ms()))
        .join(F.broadcast(in_minute.select(*_MINUTE).distinct()), list(_MINUTE), "left_semi")
        .groupBy(*_MINUTE, producer().alias("other"))
        .agg(
            F.count("*").alias("sent"),
            F.count_if(is_bad(F.col("outcome"), F.col("latency_ms"), slow_ms)).alias("bad"),
        )
    )
    return (
        in_minute.join(counted, list(_MINUTE))
        .where(F.col("other") != producer())
        .groupBy(*_RUN)
        .agg(
            F.count_distinct("other").alias("producers"),
            F.sum("sent").alias("sends"),
            (F.sum("bad") / F.sum("sent")).alias("share"),
        )
    )
