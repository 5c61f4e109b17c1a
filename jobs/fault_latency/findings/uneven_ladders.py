"""LADDER_ARRAYS_DIFFER: a producer's own arrays differ in length, and the client does not check."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.day import Day
from jobs.fault_latency.findings.finding import count_text, finding
from jobs.fault_latency.producers import PRODUCER
from udfs.ladder import isolation_ms
from udfs.outcome import is_answer
from udfs.policy import Policy


def uneven_ladder(attempts: DataFrame, policy: Policy, day: Day) -> DataFrame:
    """One finding per producer that sends under the policy.

    A latency or failure that reaches a floor without an isolation leaves `send` with an exception after the message
    was stored (`MQFaultStrategy.computeNotAvailableDuration`, all releases).

    Args:
        attempts: the day's attempts with their rules.
        policy: one whose ladder is not even.
        day: the day.
    """
    looked_up = F.when(is_answer(F.col("outcome")), F.col("latency_ms")).otherwise(
        F.lit(policy.failure_latency_ms).cast("bigint")
    )
    ladder = policy.ladder
    found = (
        attempts.where((F.col("policy") == policy.name) & F.expr("NOT by_caller AND not_replayed IS NULL"))
        .withColumn("fails", isolation_ms(looked_up, ladder).isNull())
        .groupBy(*PRODUCER)
        .agg(F.count_if("fails").alias("sends"), F.count_if(F.col("fails") & F.col("enforced")).alias("thrown"))
        .withColumns(
            {
                "found_from_ms": F.lit(day.start_ms).cast("bigint"),
                "found_until_ms": F.lit(day.end_ms).cast("bigint"),
            }
        )
    )
    floors, isolations = len(ladder.floors_ms), len(ladder.isolations_ms)
    effect = (
        "isolations beyond the last floor are never used"
        if isolations > floors
        else "what reaches a floor without an isolation leaves send() with an ArrayIndexOutOfBoundsException"
    )
    return finding(
        found,
        "LADDER_ARRAYS_DIFFER",
        F.when(F.col("thrown") > 0, "CRITICAL").when(F.lit(isolations < floors), "WARNING").otherwise("INFO"),
        F.lit("SETTINGS"),
        F.col("client_id"),
        f" has {floors} floors but {isolations} isolations: {effect}; ",
        count_text(F.col("sends"), "attempt"),
        " of the day did",
    )
