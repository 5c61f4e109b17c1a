"""Contents page of `faultline what-if`: published days of sends → what each requested policy would have done."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.frames import ATTEMPTS
from jobs.fault_latency.producers.attempts import attempts_of, with_tries
from jobs.fault_latency.producers.processes import process_ends
from jobs.fault_latency.producers.rules import policies
from jobs.fault_latency.producers.sends_per_process import broker_names, sends_per_process
from jobs.settings.client_profiles import released_profiles
from jobs.settings.model import Settings
from jobs.spark.no_rows import no_rows
from jobs.tables import FAULT_ITEM_STATE
from jobs.tables.day import Day
from jobs.what_if.choices import brokers_of_process, choices, totals
from jobs.what_if.fallback import all_isolated
from jobs.what_if.isolations import MadeOnce, cut_at_midnight, requested_isolations
from jobs.what_if.outcomes import outcomes
from jobs.what_if.requested_policies import RequestedPolicies
from jobs.what_if.steering import steered
from udfs.policy import Policy


def lead_in_ms(requested: RequestedPolicies, settings: Settings) -> int:
    """How long before midnight a send can still isolate after it, at most one day."""
    return max((policy.ladder.longest_ms for policy in requested.followed(_own(settings))), default=0)


def what_if(
    sends: DataFrame,
    days: Sequence[Day],
    settings: Settings,
    requested: RequestedPolicies,
    *,
    topic_brokers: DataFrame,
    made_once: MadeOnce,
) -> tuple[DataFrame, DataFrame]:
    """Replay days in a row under all requested policies at once.

    Args:
        sends: the published attempts of the days, and of the last `lead_in_ms` before them if still in the lake.
        days: the requested days, in a row.
        settings: producers' rules, `slow_ms`.
        requested: the policies.
        topic_brokers: the days' intervals of unchanged routes; may be empty.
        made_once: for the few rows that several frames read.

    Returns:
        One row per isolation of each policy, cut at midnight; and `policy_outcomes` without `run_id`.
    """
    per_process = made_once(sends_per_process(sends, settings.producers))
    all_attempts = attempts_of(sends, per_process)
    names = made_once(broker_names(per_process))
    attempts = (
        with_tries(all_attempts, all_attempts, names, has_async=True)
        .where("not_replayed IS NULL")
        .withColumn("enforced", F.lit(True))
        .select("event_date", *(column.name for column in ATTEMPTS.columns))
        .persist(StorageLevel.MEMORY_AND_DISK)
    )
    ends = process_ends(per_process, no_rows(sends.sparkSession, FAULT_ITEM_STATE.schema))
    whole = requested_isolations(attempts, ends, requested, _own(settings), days, made_once)
    isolated = made_once(cut_at_midnight(whole, days))
    first = min(day.date for day in days)
    chosen = choices(attempts.where(F.col("event_date") >= F.lit(first)), settings.slow_ms)
    unavoided = made_once(all_isolated(isolated, made_once(brokers_of_process(chosen, topic_brokers))))
    policy_outcomes = outcomes(
        requested,
        totals=totals(chosen),
        isolated=isolated,
        unavoided=unavoided,
        steered=made_once(steered(chosen, isolated, unavoided)),
    )
    return isolated, policy_outcomes


def _own(settings: Settings) -> tuple[Policy, ...]:
    """The policies that producers themselves have, by version or with their own ladder."""
    return policies(released_profiles(), settings.producers)
