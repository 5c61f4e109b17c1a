"""The first flow as a run sees it: send attempts → the tables of fault latency."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.effects.send_calls import without_attempt
from jobs.fault_latency.job import fault_latency, order_key_moves
from jobs.fault_latency.replayed_day import DayOfProducers, replayed
from jobs.lake.commits import Commit
from jobs.runs.context import RunContext
from jobs.runs.flow import Flow, Opening
from jobs.runs.flow_tables import FLOW_TABLES
from jobs.runs.recompute import recompute_days
from jobs.runs.run import Run, RunResult
from jobs.runs.run_log import FAULT_LATENCY
from jobs.runs.runner import check_rows, run_flow
from jobs.settings.model import Settings
from jobs.sources.staged_sends import StagedSends
from jobs.sources.staging import stage_sends
from jobs.spark.no_rows import no_rows
from jobs.tables import (
    EVENTS,
    FAULT_ITEM_STATE,
    FAULT_ITEM_UPDATES,
    ORDER_KEY_MOVES,
    PRODUCER_DAYS,
    SEND_CALLS,
    SENDS,
    TOPIC_BROKERS,
    Table,
    named,
)
from jobs.tables.day import Day
from jobs.tables.partition import with_partition_columns
from jobs.text.progress import Progress

_TABLES = FLOW_TABLES["fault-latency"]


def run_fault_latency(spark: SparkSession, settings: Settings, run: Run, progress: Progress) -> RunResult:
    """Publish the requested days from the input and every later day whose start changed.

    Raises:
        FaultlineError: one of its subclasses; a FAILED row is logged, all days but the one under way stay as they are.
    """
    return run_flow(FAULT_LATENCY_FLOW, spark, settings, run, progress)


def recompute_fault_latency(
    spark: SparkSession, settings: Settings, run: Run, progress: Progress, *, cluster: str | None = None
) -> RunResult:
    """Recompute the requested days from the lake's own sends, and every later day whose start changed.

    What only the input says stays as it is: `sends`, `topic_brokers`, `order_key_moves`, `quarantine`.

    Args:
        spark: the session.
        settings: all settings; none of the input counts.
        run: has the days.
        progress: says each step.
        cluster: the only one whose days are meant; None = each that has them.

    Raises:
        FaultlineError: one of its subclasses; a FAILED row is logged, all days but the one under way stay as they are.
    """
    return recompute_days(FAULT_LATENCY_FLOW, spark, settings, run, progress, cluster=cluster)


def _publish(context: RunContext, day: Day, staged: StagedSends) -> list[Commit]:
    """Publish what the lines themselves say: the attempts, the clients' own updates, the routes, the moves of keys."""
    lake = context.lake

    def publish(table: Table, rows: DataFrame) -> Commit:
        return lake.publish_day(table, rows, day.cluster, day.date, context.metadata(FAULT_LATENCY))

    written = Observation()
    with_key = F.count_if(F.col("order_key") != "").alias("with_key")
    is_async = F.count_if(F.col("mode") == "ASYNC").alias("async")
    sends = publish(SENDS, staged.sends(day).observe(written, with_key, is_async))
    lines = staged.rows_published("sends", day)
    context.calls_without_attempt[day] = staged.calls_without_attempt(day).count() if sends.rows < lines else 0
    check_rows(sends, lines - context.calls_without_attempt[day], day)
    updates = publish(FAULT_ITEM_UPDATES, staged.fault_item_updates(day))
    check_rows(updates, staged.rows_published("fault_item_updates", day), day)
    routes = publish(TOPIC_BROKERS, staged.topic_brokers(day))
    counted = written.get if sends.rows > 0 else {}  # without rows nothing may have been written
    context.has_async[day] = counted.get("async", 0) > 0
    moves = no_rows(context.spark, ORDER_KEY_MOVES.schema)  # a day without order keys costs nothing
    if counted.get("with_key", 0) > 0:
        with_keys = lake.read_day(SENDS, day.cluster, day.date)
        moves = order_key_moves(with_keys, day, context.settings, publish_queues=staged.publish_queues(day))
    return [sends, updates, routes, publish(ORDER_KEY_MOVES, moves)]


def _derive(context: RunContext, day: Day, opening: Opening, staged: StagedSends | None) -> Mapping[str, DataFrame]:
    """Rows of every derived table, from the day's lines, its routes and the day before's closing state in the lake."""
    materialize = context.materializer(day)
    sends, updates, routes = (
        context.lake.read_day(table, day.cluster, day.date) for table in (SENDS, FAULT_ITEM_UPDATES, TOPIC_BROKERS)
    )
    is_recorded = staged.rows_published("fault_item_updates", day) > 0 if staged else not updates.isEmpty()
    of = DayOfProducers(
        sends,
        opening.rows[FAULT_ITEM_STATE.name].drop("event_date"),
        routes,
        recorded=updates if is_recorded else None,  # without any they cost nothing
        has_async=context.has_async[day] if staged else not sends.where("mode = 'ASYNC'").isEmpty(),
    )
    items = replayed(of, day, context.settings, materialize)
    tables = fault_latency(
        items,
        opening.rows[EVENTS.name],
        day,
        context.settings,
        known_start=opening.is_known,
        materialize=materialize,
    )
    calls = _calls_without_attempt(context, day, staged)
    return {**tables, SEND_CALLS.name: tables[SEND_CALLS.name].unionByName(calls)} if calls is not None else tables


def _calls_without_attempt(context: RunContext, day: Day, staged: StagedSends | None) -> DataFrame | None:
    """Rows of `send_calls`, of a day that is recomputed those that the lake has; None when there are none."""
    if staged is None:
        calls = context.lake.read_day(SEND_CALLS, day.cluster, day.date).where("attempts = 0")
        return None if calls.isEmpty() else calls
    if not context.calls_without_attempt[day]:
        return None
    return without_attempt(staged.calls_without_attempt(day), context.settings.producers).transform(
        with_partition_columns, day, "start_ms", "end_ms"
    )


def _has_sends(context: RunContext, day: Day) -> bool:
    """Whether the day can be recomputed: not when its sends were there and are gone (`retention.sends_days`)."""
    had_sends = not context.lake.read_day(PRODUCER_DAYS, day.cluster, day.date).isEmpty()
    return not (had_sends and context.lake.read_day(SENDS, day.cluster, day.date).isEmpty())


FAULT_LATENCY_FLOW = Flow(
    name=FAULT_LATENCY,
    reads="send attempts",
    derives="replaying fault items",
    sources=("sends", "fault_item_updates"),
    published=named(_TABLES.published),
    derived=named(_TABLES.derived),
    carried=(FAULT_ITEM_STATE, EVENTS),
    needed=_TABLES.needed,
    forgotten=(SENDS, FAULT_ITEM_UPDATES, SEND_CALLS),
    stage=stage_sends,
    publish=_publish,
    derive=_derive,
    can_recompute=_has_sends,
)
