"""Contents page of the first flow: one day of published sends → the tables of fault latency."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.broker_health import broker_health
from jobs.fault_latency.effects.broker_minutes import broker_windows
from jobs.fault_latency.effects.calls import calls_of_several_attempts
from jobs.fault_latency.effects.choices import choices
from jobs.fault_latency.effects.events import INSTANTS, events, with_avoidance, with_cost, with_event, with_midnight
from jobs.fault_latency.effects.key_moves import key_moves
from jobs.fault_latency.effects.producer_days import producer_days
from jobs.fault_latency.effects.send_calls import avoiding, plain_calls, send_calls, troubled_calls
from jobs.fault_latency.fault_items.closing_state import closing_state
from jobs.fault_latency.fault_items.isolations import changes
from jobs.fault_latency.fault_items.without_broker import intervals_without_broker
from jobs.fault_latency.findings.all_kinds import findings
from jobs.fault_latency.frames import CALLS_OF_SEVERAL, CHOICES, EVENTS, WITHOUT_BROKER
from jobs.fault_latency.producers.rules import with_rules
from jobs.fault_latency.replayed_day import Replayed
from jobs.settings.model import Settings
from jobs.spark.materialize import Materialize
from jobs.tables.day import Day
from jobs.tables.partition import with_partition_columns
from udfs.policy import keeps_latest


def fault_latency(
    items: Replayed,
    open_events: DataFrame,
    day: Day,
    settings: Settings,
    *,
    known_start: bool,
    materialize: Materialize,
) -> dict[str, DataFrame]:
    """Each table of one replayed day, by its name; the partition columns included.

    Args:
        items: the day's replay.
        open_events: rows of `events` of the day before that were not over at 24:00.
        day: the day and cluster.
        settings: what counts as slow, as an event, as avoided for too long.
        known_start: whether the day before is in the lake.
        materialize: writes a frame that several tables read.
    """
    attempts, per_process, isolated, slow_ms = (
        items.attempts, items.sends_per_process, items.isolations, settings.slow_ms,
    )  # fmt: skip
    chosen = materialize(CHOICES, choices(items.near_attempts, per_process, isolated, items.known_routes))
    of_several = materialize(CALLS_OF_SEVERAL, calls_of_several_attempts(attempts, items.sends, slow_ms))
    found = materialize(EVENTS, events(items, day, settings))
    without_broker = materialize(WITHOUT_BROKER, intervals_without_broker(per_process, isolated, items.known_routes))
    avoided = with_avoidance(found, isolated)
    troubled = troubled_calls(attempts, of_several, slow_ms).transform(with_event, found)
    health = broker_health(items.sends, avoiding(chosen), "chosen_at_ms", slow_ms)
    longest_ms = max(policy.ladder.longest_ms for policy in items.policies)
    has_flag = keeps_latest(F.col("policy"), items.policies)
    differs = F.lit(not known_start) & (F.col("start_ms") < day.start_ms + longest_ms)
    return {
        "fault_item_changes": changes(items.relevant_writes)
        .withColumns({"changed_at_ms": F.col("at_ms"), "reachable": F.when(has_flag, F.col("is_reachable"))})
        .transform(with_partition_columns, day, "changed_at_ms"),
        "isolation_intervals": isolated.drop("removable_ms")
        .withColumn("after_unknown_start", differs)
        .transform(with_partition_columns, day, "start_ms", "end_ms", "counted_until_ms"),
        "fault_item_state": closing_state(
            items.relevant_writes, isolated, per_process, items.opening, day.end_ms, items.record
        )
        .withColumn("reachable", F.col("reachable") | ~has_flag)
        .transform(with_partition_columns, day),
        "broker_windows": broker_windows(items.sends, isolated).transform(
            with_partition_columns, day, "window_start_ms"
        ),
        "events": with_cost(avoided, troubled)
        .transform(with_midnight, open_events, day, settings.event_gap_ms)
        .transform(with_partition_columns, day, *INSTANTS),
        "producer_days": producer_days(per_process, isolated, chosen, items.record).transform(
            with_partition_columns, day
        ),
        "send_calls": send_calls(troubled, of_several, chosen, health, slow_ms).transform(
            with_partition_columns, day, "start_ms", "end_ms"
        ),
        "plain_calls": plain_calls(items.sends, per_process, of_several, chosen, slow_ms).transform(
            with_partition_columns, day
        ),
        "findings": findings(items, chosen, without_broker, avoided, day, settings).transform(
            with_partition_columns, day, "start_ms", "end_ms"
        ),
    }


def order_key_moves(sends: DataFrame, day: Day, settings: Settings, *, publish_queues: DataFrame) -> DataFrame:
    """Rows of `order_key_moves` of one day; nothing of the day before is needed.

    Args:
        sends: the published attempts of the day.
        day: the day and cluster.
        settings: producers' rules.
        publish_queues: each topic's lists of queues to send to over the day; may be empty.
    """
    return key_moves(with_rules(sends, settings.producers), publish_queues).transform(
        with_partition_columns, day, "moved_at_ms", "from_ended_at_ms"
    )
