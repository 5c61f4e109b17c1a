"""Rows of `policy_outcomes`: sends that would have been steered away, and how they went, by policy, broker and day."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.what_if.requested_policies import AS_RUN, RequestedPolicies

_BROKER_DAY = ("event_date", "cluster", "broker_name")
_POLICY = "policy string, profile string, latency_max_ms array<bigint>, not_available_ms array<bigint>"
_COUNTS = ("steered", "hits", "isolations", "isolated_ms", "all_isolated_ms")


def outcomes(
    requested: RequestedPolicies,
    *,
    totals: DataFrame,
    isolated: DataFrame,
    unavoided: DataFrame,
    steered: DataFrame,
) -> DataFrame:
    """One row per requested policy, broker and day with attempts or isolations; no run id yet.

    Args:
        requested: the policies of the run.
        totals: attempts per broker and day.
        isolated: isolations cut at midnight.
        unavoided: intervals in which every broker was isolated.
        steered: as `steered` returns them.
    """
    length = F.col("end_ms") - F.col("start_ms")
    per_policy = isolated.groupBy(*_BROKER_DAY, "policy").agg(
        F.count_if("begins").alias("isolations"), F.sum(length).alias("isolated_ms")
    )
    without_choice = unavoided.groupBy(*_BROKER_DAY, "policy").agg(F.sum(length).alias("all_isolated_ms"))
    key = [*_BROKER_DAY, "policy"]
    by_policy = per_policy.join(without_choice, key, "left").join(steered.where("policy IS NOT NULL"), key, "left")
    by_any = steered.where("policy IS NULL").select(*_BROKER_DAY, F.col("hits").alias("avoidable"))
    brokers = totals.unionByName(per_policy.select(*_BROKER_DAY).distinct(), allowMissingColumns=True)
    by_broker = (
        brokers.groupBy(*_BROKER_DAY)
        .agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("producers", "sends", "bad_sends")))
        .join(by_any, list(_BROKER_DAY), "left")
    )
    named = F.broadcast(_policies(totals.sparkSession, requested))
    rows = by_broker.crossJoin(named).join(by_policy, key, "left")
    counts = {name: F.coalesce(name, F.lit(0)).cast("bigint") for name in (*_COUNTS, "avoidable")}
    return rows.withColumns(counts).withColumns(
        {
            "false_alarms": F.col("steered") - F.col("hits"),
            "missed": F.col("bad_sends") - F.col("hits"),
            "unavoidable": F.col("bad_sends") - F.col("avoidable"),
        }
    )


def _policies(spark: SparkSession, requested: RequestedPolicies) -> DataFrame:
    """One row per requested policy, with its ladder; `AS_RUN` has no ladder of its own."""
    own = [(AS_RUN, AS_RUN, (), ())] if requested.as_run else []
    asked = [(each.name, each.profile, each.ladder.floors_ms, each.ladder.isolations_ms) for each in requested.policies]
    return spark.createDataFrame([*own, *asked], _POLICY)
