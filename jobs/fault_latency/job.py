"""Contents page of the first flow: one day of published sends → the tables of fault latency."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.broker_health import broker_health
from jobs.fault_latency.effects.broker_minutes import broker_windows
from jobs.fault_latency.effects.calls import calls_of, calls_of_several_attempts
from jobs.fault_latency.effects.choices import choices
from jobs.fault_latency.effects.incidents import broker_incidents
from jobs.fault_latency.effects.key_moves import key_moves
from jobs.fault_latency.effects.producer_days import producer_days
from jobs.fault_latency.effects.send_calls import plain_calls, send_calls
from jobs.fault_latency.fault_items.closing_state import closing_state
from jobs.fault_latency.fault_items.isolations import (
    isolating_writes,
    isolation_relevant_writes,
    isolations,
    with_change,
)
from jobs.fault_latency.fault_items.pruning import near_isolations
from jobs.fault_latency.fault_items.replay import replay
from jobs.fault_latency.fault_items.updates import carried_updates, updates
from jobs.fault_latency.findings.all_kinds import findings
from jobs.fault_latency.inference.job import with_inferences
from jobs.fault_latency.producers.attempts import attempts_of
from jobs.fault_latency.producers.known_routes import known_routes_of
from jobs.fault_latency.producers.processes import beginnings, carried_processes, with_end_of_process
from jobs.fault_latency.producers.rules import policies, with_rules
from jobs.fault_latency.producers.sends_per_process import process_sends
from jobs.settings.client_profiles import released_profiles
from jobs.settings.model import Settings
from jobs.spark.materialize import Materialize
from jobs.tables.day import Day
from jobs.tables.partition import with_partition_columns
from udfs.policy import Policy, has_reachable_flag

UNORDERED_WITHIN_MS = 1

# Columns that only the table `sends` has a use for.
_UNUSED = ("event_date", "queue_id", "response_code", "msg_id", "order_key", "started_at", "ended_at")


@dataclass(frozen=True)
class FaultLatency:
    """One frame per table, with the table's column names; the partition columns included."""

    fault_item_changes: DataFrame
    isolation_intervals: DataFrame
    fault_item_state: DataFrame
    broker_windows: DataFrame
    broker_incidents: DataFrame
    producer_days: DataFrame
    send_calls: DataFrame
    plain_calls: DataFrame
    findings: DataFrame


@dataclass(frozen=True)
class Replayed:
    """The replay of one day: fault items over time, and what it was made from.

    Attributes:
        attempts: one row per attempt, as `attempts_of` returns them.
        sends_per_process: the same counted by process and broker, as `process_sends` returns it.
        relevant_writes: the writes that bound an isolation, and the last of each item, as
            `isolation_relevant_writes` returns them.
        writes: of those, the ones that touch an isolation, with what they changed.
        isolations: one row per isolation, as `isolations.isolations` returns them.
        known_routes: one row per topic, as `known_routes_of` returns it; empty without routes.
        opening: the fault items that the day started from.
        policies: every policy that a row may name.
    """

    attempts: DataFrame
    sends_per_process: DataFrame
    relevant_writes: DataFrame
    writes: DataFrame
    isolations: DataFrame
    known_routes: DataFrame
    opening: DataFrame
    policies: tuple[Policy, ...]


def replayed(
    sends: DataFrame,
    opening: DataFrame,
    day: Day,
    settings: Settings,
    *,
    topic_brokers: DataFrame,
    materialize: Materialize,
) -> Replayed:
    """Replay one day of attempts into fault items and isolations.

    Args:
        sends: the published attempts of the day.
        opening: `fault_item_state` of the day before; empty when it is not in the lake.
        day: the day and cluster.
        settings: producers' rules, inference.
        topic_brokers: the day's intervals of unchanged routes; may be empty.
        materialize: for frames that several tables read.
    """
    profiles = released_profiles()
    known_policies = policies(profiles, settings.producers)
    known_routes = materialize("known-routes", known_routes_of(topic_brokers))
    began = materialize("beginnings", beginnings(sends, carried_processes(opening), materialize))
    has_async = not sends.where("mode = 'ASYNC'").isEmpty()
    described = attempts_of(sends.drop(*_UNUSED), profiles, settings.producers, began, has_async=has_async)
    attempts = materialize("attempts", described)
    sends_per_process = materialize("process-sends", process_sends(attempts))
    replayable = attempts.where("not_replayed IS NULL")
    written = updates(replayable, known_policies, infer=settings.infer, has_async=has_async)
    # Of an attempt that ended on this day, the submit call may have returned just before or after it.
    clamped = written.withColumn("at_ms", F.greatest(F.least("at_ms", F.lit(day.end_ms - 1)), F.lit(day.start_ms)))
    carried = carried_updates(opening.transform(with_end_of_process, sends_per_process), day.start_ms)
    writes = near_isolations(clamped.unionByName(carried), known_policies, materialize)
    items = replay(writes, known_policies, UNORDERED_WITHIN_MS)
    if settings.infer:
        items = with_inferences(
            items, attempts, sends_per_process, known_routes, known_policies, UNORDERED_WITHIN_MS, materialize
        )
    relevant_writes = materialize("relevant-writes", isolation_relevant_writes(items))
    changes = materialize("changes", relevant_writes.transform(isolating_writes).transform(with_change))
    isolated = materialize("isolations", isolations(changes, day.end_ms))
    return Replayed(
        attempts, sends_per_process, relevant_writes, changes, isolated, known_routes, opening, known_policies
    )


def fault_latency(
    items: Replayed, day: Day, settings: Settings, *, known_start: bool, materialize: Materialize
) -> FaultLatency:
    """Derive every table of one replayed day.

    Args:
        items: as `replayed` returns it.
        day: the day and cluster.
        settings: incident share, what counts as slow.
        known_start: whether the day before is in the lake.
        materialize: for frames that several tables read.
    """
    attempts, sends_per_process, isolated = items.attempts, items.sends_per_process, items.isolations
    writes, known_routes = items.writes, items.known_routes
    chosen = materialize("choices", choices(attempts, sends_per_process, isolated, known_routes))
    health = materialize("health", broker_health(attempts, settings.slow_ms))
    of_several = calls_of_several_attempts(attempts, settings.slow_ms, materialize)
    calls = calls_of(attempts, of_several, settings.slow_ms)
    incidents = materialize(
        "incidents", broker_incidents(isolated, sends_per_process, calls, settings.incident_share, materialize)
    )
    all_findings = findings(
        attempts,
        sends_per_process,
        isolated,
        writes,
        chosen,
        health,
        incidents,
        known_routes,
        items.policies,
        day,
        settings.slow_ms,
        materialize,
    )
    longest_ms = max(policy.ladder.longest_ms for policy in items.policies)
    has_flag = has_reachable_flag(F.col("policy"), items.policies)
    differs = F.lit(not known_start) & (F.col("start_ms") < day.start_ms + longest_ms)
    return FaultLatency(
        fault_item_changes=writes.where("change IS NOT NULL")
        .withColumns({"changed_at_ms": F.col("at_ms"), "reachable": F.when(has_flag, F.col("is_reachable"))})
        .transform(with_partition_columns, day, "changed_at_ms"),
        isolation_intervals=isolated.withColumn("after_unknown_start", differs).transform(
            with_partition_columns, day, "start_ms", "end_ms"
        ),
        fault_item_state=closing_state(items.relevant_writes, isolated, sends_per_process, items.opening, day.end_ms)
        .withColumn("reachable", F.col("reachable") | ~has_flag)
        .transform(with_partition_columns, day),
        broker_windows=broker_windows(attempts, isolated).transform(with_partition_columns, day, "window_start_ms"),
        broker_incidents=incidents.transform(
            with_partition_columns, day, "start_ms", "end_ms", "first_noticed_ms", "last_noticed_ms"
        ),
        producer_days=producer_days(sends_per_process, isolated, chosen).transform(with_partition_columns, day),
        send_calls=send_calls(attempts, of_several, chosen, health, settings.slow_ms).transform(
            with_partition_columns, day, "start_ms", "end_ms"
        ),
        plain_calls=plain_calls(attempts, of_several, chosen, settings.slow_ms).transform(with_partition_columns, day),
        findings=all_findings.transform(with_partition_columns, day, "start_ms", "end_ms"),
    )


def order_key_moves(sends: DataFrame, day: Day, settings: Settings, *, publish_queues: DataFrame) -> DataFrame:
    """Rows of `order_key_moves` of one day; nothing of the day before is needed.

    Args:
        sends: the published attempts of the day.
        day: the day and cluster.
        settings: producers' rules.
        publish_queues: each topic's lists of queues to send to over the day; may be empty.
    """
    attempts = sends.transform(with_rules, released_profiles(), settings.producers)
    return key_moves(attempts, publish_queues).transform(with_partition_columns, day, "moved_at_ms", "from_ended_at_ms")
