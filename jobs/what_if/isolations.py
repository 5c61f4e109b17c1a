"""Isolations that each requested policy would have made: the usual replay, with the policy in the key of an item."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.isolations import (
    isolating_writes,
    isolation_relevant_writes,
    isolations,
)
from jobs.fault_latency.fault_items.pruning import attempts_near, near_minutes, spans_of_attempts
from jobs.fault_latency.fault_items.replay import replay
from jobs.fault_latency.fault_items.updates import updates
from jobs.fault_latency.keys import OWNER, PROCESS
from jobs.fault_latency.replayed_day import UNORDERED_WITHIN_MS
from jobs.tables.day import DAY_MS, Day
from jobs.what_if.requested_policies import RequestedPolicies
from udfs.policy import Policy

MadeOnce = Callable[[DataFrame], DataFrame]
"""A small frame that several others read → the same rows, computed once; later plans start from the rows."""

_OWNER = ("requested_policy", *OWNER)
_ITEM = (*_OWNER, "broker_name")


def requested_isolations(
    attempts: DataFrame,
    ends: DataFrame,
    requested: RequestedPolicies,
    own: Sequence[Policy],
    days: Sequence[Day],
    made_once: MadeOnce,
) -> DataFrame:
    """One row per isolation of an item under a requested policy, by the best estimate: no bands.

    Grain: `requested_policy`, `ITEM`, `start_ms`; `end_ms` is exclusive.

    Args:
        attempts: ATTEMPTS that can be replayed, of the days and the day before.
        ends: as `process_ends` returns them.
        requested: the policies.
        own: every policy that a producer may have of its own.
        days: the requested days, of any cluster, in a row.
        made_once: for the attempts near isolations, and for their writes.
    """
    start_ms, end_ms = min(day.start_ms for day in days) - DAY_MS, max(day.end_ms for day in days)
    policies = requested.followed(own)
    spans = spans_of_attempts(_under_each(attempts, requested), policies)
    near = made_once(attempts_near(attempts, near_minutes(spans, start_ms, end_ms)))
    writes = updates(_under_each(near, requested), policies, has_async=True, owner=_OWNER)
    items = replay(writes, policies, UNORDERED_WITHIN_MS, _ITEM).join(F.broadcast(ends), list(PROCESS), "left")
    isolating = made_once(isolating_writes(isolation_relevant_writes(items, _ITEM)))
    return isolations(isolating, end_ms, _ITEM).where("end_ms > start_ms")


def _under_each(attempts: DataFrame, requested: RequestedPolicies) -> DataFrame:
    """One row per attempt and requested policy; `policy` is the one that the producer then follows."""
    pairs = [
        F.struct(F.lit(name).alias("requested_policy"), followed.alias("policy"))
        for name, followed in requested.followed_by_name().items()
    ]
    kept = [name for name in attempts.columns if name != "policy"]
    return attempts.select(*kept, F.inline(F.array(*pairs)))


def cut_at_midnight(whole: DataFrame, days: Sequence[Day]) -> DataFrame:
    """One row per isolation and day, cut to the day.

    Grain: `event_date`, `PROCESS`, `broker_name`, `policy` (the requested one), `start_ms`. `begins`: the isolation
    starts in this part, otherwise it lasted at 00:00 UTC.

    Args:
        whole: as `requested_isolations` returns them.
        days: the requested days, of any cluster, in a row.
    """
    first, last = min(day.start_ms for day in days), max(day.end_ms for day in days)
    until = F.least("end_ms", F.lit(last))
    day_numbers = F.sequence(F.floor(F.greatest("start_ms", F.lit(first)) / DAY_MS), F.floor((until - 1) / DAY_MS))
    midnight = F.col("day_number") * DAY_MS
    return (
        whole.where((F.col("start_ms") < last) & (F.col("end_ms") > first))
        .select("*", F.explode(day_numbers).alias("day_number"))
        .select(
            F.date_from_unix_date(F.col("day_number").cast("int")).alias("event_date"),
            *PROCESS,
            "broker_name",
            F.col("requested_policy").alias("policy"),
            F.greatest("start_ms", midnight).alias("start_ms"),
            F.least("end_ms", midnight + DAY_MS).alias("end_ms"),
            (F.col("start_ms") >= midnight).alias("begins"),
        )
    )
