"""NEVER_REACHABLE_AGAIN: 5.1.4's reachable flag keeps a broker out after its window is over."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.findings.finding import clock_text, duration_text, finding
from jobs.fault_latency.findings.sessions import sessions
from jobs.fault_latency.keys import ITEM
from jobs.kinds import FindingCause, FindingKind, Severity
from udfs.fault_window import FAR_MS

_LONG_MS = 600_000  # the longest isolation of any released ladder


def never_reachable_again(writes: DataFrame, day_end_ms: int) -> DataFrame:
    """One finding per producer and broker and run of writes that leave the flag false, where no detector may set it.

    Args:
        writes: isolating writes of RELEVANT_WRITES.
        day_end_ms: 24:00 UTC, epoch ms.
    """
    until = F.least(F.coalesce("next_at_ms", F.lit(FAR_MS)), "process_ended_at_ms", F.lit(day_end_ms))
    start = F.greatest("at_ms", "available_at_ms")
    flagged = (
        writes.where((F.col("until_ms") == FAR_MS) & F.col("enforced") & ~F.col("detector"))
        .withColumns({"start_ms": start, "end_ms": until})
        .where("end_ms > start_ms")
        .select(*ITEM, "start_ms", "end_ms", "cause")
    )
    lasted_ms = F.sum(F.col("end_ms") - F.col("start_ms"))
    runs = sessions(
        flagged, ITEM, [lasted_ms.alias("isolated_ms"), F.min_by("cause", "start_ms").alias("because")]
    ).withColumn("isolations", F.lit(1))
    return finding(
        runs,
        FindingKind.NEVER_REACHABLE_AGAIN,
        F.when(F.col("isolated_ms") >= _LONG_MS, Severity.CRITICAL).otherwise(Severity.WARNING),
        F.lit(FindingCause.CLIENT_DEFECT),
        F.col("client_id"),
        " kept ",
        F.col("broker_name"),
        " out for ",
        duration_text(F.col("isolated_ms")),
        " after its window was over at ",
        clock_text(F.col("start_ms")),
        ": 5.1.4 marks a broker unreachable after ",
        F.col("because"),
        ", and without the detector only a fallback send makes it reachable again",
    )
