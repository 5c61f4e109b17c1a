"""Attempts counted by process, rules, topic and broker: few rows that stand for many attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import OWNER
from jobs.fault_latency.producers.processes import restarted_producers, with_only_process, with_process
from jobs.fault_latency.producers.rules import PRODUCER, with_rules
from jobs.fault_latency.producers.sender_hours import SENDER, totals
from jobs.settings.model import ProducerSettings
from udfs.policy import Policy
from udfs.releases import holds

_RULES = ("version", "version_number", "profile", "policy", "not_replayed", "detector", "switch_assumed")


def process_sends(
    hours: DataFrame,
    sends: DataFrame,
    beginnings: DataFrame,
    versions: DataFrame,
    producers: Mapping[str, ProducerSettings],
) -> DataFrame:
    """One row per `OWNER`, its rules and `dies_at_ms`, `topic`, `by_caller`, `broker_name`.

    The columns of `sender_hours.totals`, and `async_sends`. Attempts of producers that began again within the day are
    counted anew, by process.

    Args:
        hours: as `sender_hours` returns them.
        sends: the attempts that these count.
        beginnings: as `beginnings` returns them.
        versions: as `versions_of` returns them.
        producers: the site's settings of producers.
    """
    restarted = F.broadcast(restarted_producers(beginnings))
    of_one = hours.join(restarted, list(PRODUCER), "left_anti").transform(with_only_process, beginnings)
    of_several = (
        sends.join(restarted, list(PRODUCER), "left_semi")
        .transform(with_process, beginnings)
        .groupBy(*SENDER, "process", "dies_at_ms")
        .agg(*totals())
    )
    counted = of_one.unionByName(of_several, allowMissingColumns=True).transform(with_rules, versions, producers)
    return counted.groupBy(*OWNER, *_RULES, "dies_at_ms", "topic", "by_caller", "broker_name").agg(
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
        enforced_policies: of those, the ones that are followed with the switch on.
        retries_blindly: an enforced one connects inside the send call (up to 5.2.0).
        detects: an enforced one is gated by the reachable flag, with its detector on (5.1.4).
    """

    has_async: bool
    policies: tuple[Policy, ...]
    enforced_policies: tuple[Policy, ...]
    retries_blindly: bool
    detects: bool


def at_work(sends_per_process: DataFrame, policies: Sequence[Policy]) -> AtWork:
    """What the day's producers are and do, by one query.

    Args:
        sends_per_process: as `process_sends` returns it.
        policies: every policy that a row may name.
    """
    kinds = [
        row.asDict()
        for row in sends_per_process.groupBy(
            "policy",
            "enforced",
            "detector",
            F.col("not_replayed").isNull().alias("is_replayed"),
            F.coalesce(~holds("connects_asynchronously", F.col("version_number")), F.lit(False)).alias("blind"),
        )
        .agg((F.sum("async_sends") > 0).alias("has_async"))
        .collect()
    ]
    replayed = [kind for kind in kinds if kind["is_replayed"]]
    enforced = [kind for kind in replayed if kind["enforced"]]
    by_name = {policy.name: policy for policy in policies}
    return AtWork(
        has_async=any(kind["has_async"] for kind in kinds),
        policies=tuple(policy for policy in policies if policy.name in {kind["policy"] for kind in replayed}),
        enforced_policies=tuple(policy for policy in policies if policy.name in {kind["policy"] for kind in enforced}),
        retries_blindly=any(kind["blind"] for kind in enforced),
        detects=any(kind["detector"] and by_name[kind["policy"]].reachable_gates for kind in enforced),
    )
