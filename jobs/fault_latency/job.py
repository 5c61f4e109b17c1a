"""Contents page of the first flow: one day of published sends → the tables of fault latency."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.broker_health import broker_health
from jobs.fault_latency.effects.broker_minutes import broker_windows
from jobs.fault_latency.effects.calls import calls_ending_in, calls_of_several_attempts
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
    with_isolation,
)
from jobs.fault_latency.fault_items.pruning import attempts_near, half_minutes, may_isolate, near_isolations
from jobs.fault_latency.fault_items.replay import replay
from jobs.fault_latency.fault_items.updates import carried_updates, updates
from jobs.fault_latency.findings.all_kinds import findings
from jobs.fault_latency.inference.detector_rounds import broker_answers
from jobs.fault_latency.inference.job import with_inferences
from jobs.fault_latency.producers.attempts import WithOwner, attempts_of, broker_names, with_owner
from jobs.fault_latency.producers.known_routes import known_routes_of
from jobs.fault_latency.producers.processes import beginnings, carried_processes, with_end_of_process
from jobs.fault_latency.producers.rules import policies, versions_of, with_rules
from jobs.fault_latency.producers.sender_hours import sender_hours
from jobs.fault_latency.producers.sends_per_process import AtWork, at_work, known_versions, process_sends
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
        sends: the published attempts of the day.
        with_owner: looks up rules and process of attempts.
        hours: they counted by sender and hour, as `sender_hours` returns them.
        sends_per_process: they counted by process and broker, as `process_sends` returns them.
        producers: what they are and do.
        attempts: those near an isolation, as `attempts_of` returns them.
        relevant_writes: the writes that bound an isolation, and the last of each item, with what they changed.
        isolations: one row per isolation, as `isolations.isolations` returns them.
        known_routes: one row per topic, as `known_routes_of` returns it; empty without routes.
        opening: the fault items that the day started from.
        policies: every policy that a row may name.
    """

    sends: DataFrame
    with_owner: WithOwner
    hours: DataFrame
    sends_per_process: DataFrame
    producers: AtWork
    attempts: DataFrame
    relevant_writes: DataFrame
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
        settings: producers' rules, inference, what counts as slow.
        topic_brokers: the day's intervals of unchanged routes; may be empty.
        materialize: for frames that several tables read.
    """
    sends = sends.drop(*_UNUSED)
    known_policies = policies(released_profiles(), settings.producers)
    known_routes = materialize("known-routes", known_routes_of(topic_brokers))
    hours = materialize("sender-hours", sender_hours(sends, settings.slow_ms))
    began = materialize("beginnings", beginnings(sends, hours, carried_processes(opening), materialize))
    versions = versions_of(hours, released_profiles(), settings.producers)
    sends_per_process = materialize("process-sends", process_sends(hours, sends, began, versions, settings.producers))
    producers = at_work(sends_per_process, known_policies)
    names = broker_names(hours)
    look_up_owner = partial(
        with_owner, versions=known_versions(sends_per_process), producers=settings.producers, beginnings=began
    )
    owned = sends.transform(look_up_owner)

    def writes_of(some: DataFrame) -> DataFrame:
        attempts = some.where("not_replayed IS NULL")
        written = updates(attempts, known_policies, infer=settings.infer, has_async=producers.has_async)
        # Of an attempt that ended on this day, the submit call may have returned just before or after it.
        return written.withColumn("at_ms", F.greatest(F.least("at_ms", F.lit(day.end_ms - 1)), F.lit(day.start_ms)))

    carried = carried_updates(opening.transform(with_end_of_process, sends_per_process), day.start_ms)
    isolating = attempts_of(owned.where(may_isolate(producers.policies)), names, owned, has_async=producers.has_async)
    near = materialize(
        "half-minutes",
        half_minutes(writes_of(isolating).unionByName(carried), sends_per_process, known_policies),
    )
    attempts = materialize(
        "attempts",
        attempts_of(attempts_near(owned, near, producers.policies), names, owned, has_async=producers.has_async),
    )
    writes = near_isolations(writes_of(attempts).unionByName(carried), near)
    items = replay(writes, known_policies, UNORDERED_WITHIN_MS)
    if settings.infer:
        items = with_inferences(
            items,
            attempts,
            broker_answers(sends, names),
            sends_per_process,
            producers,
            known_routes,
            known_policies,
            UNORDERED_WITHIN_MS,
            materialize,
        )
    changes = isolation_relevant_writes(items).transform(with_isolation).transform(with_change)
    relevant_writes = materialize("relevant-writes", changes)
    isolated = materialize("isolations", isolations(isolating_writes(relevant_writes), day.end_ms))
    return Replayed(
        sends,
        look_up_owner,
        hours,
        sends_per_process,
        producers,
        attempts,
        relevant_writes,
        isolated,
        known_routes,
        opening,
        known_policies,
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
    sends, look_up_owner, slow_ms = items.sends, items.with_owner, settings.slow_ms
    sends_per_process, isolated, known_routes = items.sends_per_process, items.isolations, items.known_routes
    writes = isolating_writes(items.relevant_writes)
    chosen = materialize("choices", choices(items.attempts, sends_per_process, isolated, known_routes))
    health = materialize("health", broker_health(sends, slow_ms))
    of_several = calls_of_several_attempts(sends, look_up_owner, slow_ms, materialize)
    look_up_calls = partial(
        calls_ending_in, sends=sends, with_owner=look_up_owner, calls_of_several=of_several, slow_ms=slow_ms
    )
    incidents = materialize(
        "incidents",
        broker_incidents(isolated, sends_per_process, look_up_calls, settings.incident_share, materialize),
    )
    all_findings = findings(
        sends,
        look_up_owner,
        sends_per_process,
        isolated,
        writes,
        chosen,
        health,
        incidents,
        known_routes,
        items.producers.policies,
        day,
        slow_ms,
        materialize,
    )
    longest_ms = max(policy.ladder.longest_ms for policy in items.policies)
    has_flag = has_reachable_flag(F.col("policy"), items.policies)
    differs = F.lit(not known_start) & (F.col("start_ms") < day.start_ms + longest_ms)
    rules_of_senders = partial(with_rules, versions=known_versions(sends_per_process), producers=settings.producers)
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
        broker_windows=broker_windows(sends, isolated).transform(with_partition_columns, day, "window_start_ms"),
        broker_incidents=incidents.transform(
            with_partition_columns, day, "start_ms", "end_ms", "first_noticed_ms", "last_noticed_ms"
        ),
        producer_days=producer_days(sends_per_process, isolated, chosen).transform(with_partition_columns, day),
        send_calls=send_calls(sends, look_up_owner, of_several, chosen, health, slow_ms).transform(
            with_partition_columns, day, "start_ms", "end_ms"
        ),
        plain_calls=plain_calls(items.hours, rules_of_senders, of_several, chosen, slow_ms).transform(
            with_partition_columns, day
        ),
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
    versions = versions_of(sends, released_profiles(), settings.producers)
    return key_moves(with_rules(sends, versions, settings.producers), publish_queues).transform(
        with_partition_columns, day, "moved_at_ms", "from_ended_at_ms"
    )
