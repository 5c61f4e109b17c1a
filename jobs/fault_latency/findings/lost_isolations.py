"""ISOLATION_LOST_BY_SUBMIT and REMOVED_WHILE_ISOLATED: isolations that the client itself dropped too early."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.attempt_writes import SUBMIT_STEPS
from jobs.fault_latency.findings.finding import clock_text, count_text, duration_text, finding
from jobs.fault_latency.findings.sessions import moment, sessions
from jobs.fault_latency.keys import OWNER
from jobs.kinds import FindingCause, FindingKind, Severity


def lost_by_submit(writes: DataFrame) -> DataFrame:
    """One finding per producer and broker and run of isolations that a submit call ended.

    Up to 5.1.3 the submit call of an async send writes its own small latency, which ends the isolation.

    Args:
        writes: isolating writes of RELEVANT_WRITES.
    """
    lost = writes.where("enforced AND change = 'CLEARED'").where(
        F.col("step").isin(*SUBMIT_STEPS) & (F.col("cause") == "LATENCY")
    )
    rows = sessions(
        _lost(lost),
        (*OWNER, "broker_name"),
        [F.count("*").alias("isolations"), F.sum("lost_ms").alias("isolated_ms")],
    )
    return finding(
        rows,
        FindingKind.ISOLATION_LOST_BY_SUBMIT,
        F.lit(Severity.WARNING),
        F.lit(FindingCause.CLIENT_DEFECT),
        F.col("client_id"),
        " isolated ",
        F.col("broker_name"),
        " and made it available again, ",
        count_text(F.col("isolations"), "time"),
        ": the submit call of an async send wrote over it; ",
        duration_text(F.col("isolated_ms")),
        " of isolation were lost",
    )


def removed_while_isolated(writes: DataFrame) -> DataFrame:
    """One finding per isolation that the fallback dropped.

    Up to 5.1.3 the fallback drops the fault item of a pick that does not host the topic.

    Args:
        writes: isolating writes of RELEVANT_WRITES.
    """
    rows = (
        _lost(writes.where("enforced AND change = 'REMOVED'"))
        .withColumnRenamed("lost_ms", "isolated_ms")
        .withColumn("isolations", F.lit(1))
    )
    return finding(
        rows,
        FindingKind.REMOVED_WHILE_ISOLATED,
        F.lit(Severity.WARNING),
        F.lit(FindingCause.CLIENT_DEFECT),
        F.col("client_id"),
        " forgot at ",
        clock_text(F.col("start_ms")),
        " that ",
        F.col("broker_name"),
        " was isolated: its fallback picked it for a topic that it does not host; ",
        duration_text(F.col("isolated_ms")),
        " of isolation were lost for every topic",
    )


def _lost(writes: DataFrame) -> DataFrame:
    return writes.select(
        *OWNER,
        "broker_name",
        *moment(F.col("at_ms")),
        (F.col("until_before_ms") - F.col("at_ms")).alias("lost_ms"),
    )
