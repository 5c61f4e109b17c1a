"""Facts about writers, and reasons why their lines and the replay may differ."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.record_holes import torn_processes
from jobs.fault_latency.keys import PRODUCER
from jobs.fault_latency.producers.processes import process
from jobs.kinds import Source
from jobs.verify.writers import WRITER
from udfs import recorded
from udfs.policy import Policy, keeps_latest
from udfs.version import highest_version

_ALIKE_MS, _ALIKE_MS_OF_A_WRITE = 1_000, 10
_LENGTHS = "array<bigint>"


def facts_of_writers(
    clients: DataFrame, updates: DataFrame, sends_per_process: DataFrame, opening: DataFrame, policies: Sequence[Policy]
) -> DataFrame:
    """One row per `WRITER`, with facts from its sends and its lines.

    `client_ids`, `client_version` (the highest of its sends), `policy` (of a producer; null = unknown), `lengths_ms`
    (all that the ladders give), `has_sends`, `is_on` (the switch, by its sends),
    `is_replayed`, `is_other_version` (its lines are none of the version of its sends), `is_torn` (lines are lost).

    Args:
        clients: one row per writer and client, as `writers` makes them.
        updates: rows of `fault_item_updates` of the day.
        sends_per_process: SENDS_PER_PROCESS of these clients.
        opening: `fault_item_state` of the day before.
        policies: every policy that a row may name.
    """
    policy, has_flag = F.col("policy"), keeps_latest(F.col("policy"), policies)
    by_sends = sends_per_process.groupBy(*PRODUCER).agg(
        F.max_by("version", "version_number").alias("version"),
        F.max("policy").alias("policy"),
        F.bool_or("enforced").alias("is_on"),
        F.bool_or(F.col("not_replayed").isNull()).alias("is_replayed"),
        F.bool_or(F.coalesce(has_flag, F.lit(False))).alias("has_flag"),
    )
    of_updates = updates.where(F.col("op") == recorded.UPDATE).groupBy(*PRODUCER)
    flags = of_updates.agg(F.bool_or(F.col("reachable").isNotNull()).alias("wrote_flag"))
    lines = updates.withColumn("process", process())
    torn = torn_processes(lines, sends_per_process, opening).select(*PRODUCER, F.lit(True).alias("is_torn")).distinct()
    of_producers = by_sends.join(flags, list(PRODUCER), "left").join(torn, list(PRODUCER), "left")
    is_recorded = F.col("source") == Source.RECORDED
    same_group = ~is_recorded | (F.col("producer_group") == F.col("of_group"))
    known = clients.join(
        of_producers.drop("cluster").withColumnsRenamed({"producer_group": "of_group", "client_id": "of_client"}),
        (F.col("client_id") == F.col("of_client")) & same_group,
        "left",
    )
    other_flag = is_recorded & (F.col("wrote_flag") != F.col("has_flag"))
    other_log = ~is_recorded & (~F.col("has_flag") | (F.col("log_version") != F.col("version")))
    return known.groupBy(*WRITER).agg(
        F.array_sort(F.collect_set("client_id")).alias("client_ids"),
        highest_version(F.col("version")).alias("client_version"),
        F.max(F.when(is_recorded, policy)).alias("policy"),
        F.array_distinct(F.flatten(F.collect_set(_lengths_ms(policy, policies)))).alias("lengths_ms"),
        F.bool_or(F.col("of_client").isNotNull()).alias("has_sends"),
        F.bool_or(F.coalesce("is_on", F.lit(False))).alias("is_on"),
        F.bool_or(F.coalesce("is_replayed", F.lit(False))).alias("is_replayed"),
        F.bool_or(F.coalesce(other_flag | other_log, F.lit(False))).alias("is_other_version"),
        F.bool_or(F.coalesce("is_torn", F.lit(False))).alias("is_torn"),
    )


def with_cause(checks: DataFrame, writers: DataFrame, updates: DataFrame) -> DataFrame:
    """The comparisons with `cause`: null where the two agree, else the first reason that holds.

    Args:
        checks: one row per writer and broker, as `compared.compared_items` returns them.
        writers: as `facts_of_writers` returns them.
        updates: rows of `fault_item_updates` of the day.
    """
    unseen = updates.groupBy(
        F.lit(Source.RECORDED).alias("source"), F.col("client_id").alias("writer"), "producer_group", "broker_name"
    ).agg(
        F.bool_or(F.col("op").isin(recorded.REMOVE, recorded.DROPPED)).alias("was_removed"),
        F.bool_or(F.col("op") == recorded.REACHABLE).alias("was_detected"),
    )
    described = checks.join(F.broadcast(writers), list(WRITER)).join(
        F.broadcast(unseen), [*WRITER, "broker_name"], "left"
    )
    return described.withColumn("cause", F.when(_differs(), _cause()))


def _differs() -> Column:
    """Whether the two differ by more than some milliseconds per write."""
    return (F.col("missed") + F.col("extra") + F.col("other_length") > 0) | _isolates_otherwise()


def _isolates_otherwise() -> Column:
    return F.col("differing_ms") > _ALIKE_MS + _ALIKE_MS_OF_A_WRITE * F.col("matched")


def _cause() -> Column:
    only_extra = (F.col("missed") == 0) & (F.col("other_length") == 0)
    return (
        F.when(F.size("client_ids") == 0, "UNKNOWN_CLIENT")
        .when(~F.col("has_sends"), "NO_SENDS")
        .when(~F.col("is_replayed"), "NOT_REPLAYED")
        .when(~F.col("is_on"), "OTHER_SWITCH")
        .when(F.col("is_other_version"), "OTHER_VERSION")
        .when(F.col("off_ladder") > 0, "OTHER_LADDER")
        .when(F.col("is_torn") | ((F.col("source") == Source.CLIENT_LOG) & only_extra), "LOST_LINES")
        .when(~_isolates_otherwise(), "WITHOUT_EFFECT")
        .when(F.col("was_removed"), "REMOVED_ITEM")
        .when(F.col("was_detected"), "DETECTOR")
        .otherwise("UNEXPLAINED")
    )


def _lengths_ms(policy: Column, policies: Sequence[Policy]) -> Column:
    """All isolations that the ladder of the policy gives, failures included; empty for a policy that is unknown."""
    of_policies = {
        candidate.name: sorted(
            {candidate.failure_isolation_ms or 0, *candidate.ladder.isolations_ms[: len(candidate.ladder.floors_ms)]}
        )
        for candidate in policies
    }
    by_name = F.create_map(
        *(part for name, lengths in of_policies.items() for part in (F.lit(name), F.lit(lengths).cast(_LENGTHS)))
    )
    return F.coalesce(by_name[policy], F.array().cast(_LENGTHS))
