"""SEVERAL_PROCESSES: processes that share one client id, by overlapping ids or a `seq` that falls."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.findings.finding import clock_text, count_text, finding
from jobs.fault_latency.keys import PROCESS, PRODUCER
from jobs.fault_latency.producers.processes import is_shared, life_spans, restarted_once
from jobs.kinds import FindingCause, FindingKind, Severity

_IN_FLIGHT_MS = 10_000
"""A send in flight may end this long after its process was replaced."""


def overlapping_processes(sends_per_process: DataFrame) -> DataFrame:
    """One finding per producer whose processes overlap by their ids.

    Args:
        sends_per_process: SENDS_PER_PROCESS.
    """
    lives = life_spans(sends_per_process).where("process_id IS NOT NULL")
    by_start = Window.partitionBy(*PRODUCER).orderBy("first_began_ms", "process")
    others_until = F.max("last_ended_ms").over(by_start.rowsBetween(Window.unboundedPreceding, -1))
    shared = (
        lives.withColumn("others_until_ms", others_until)
        .where("others_until_ms IS NOT NULL")
        .withColumn("until_ms", F.least("last_ended_ms", "others_until_ms"))
        .where(F.col("until_ms") - F.col("first_began_ms") > _IN_FLIGHT_MS)
        .groupBy(*PRODUCER)
        .agg(F.min("first_began_ms").alias("start_ms"), F.max("until_ms").alias("end_ms"))
    )
    return finding(
        shared,
        FindingKind.SEVERAL_PROCESSES,
        F.lit(Severity.WARNING),
        F.lit(FindingCause.PROCESS_IDS_OVERLAP),
        "several processes sent as ",
        F.col("client_id"),
        " at the same time, from ",
        clock_text(F.col("start_ms")),
        " to ",
        clock_text(F.col("end_ms")),
        "; each is replayed by itself",
    )


def falls_of_seq(sends_per_process: DataFrame) -> DataFrame:
    """One finding per producer whose `seq` falls without an id.

    Args:
        sends_per_process: SENDS_PER_PROCESS.
    """
    times = (F.col("fell_first_ms").alias("start_ms"), F.col("fell_last_ms").alias("end_ms"))
    fell = sends_per_process.where(is_shared() | restarted_once()).select(*PROCESS, "seq_falls", *times).distinct()
    shared = F.col("seq_falls") > 1
    shared_words = F.concat(
        F.lit("several processes sent as "),
        F.col("client_id"),
        F.lit(", or its clock was set back: seq fell "),
        count_text(F.col("seq_falls"), "time"),
        F.lit(" between "),
        clock_text(F.col("start_ms")),
        F.lit(" and "),
        clock_text(F.col("end_ms")),
        F.lit(", and no line has a process_id. Its sends are published, not replayed"),
    )
    once_words = F.concat(
        F.lit("seq of "),
        F.col("client_id"),
        F.lit(" fell once, at "),
        clock_text(F.col("start_ms")),
        F.lit(": a restart, perhaps. No line has a process_id, so its isolations go on across it"),
    )
    return finding(
        fell,
        FindingKind.SEVERAL_PROCESSES,
        F.when(shared, Severity.WARNING).otherwise(Severity.INFO),
        F.when(shared, FindingCause.SEQ_FALLS).otherwise(FindingCause.SEQ_FELL_ONCE),
        F.when(shared, shared_words).otherwise(once_words),
    )
