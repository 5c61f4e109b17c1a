"""Attempts counted by process, rules, topic and broker: few rows that stand for many attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import OWNER
from udfs.policy import Policy

_RULES = ("version", "version_number", "profile", "policy", "not_replayed", "detector", "switch_assumed")


def process_sends(owned_hours: DataFrame) -> DataFrame:
    """One row per `OWNER`, its rules and `process_ended_at_ms`, `topic`, `by_caller`, `broker_name`.

    The columns of `sender_hours.totals`, and `async_sends`.

    Args:
        owned_hours: as `sender_hours` returns them, with their rules and process.
    """
    return owned_hours.groupBy(*OWNER, *_RULES, "process_ended_at_ms", "topic", "by_caller", "broker_name").agg(
        *(F.sum(name).alias(name) for name in ("sends", "failures")),
        F.sum(F.when(F.col("mode") == "ASYNC", F.col("sends")).otherwise(0)).alias("async_sends"),
        *(F.min(name).alias(name) for name in ("first_began_ms", "first_write_ms")),
        *(F.max(name).alias(name) for name in ("last_ended_ms", "last_write_ms", "last_seq")),
    )


def known_versions(sends_per_process: DataFrame) -> DataFrame:
    """One row per version of the day, as `versions_of` returns it.

    Args:
        sends_per_process: as `process_sends` returns it.
    """
    return sends_per_process.select("version", "version_number", "profile").distinct()


@dataclass(frozen=True)
class AtWork:
    """What the day's producers are and do, so that what none of them needs is not asked.

    Attributes:
        has_async: some attempt is async.
        policies: those that a replayed producer follows.
    """

    has_async: bool
    policies: tuple[Policy, ...]


def at_work(sends_per_process: DataFrame, policies: Sequence[Policy]) -> AtWork:
    """What the day's producers are and do, by one query.

    Args:
        sends_per_process: as `process_sends` returns it.
        policies: every policy that a row may name.
    """
    kinds = (
        sends_per_process.groupBy("policy", F.col("not_replayed").isNull().alias("is_replayed"))
        .agg((F.sum("async_sends") > 0).alias("has_async"))
        .collect()
    )
    replayed = {kind["policy"] for kind in kinds if kind["is_replayed"]}
    return AtWork(
        has_async=any(kind["has_async"] for kind in kinds),
        policies=tuple(policy for policy in policies if policy.name in replayed),
    )
