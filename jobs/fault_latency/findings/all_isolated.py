"""ALL_ISOLATED and DEAD_BROKER_MAGNET: intervals without an available broker, and where the sends went then."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.within import intervals_met
from jobs.fault_latency.findings.finding import (
    clock_text,
    count_text,
    duration_text,
    finding,
    percent_text,
    severity_of_lost,
)
from jobs.fault_latency.findings.sessions import moment, sessions
from jobs.fault_latency.keys import OWNER, TOPIC
from jobs.kinds import FindingCause, FindingKind, Severity
from udfs.outcome import is_answer
from udfs.policy import Policy, keeps_latest

_FEWEST_SENDS = 10
_MORE_THAN_ITS_TURN = 1.25


def all_isolated(intervals: DataFrame, choices: DataFrame) -> DataFrame:
    """One finding per interval without an available broker.

    Args:
        intervals: WITHOUT_BROKER.
        choices: CHOICES.
    """
    attempts = (
        _choices_within(intervals, choices)
        .groupBy(*TOPIC, F.col("after_ms").alias("start_ms"))
        .agg(F.count("*").alias("sends"), F.count_if(~is_answer(F.col("outcome"))).alias("failures"))
    )
    without_broker = intervals.join(attempts, [*TOPIC, "start_ms"], "left").withColumns(
        {name: F.coalesce(name, F.lit(0)) for name in ("sends", "failures")}
    )
    lone = F.size("brokers") == 1
    return finding(
        without_broker,
        FindingKind.ALL_ISOLATED,
        severity_of_lost(F.col("failures"), F.when(F.col("failures") > 0, Severity.WARNING).otherwise(Severity.INFO)),
        F.when(lone, FindingCause.ONLY_BROKER).otherwise(FindingCause.ALL_ISOLATED),
        F.col("client_id"),
        " had no available broker for ",
        F.col("topic"),
        " from ",
        clock_text(F.col("start_ms")),
        " for ",
        duration_text(F.col("end_ms") - F.col("start_ms")),
        ": ",
        F.array_join("brokers", ", "),
        " isolated; ",
        F.col("failures"),
        " of ",
        count_text(F.col("sends"), "attempt"),
        " failed",
    )


def dead_broker_magnets(intervals: DataFrame, choices: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """One finding per producer and run of such intervals in which most attempts went to a broker that failed them.

    Up to 5.1.3 the fallback (`LatencyFaultToleranceImpl.pickOneAtLeast`) prefers the lowest latency: that of the broker
    that refuses fastest. Only runs with ten attempts or more over two brokers or more count: the failing broker got a
    quarter more than its turn, and failed at least half of what it got.

    Args:
        intervals: WITHOUT_BROKER.
        choices: CHOICES.
        policies: every policy that a row may name.
    """
    of_old = choices.where(~keeps_latest(F.col("policy"), policies)).where("enforced AND NOT by_caller")
    attempts = _choices_within(intervals, of_old).select(
        *OWNER,
        "broker_name",
        *moment(F.col("chosen_at_ms")),
        F.size("brokers").alias("hosts"),
        (~is_answer(F.col("outcome"))).alias("failed"),
    )
    went_to = F.collect_list(F.struct("broker_name", "failed"))
    runs = sessions(attempts, OWNER, [went_to.alias("went_to"), F.max("hosts").alias("hosts")])
    per_broker = (
        runs.withColumns({"attempts": F.size("went_to"), "went": F.explode("went_to")})
        .groupBy(*OWNER, "start_ms", "end_ms", "hosts", "attempts", "went.broker_name")
        .agg(F.count("*").alias("sends"), F.count_if("went.failed").alias("failures"))
        .withColumn("share", F.col("sends") / F.col("attempts"))
    )
    magnets = per_broker.where(F.col("attempts") >= _FEWEST_SENDS).where(
        (F.col("hosts") >= 2)
        & (F.col("share") * F.col("hosts") >= _MORE_THAN_ITS_TURN)
        & (F.col("failures") * 2 >= F.col("sends"))
    )
    return finding(
        magnets,
        FindingKind.DEAD_BROKER_MAGNET,
        severity_of_lost(F.col("failures"), Severity.WARNING),
        F.lit(FindingCause.CLIENT_DEFECT),
        F.col("client_id"),
        " had every broker isolated and sent ",
        percent_text(F.col("share")),
        " of its attempts to ",
        F.col("broker_name"),
        ", which failed ",
        F.col("failures"),
        " of ",
        F.col("sends"),
        ": up to 5.1.3 the fallback prefers the broker that refuses fastest",
    )


def _choices_within(intervals: DataFrame, choices: DataFrame) -> DataFrame:
    """One row per choice made strictly inside an interval of its owner and topic, with `brokers` and `after_ms`."""
    bounds = (F.col("start_ms").alias("after_ms"), (F.col("end_ms") - 1).alias("until_ms"))
    frames = intervals.select(*OWNER, F.col("topic").alias("of_topic"), *bounds, "brokers")
    return intervals_met(frames, choices.where("enforced")).select("*", F.inline("met")).where("topic = of_topic")
