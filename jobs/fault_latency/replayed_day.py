"""The replay of one day: published sends → the fault items of their producers, and their isolations."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.isolations import (
    isolating_writes,
    isolation_relevant_writes,
    isolations,
    with_change,
    with_isolation,
)
from jobs.fault_latency.fault_items.pruning import attempts_near, half_minutes, may_isolate, near_isolations
from jobs.fault_latency.fault_items.recorded_writes import Recorded, recorded_of, with_causes, without_recorded
from jobs.fault_latency.fault_items.replay import replay
from jobs.fault_latency.fault_items.updates import carried_updates, updates
from jobs.fault_latency.fault_items.without_broker import with_removals
from jobs.fault_latency.producers.attempts import attempts_of, marked_lines
from jobs.fault_latency.producers.known_routes import known_routes_of
from jobs.fault_latency.producers.processes import with_end_of_process
from jobs.fault_latency.producers.rules import policies
from jobs.fault_latency.producers.senders import Senders, senders_of
from jobs.kinds import Evidence
from jobs.settings.client_profiles import released_profiles
from jobs.settings.model import Settings
from jobs.spark.materialize import Materialize
from jobs.tables.day import Day
from udfs.policy import Policy, last_write_wins

UNORDERED_WITHIN_MS = 1

# Columns that only the table `sends` has a use for.
_UNUSED = ("event_date", "queue_id", "response_code", "msg_id", "order_key", "started_at", "ended_at")


@dataclass(frozen=True)
class Replayed:
    """The replay of one day: fault items over time, and what it was made from.

    Attributes:
        senders: the day's attempts, counted by who made them.
        attempts: those near an isolation, as `attempts_of` returns them.
        relevant_writes: the writes that bound an isolation, and the last of each item, with what they changed.
        isolations: one row per isolation, as `with_removals` returns them.
        known_routes: one row per topic, as `known_routes_of` returns it; empty without routes.
        opening: the fault items that the day started from.
        policies: every policy that a row may name.
        record: what clients recorded of their fault items; None when they recorded nothing.
    """

    senders: Senders
    attempts: DataFrame
    relevant_writes: DataFrame
    isolations: DataFrame
    known_routes: DataFrame
    opening: DataFrame
    policies: tuple[Policy, ...]
    record: Recorded | None


def replayed(
    sends: DataFrame,
    opening: DataFrame,
    day: Day,
    settings: Settings,
    *,
    topic_brokers: DataFrame,
    materialize: Materialize,
    recorded: DataFrame | None = None,
) -> Replayed:
    """Replay one day of attempts into fault items and isolations.

    Args:
        sends: the published attempts of the day.
        opening: `fault_item_state` of the day before; empty when it is not in the lake.
        day: the day and cluster.
        settings: producers' rules, what counts as slow.
        topic_brokers: the day's intervals of unchanged routes; may be empty.
        materialize: for frames that several tables read.
        recorded: the day's rows of `fault_item_updates`; None when there are none.
    """
    known_policies = policies(released_profiles(), settings.producers)
    known_routes = materialize("known-routes", known_routes_of(topic_brokers))
    senders = senders_of(sends.drop(*_UNUSED), opening, settings, known_policies, materialize)
    carried = carried_updates(opening.transform(with_end_of_process, senders.processes), day.start_ms)
    record = recorded_of(recorded, senders, opening, day, materialize) if recorded is not None else None
    attempts, writes = _near_isolations(senders, carried, record, day, known_policies, materialize)
    items = replay(writes, known_policies, UNORDERED_WITHIN_MS)
    changes = isolation_relevant_writes(items).transform(with_isolation).transform(with_change)
    relevant_writes = materialize("relevant-writes", changes)
    windows = isolations(isolating_writes(relevant_writes), day.end_ms)
    isolated = materialize("isolations", _with_removals(windows, senders, known_routes, materialize))
    return Replayed(senders, attempts, relevant_writes, isolated, known_routes, opening, known_policies, record)


def _with_removals(
    windows: DataFrame, senders: Senders, known_routes: DataFrame, materialize: Materialize
) -> DataFrame:
    """The isolations with the band that the fallback leaves them, up to 5.1.3; what a client recorded has no band."""
    never = F.lit(None).cast("bigint").alias("removable_ms")
    last_wins = last_write_wins(F.col("policy"), senders.at_work.policies) & (F.col("evidence") != Evidence.RECORDED)
    if not any(policy.write_rule == "LAST_WRITE" for policy in senders.at_work.policies):
        return windows.select("*", never)
    all_windows = materialize("isolation-windows", windows)
    removable = with_removals(all_windows.where(last_wins), senders.per_process, known_routes)
    return removable.unionByName(all_windows.where(~last_wins).select("*", never))


def _near_isolations(
    senders: Senders,
    carried: DataFrame,
    record: Recorded | None,
    day: Day,
    known_policies: tuple[Policy, ...],
    materialize: Materialize,
) -> tuple[DataFrame, DataFrame]:
    """The attempts near an isolation with their rules, and of their writes those that one may depend on.

    Two looks at every attempt: where one may have isolated a broker, and who was near that.
    """
    at_work, owned = senders.at_work, senders.sends.transform(senders.with_owner)
    marked = materialize("marked-lines", marked_lines(owned, senders.names)) if at_work.has_async else None

    def described(some: DataFrame) -> DataFrame:
        return attempts_of(some, senders.names, marked)

    def writes_of(attempts: DataFrame) -> DataFrame:
        replayable = attempts.where("not_replayed IS NULL")
        written = updates(replayable, known_policies, has_async=at_work.has_async)
        # Of an attempt that ended on this day, the submit call may have returned just before or after it.
        of_day = written.withColumn("at_ms", F.greatest(F.least("at_ms", F.lit(day.end_ms - 1)), F.lit(day.start_ms)))
        return without_recorded(of_day, record) if record else of_day

    isolating = writes_of(described(owned.where(may_isolate(at_work.policies)))).unionByName(carried)
    isolating = isolating.unionByName(record.writes) if record else isolating
    near = materialize("half-minutes", half_minutes(isolating, senders.per_process, known_policies))
    attempts = materialize("attempts", described(attempts_near(owned, near, at_work.policies)))
    writes = writes_of(attempts).unionByName(carried)
    writes = writes.unionByName(with_causes(record.writes, attempts, known_policies)) if record else writes
    return attempts, near_isolations(writes, near)
