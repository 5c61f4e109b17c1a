"""The replay of one day: published sends → the fault items of their producers, and their isolations."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.isolations import (
    isolating_writes,
    isolation_relevant_writes,
    isolations,
    with_counted_until,
)
from jobs.fault_latency.fault_items.pruning import (
    attempts_near,
    near_minutes,
    spans_of_attempts,
    spans_of_processes,
    spans_of_writes,
    writes_near,
)
from jobs.fault_latency.fault_items.recorded_writes import Recorded, recorded_of, with_causes, without_recorded
from jobs.fault_latency.fault_items.replay import replay
from jobs.fault_latency.fault_items.updates import carried_updates, updates, within_day
from jobs.fault_latency.fault_items.without_broker import with_removals
from jobs.fault_latency.frames import ATTEMPTS, ISOLATIONS, RELEVANT_WRITES, SENDS_PER_PROCESS
from jobs.fault_latency.keys import PROCESS
from jobs.fault_latency.producers.attempts import attempts_of, with_tries
from jobs.fault_latency.producers.known_routes import known_routes_of
from jobs.fault_latency.producers.processes import process_ends
from jobs.fault_latency.producers.rules import policies
from jobs.fault_latency.producers.sends_per_process import broker_names, sends_per_process
from jobs.settings.client_profiles import released_profiles
from jobs.settings.model import Settings
from jobs.spark.materialize import Materialize
from jobs.tables.day import Day
from udfs.policy import Policy

UNORDERED_WITHIN_MS = 1


@dataclass(frozen=True)
class DayOfProducers:
    """One day of the lake, as the replay starts from it.

    Attributes:
        sends: the published attempts.
        opening: `fault_item_state` of the day before; empty when it is not in the lake.
        topic_brokers: the intervals of unchanged routes; may be empty.
        recorded: `fault_item_updates`; None when there are none.
        has_async: whether any attempt is async.
    """

    sends: DataFrame
    opening: DataFrame
    topic_brokers: DataFrame
    recorded: DataFrame | None = None
    has_async: bool = True


@dataclass(frozen=True)
class Replayed:
    """The replay of one day: fault items over time, and what it was made from.

    Attributes:
        sends: the published attempts.
        attempts: the same with their rules and process, line by line.
        near_attempts: ATTEMPTS.
        sends_per_process: SENDS_PER_PROCESS.
        relevant_writes: RELEVANT_WRITES.
        isolations: ISOLATIONS.
        known_routes: one row per topic, as `known_routes_of` returns it; empty without routes.
        opening: the fault items that the day started from.
        policies: every policy that a row may name.
        record: what clients recorded of their fault items; None when they recorded nothing.
    """

    sends: DataFrame
    attempts: DataFrame
    near_attempts: DataFrame
    sends_per_process: DataFrame
    relevant_writes: DataFrame
    isolations: DataFrame
    known_routes: DataFrame
    opening: DataFrame
    policies: tuple[Policy, ...]
    record: Recorded | None


def replayed(of: DayOfProducers, day: Day, settings: Settings, materialize: Materialize) -> Replayed:
    """Replay one day of attempts into fault items and isolations.

    Args:
        of: what the lake has of the day.
        day: the day and cluster.
        settings: producers' rules.
        materialize: writes a frame that several others are derived from.
    """
    known_policies = policies(released_profiles(), settings.producers)
    known_routes = known_routes_of(of.topic_brokers)
    per_process = materialize(SENDS_PER_PROCESS, sends_per_process(of.sends, settings.producers))
    attempts = attempts_of(of.sends, per_process)
    record = (
        recorded_of(of.recorded, attempts, per_process, of.opening, day, materialize)
        if of.recorded is not None
        else None
    )
    carried = carried_updates(of.opening, per_process, day)
    other_writes = carried.unionByName(record.writes) if record else carried
    spans = (
        spans_of_attempts(attempts, known_policies)
        .unionByName(spans_of_processes(per_process, known_policies, day))
        .unionByName(spans_of_writes(other_writes, known_policies, day))
    )
    # Without the hint Spark shuffles every attempt.
    near = F.broadcast(near_minutes(spans, day.start_ms, day.end_ms))
    near_attempts = materialize(
        ATTEMPTS,
        with_tries(
            attempts_of(attempts_near(of.sends, near), per_process),
            attempts,
            broker_names(per_process),
            has_async=of.has_async,
        ),
    )
    writes = updates(near_attempts, known_policies, has_async=of.has_async).transform(within_day, day)
    if record:
        recorded = with_causes(record.writes, near_attempts, known_policies)
        writes = without_recorded(writes, record).unionByName(recorded)
    ends = F.broadcast(process_ends(per_process, of.opening))
    near_writes = writes_near(writes.unionByName(carried), known_policies, day)
    items = replay(near_writes, known_policies, UNORDERED_WITHIN_MS).join(ends, list(PROCESS), "left")
    relevant_writes = materialize(RELEVANT_WRITES, isolation_relevant_writes(items))
    windows = isolations(isolating_writes(relevant_writes), day.end_ms)
    isolated = materialize(
        ISOLATIONS,
        with_removals(windows, per_process, known_routes, known_policies).transform(
            with_counted_until, per_process, record
        ),
    )
    return Replayed(
        of.sends,
        attempts,
        near_attempts,
        per_process,
        relevant_writes,
        isolated,
        known_routes,
        of.opening,
        known_policies,
        record,
    )
