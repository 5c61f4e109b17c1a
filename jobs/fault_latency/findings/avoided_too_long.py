"""AVOIDED_TOO_LONG: a group kept avoiding a broker that answered again."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.events import isolations_meanwhile
from jobs.fault_latency.findings.finding import clock_text, count_text, duration_text, finding
from jobs.kinds import FindingCause, FindingKind, Severity
from udfs.policy import Policy


def avoided_too_long(events: DataFrame, isolations: DataFrame, policies: Sequence[Policy], least_ms: int) -> DataFrame:
    """One finding per event, broker and producer group that avoided it for `least_ms` or longer after it answered.

    Up to the broker's next event; a broker that nobody heard an answer from was perhaps avoided rightly.

    Args:
        events: EVENTS.
        isolations: ISOLATIONS.
        policies: every policy that a row may name, the released ones first, oldest first.
        least_ms: setting `avoided_too_long_ms`.
    """
    until_ms = F.least("counted_until_ms", "next_bad_ms")
    after = (
        isolations_meanwhile(events, isolations)
        .where("bad_until_ms IS NOT NULL")
        .withColumn("after_ms", until_ms - F.greatest("bad_until_ms", "start_ms"))
        .where(F.col("after_ms") > 0)
    )
    longest = F.struct("after_ms", "client_id", "policy")
    groups = (
        after.groupBy("cluster", "event_id", "broker_name", "producer_group", "bad_until_ms")
        .agg(
            F.max(longest).alias("longest"),
            F.max(until_ms).alias("end_ms"),
            F.sum("after_ms").alias("isolated_ms"),
            F.count("*").alias("isolations"),
            F.count_distinct("client_id").alias("producers"),
            F.array_join(F.array_sort(F.collect_set("client_version")), ", ").alias("versions"),
        )
        .where(F.col("longest.after_ms") >= least_ms)
        .withColumn("start_ms", F.col("bad_until_ms"))
    )
    return finding(
        groups,
        FindingKind.AVOIDED_TOO_LONG,
        F.lit(Severity.WARNING),
        F.lit(FindingCause.LADDER),
        F.coalesce("producer_group", F.lit("a producer without a group")),
        " (",
        F.when(F.col("versions") != "", F.concat("versions", F.lit(", "))).otherwise(""),
        count_text(F.col("producers"), "producer"),
        ") avoided ",
        F.col("broker_name"),
        " for up to ",
        duration_text(F.col("longest.after_ms")),
        " after it answered again at ",
        clock_text(F.col("start_ms")),
        _by_design(F.col("longest.policy"), policies),
    )


def _by_design(policy: Column, policies: Sequence[Policy]) -> Column:
    """How long the ladder isolates after a failure, and the newest release's where it isolates for another time."""
    newest = [candidate for candidate in policies if candidate.name == candidate.profile][-1]
    words = F.lit("")
    for candidate in policies:
        isolates_ms = candidate.failure_isolation_ms
        if isolates_ms is not None:
            own = F.concat(
                F.lit(": its ladder isolates for "), duration_text(F.lit(isolates_ms)), F.lit(" after a failure")
            )
            other = F.concat(F.lit(", the newest release's for "), duration_text(F.lit(newest.failure_isolation_ms)))
            differs = newest.failure_isolation_ms not in (None, isolates_ms)
            words = F.when(policy == candidate.name, F.concat(own, other) if differs else own).otherwise(words)
    return words
