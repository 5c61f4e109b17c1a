"""COLLATERAL_ISOLATION: healthy brokers isolated because earlier attempts of the send had eaten the time-out."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.broker_health import broker_health, health_bucket
from jobs.fault_latency.findings.finding import clock_text, count_text, duration_text, finding
from jobs.fault_latency.findings.sessions import moment, sessions
from jobs.fault_latency.keys import OWNER
from jobs.kinds import Evidence, FindingCause, FindingKind, Severity
from udfs.outcome import is_out_of_time


def collateral_isolations(writes: DataFrame, sends: DataFrame, slow_ms: int) -> DataFrame:
    """One finding per producer and broker and run of such isolations.

    The isolating try was a retry, with a line of its own or seen by its address, that found no time left: from 4.3.0
    the time-out is one budget for all tries. A broker that was bad for everybody in the same second is not healthy.

    Args:
        writes: isolating writes of RELEVANT_WRITES.
        sends: the published attempts of the day.
        slow_ms: an answer this late counts as slow.
    """
    is_retry = (F.col("attempt") > 1) | (F.col("evidence") == Evidence.RETRY_TEXT)
    no_time = is_out_of_time(F.col("cause"), F.col("current_latency_ms"))
    was_bad = F.coalesce(F.array_contains("bad_brokers", F.col("broker_name")), F.lit(False))
    without_time = (
        writes.where("enforced AND change IN ('OPENED', 'EXTENDED') AND is_failure")
        .where(is_retry & no_time)
        .withColumn("bucket", health_bucket(F.col("at_ms")))
    )
    health = broker_health(sends, without_time, "at_ms", slow_ms)
    isolated = (
        without_time.join(F.broadcast(health), ["cluster", "bucket"], "left")
        .where(~was_bad)
        .select(
            *OWNER,
            "broker_name",
            *moment(F.col("at_ms")),
            "not_available_ms",
        )
    )
    runs = sessions(
        isolated,
        (*OWNER, "broker_name"),
        [F.count("*").alias("isolations"), F.sum("not_available_ms").alias("isolated_ms")],
    )
    return finding(
        runs,
        FindingKind.COLLATERAL_ISOLATION,
        F.lit(Severity.WARNING),
        F.lit(FindingCause.TIMEOUT_SPENT),
        F.col("client_id"),
        " isolated ",
        F.col("broker_name"),
        " ",
        count_text(F.col("isolations"), "time"),
        " from ",
        clock_text(F.col("start_ms")),
        ", up to ",
        duration_text(F.col("isolated_ms")),
        " in all, without giving it time to answer: earlier attempts had eaten the time-out",
    )
