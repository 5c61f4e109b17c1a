"""CLOCK_STEP: a producer's clock was set while it sent, so its windows and latencies are off by as much."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.findings.finding import clock_text, count_text, duration_text, finding
from jobs.fault_latency.findings.sessions import moment, sessions
from jobs.fault_latency.keys import OWNER
from jobs.fault_latency.producers.attempts import with_owner
from jobs.fault_latency.producers.processes import STEP_MS, is_shared, restarted_once
from jobs.kinds import FindingCause, FindingKind, Severity


def clock_steps(sends: DataFrame, sends_per_process: DataFrame) -> DataFrame:
    """One finding per producer and run of attempts whose times contradict each other by a second or more.

    Either an attempt ended before one with a lower `seq` (the clock was set back), or its latency is not the time
    from its start to its end (the clock was set meanwhile). A step forward between two attempts looks like a pause.

    Args:
        sends: the published attempts of the day.
        sends_per_process: SENDS_PER_PROCESS; where `seq` does not order the attempts, it shows no clock.
    """
    differs_ms = F.abs(F.col("ended_at_ms") - F.col("started_at_ms") - F.col("latency_ms"))
    differing = sends.withColumn("step_ms", differs_ms).where(F.col("step_ms") >= STEP_MS)
    stepped = (
        _falls(sends, sends_per_process)
        .unionByName(with_owner(differing, sends_per_process).select(*OWNER, "ended_at_ms", "row_hash", "step_ms"))
        .groupBy(*OWNER, "ended_at_ms", "row_hash")
        .agg(F.max("step_ms").alias("step_ms"))
        .select(*OWNER, *moment(F.col("ended_at_ms")), "step_ms")
    )
    runs = sessions(stepped, OWNER, [F.count("*").alias("sends"), F.max("step_ms").alias("largest_ms")])
    return finding(
        runs,
        FindingKind.CLOCK_STEP,
        F.lit(Severity.WARNING),
        F.lit(FindingCause.CLOCK),
        "the clock of ",
        F.col("client_id"),
        " was set by about ",
        duration_text(F.col("largest_ms")),
        " near ",
        clock_text(F.col("start_ms")),
        "; ",
        count_text(F.col("sends"), "attempt"),
        " show it, and isolations around it may be wrong by as much",
    )


def _falls(sends: DataFrame, sends_per_process: DataFrame) -> DataFrame:
    """`step_ms` of attempts near which time fell: by how much they ended before one with a lower `seq`."""
    stepped = F.col("clock_fell") & ~is_shared() & ~restarted_once()
    by_seq = Window.partitionBy(*OWNER).orderBy("seq", "ended_at_ms", "row_hash")
    highest_ms = F.max("ended_at_ms").over(by_seq.rowsBetween(Window.unboundedPreceding, -1))
    return (
        with_owner(sends.where("seq IS NOT NULL"), sends_per_process.where(stepped))
        .withColumn("step_ms", highest_ms - F.col("ended_at_ms"))
        .where(F.col("step_ms") >= STEP_MS)
        .select(*OWNER, "ended_at_ms", "row_hash", "step_ms")
    )
