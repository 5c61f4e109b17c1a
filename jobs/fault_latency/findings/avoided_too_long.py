"""AVOIDED_TOO_LONG: a group kept avoiding a broker that answered again, or that nobody tried again."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.events import isolations_meanwhile
from jobs.fault_latency.findings.finding import clock_text, count_text, duration_text, finding
from jobs.kinds import FindingCause, FindingKind, Severity
from udfs.policy import Policy, gated_by_reachable


def avoided_too_long(events: DataFrame, isolations: DataFrame, policies: Sequence[Policy], least_ms: int) -> DataFrame:
    """One finding per event, broker and producer group of which producers avoided it for `least_ms` or longer.

    From its first answer to another producer, or from its last bad attempt where none was answered until they tried it
    again; to the end of the isolation, or the broker's next event. Of 5.1.4's flag NEVER_REACHABLE_AGAIN says more.

    Args:
        events: EVENTS.
        isolations: ISOLATIONS.
        policies: every policy that a row may name, the released ones first, oldest first.
        least_ms: setting `avoided_too_long_ms`.
    """
    until_ms = F.least("counted_until_ms", "next_bad_ms")
    answered = F.coalesce(F.col("bad_until_ms") < until_ms, F.lit(False))
    since_ms = F.when(answered, F.col("bad_until_ms")).otherwise(F.col("last_bad_ms"))
    longest = F.max(F.struct("after_ms", "client_id", "policy", "cause"))
    groups = (
        isolations_meanwhile(events, isolations)
        .withColumns({"answered": answered, "since_ms": since_ms, "until_ms": until_ms})
        .withColumn("after_ms", F.col("until_ms") - F.greatest("since_ms", "start_ms"))
        .where(
            (F.col("after_ms") >= least_ms) & ~F.coalesce(gated_by_reachable(F.col("policy"), policies), F.lit(False))
        )
        .groupBy(
            "cluster", "event_id", "broker_name", "producer_group", "answered", F.col("since_ms").alias("start_ms")
        )
        .agg(
            longest.alias("longest"),
            F.max("until_ms").alias("end_ms"),
            F.sum("after_ms").alias("isolated_ms"),
            F.count("*").alias("isolations"),
            F.count_distinct("client_id").alias("producers"),
            F.array_join(F.array_sort(F.collect_set("client_version")), ", ").alias("versions"),
        )
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
        F.when(F.col("answered"), " after it answered again at ").otherwise(" after its last bad attempt at "),
        clock_text(F.col("start_ms")),
        F.when(F.col("answered"), "").otherwise(", and nobody had an answer from it meanwhile"),
        F.when(F.col("longest.cause") == "LATENCY", "").otherwise(_by_design(F.col("longest.policy"), policies)),
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
