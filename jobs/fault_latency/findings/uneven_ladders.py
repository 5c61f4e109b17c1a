"""LADDER_ARRAYS_DIFFER: a producer's own arrays differ in length, and the client does not check."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.findings.finding import count_text, finding, severity_of_lost
from jobs.fault_latency.keys import PRODUCER
from jobs.kinds import FindingCause, FindingKind, Severity
from jobs.tables.day import Day
from udfs.ladder import isolation_ms
from udfs.outcome import counts_as_failure, counts_with_latency
from udfs.policy import Policy


def uneven_ladder(attempts: DataFrame, policy: Policy, day: Day) -> DataFrame:
    """One finding per producer that sends under a policy whose arrays differ in length.

    A latency or failure that reaches a floor without an isolation leaves `send` with an exception after the message
    was stored (`MQFaultStrategy.computeNotAvailableDuration`, all releases).

    Args:
        attempts: every attempt of the day.
        policy: one whose ladder is not even.
        day: the day.
    """
    ladder, not_exist = policy.ladder, F.lit(policy.not_exist_isolates)
    outcome = F.col("effective_outcome")
    constant_ms = F.lit(policy.failure_latency_ms).cast("bigint")
    looked_up = F.when(counts_as_failure(outcome, not_exist), constant_ms).when(
        counts_with_latency(outcome, not_exist), F.col("latency_ms")
    )
    per_producer = (
        attempts.where((F.col("policy") == policy.name) & F.expr("NOT by_caller AND not_replayed IS NULL"))
        .withColumn("fails", looked_up.isNotNull() & isolation_ms(looked_up, ladder).isNull())
        .groupBy(*PRODUCER)
        .agg(F.count_if("fails").alias("sends"), F.count_if(F.col("fails") & F.col("enforced")).alias("thrown"))
        .withColumns(
            {
                "start_ms": F.lit(day.start_ms).cast("bigint"),
                "end_ms": F.lit(day.end_ms).cast("bigint"),
            }
        )
    )
    floors, isolations = len(ladder.floors_ms), len(ladder.isolations_ms)
    beyond_use = ("isolations beyond the last floor are never used",)
    fatal = (
        "what reaches a floor without an isolation leaves send() with an ArrayIndexOutOfBoundsException; ",
        count_text(F.col("sends"), "attempt"),
        " of the day did",
    )
    return finding(
        per_producer,
        FindingKind.LADDER_ARRAYS_DIFFER,
        severity_of_lost(F.col("thrown"), Severity.WARNING if isolations < floors else Severity.INFO),
        F.lit(FindingCause.SETTINGS),
        F.col("client_id"),
        f" has {floors} floors but {isolations} isolations: ",
        *(beyond_use if isolations > floors else fatal),
    )
