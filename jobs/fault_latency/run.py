"""A run: stage the input, publish each day, recompute the days that follow from it, log it all."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.effects.key_moves import with_order_key
from jobs.fault_latency.job import fault_latency, order_key_moves, replayed
from jobs.lake.tables_io import Lake
from jobs.runs.run_log import (
    FAULT_LATENCY,
    DayResult,
    Run,
    RunResult,
    log_run,
    published_openings,
    run_metadata,
)
from jobs.runs.runner import check_rows, keeper_of, run_flow, state_hash
from jobs.settings.model import Settings
from jobs.sources.staged import Counts
from jobs.sources.staging import StagedSends, stage_sends
from jobs.spark.materialize import Keep
from jobs.tables import (
    BROKER_INCIDENTS,
    BROKER_WINDOWS,
    FAULT_ITEM_CHANGES,
    FAULT_ITEM_STATE,
    FINDINGS,
    ISOLATION_INTERVALS,
    ORDER_KEY_MOVES,
    PRODUCER_DAYS,
    QUARANTINE,
    SEND_CALLS,
    SENDS,
    TOPIC_BROKERS,
    Table,
)
from jobs.tables.day import Day
from jobs.text.progress import Progress

_DERIVED = (
    FAULT_ITEM_CHANGES,
    ISOLATION_INTERVALS,
    FAULT_ITEM_STATE,
    BROKER_WINDOWS,
    BROKER_INCIDENTS,
    PRODUCER_DAYS,
    SEND_CALLS,
    FINDINGS,
)
_TABLES = (SENDS, TOPIC_BROKERS, ORDER_KEY_MOVES, *_DERIVED)


@dataclass(frozen=True)
class Derived:
    """What a day's sends say, a frame per table, and the closing state that it started from, as the run log has it."""

    started_from: str
    opening_state: str
    frames: tuple[tuple[Table, DataFrame], ...]


def run_fault_latency(spark: SparkSession, settings: Settings, run: Run, progress: Progress) -> RunResult:
    """Publish the asked days from the input and every later day whose start changed.

    Raises:
        FaultlineError: one of its subclasses; a FAILED row is logged, all days but the one under way stay as they are.
    """

    def publish(lake: Lake, result: RunResult, day: Day, staged: StagedSends, days: Sequence[Day]) -> None:
        result.days.append(_publish(spark, lake, settings, run, day, staged, progress))
        if day.after not in days:
            _cascade(spark, lake, settings, run, result, days, progress)
            _forget_old_sends(lake, settings, day)

    reading = ("send attempts", stage_sends)
    return run_flow(
        spark, settings, run, progress, flow=FAULT_LATENCY, tables=_TABLES, reading=reading, publish=publish
    )


def _forget_old_sends(lake: Lake, settings: Settings, last: Day) -> None:
    kept = settings.retention.sends_days
    if kept is not None:
        for table in (SENDS, SEND_CALLS):
            lake.forget_before(table, last.cluster, last.date - dt.timedelta(days=kept - 1))


def _publish(
    spark: SparkSession, lake: Lake, settings: Settings, run: Run, day: Day, staged: StagedSends, progress: Progress
) -> DayResult:
    counts, metadata = staged.counts(day), run_metadata(run, settings)
    with progress.step(f"publishing sends of {day.date}"):
        commit = lake.publish_day(SENDS, staged.sends(day), day.cluster, day.date, metadata)
        bad_lines, own = staged.quarantine(day, run.run_id), {"source": [each.name for each in staged.read]}
        bad = lake.publish_day(QUARANTINE, bad_lines, day.cluster, day.date, metadata, only=own)
        hosts = lake.publish_day(TOPIC_BROKERS, staged.topic_brokers(day), day.cluster, day.date, metadata)
        moves = _order_key_moves(lake.read_day(SENDS, day.cluster, day.date), settings, day, staged)
        moved = lake.publish_day(ORDER_KEY_MOVES, moves, day.cluster, day.date, metadata)
    check_rows(commit, counts.rows_published, day)
    check_rows(bad, staged.rows_quarantined(day), day)
    versions = {each.table: each.version for each in (commit, bad, hosts, moved)}
    return _derive(spark, lake, settings, run, day, counts, versions, progress)


def _order_key_moves(sends: DataFrame, settings: Settings, day: Day, staged: StagedSends) -> DataFrame:
    """The day's moves; a day without order keys costs one look into the column."""
    if with_order_key(sends).isEmpty():
        return sends.sparkSession.createDataFrame([], ORDER_KEY_MOVES.schema)
    return order_key_moves(sends, day, settings, publish_queues=staged.publish_queues(day))


def derived(lake: Lake, settings: Settings, day: Day, keep: Keep) -> Derived:
    """Every table that rests on the day's sends, its routes and the day before's closing state, all from the lake."""
    known_start = day.before.date in published_openings(lake, FAULT_LATENCY, day.cluster)
    opening = lake.read_day(FAULT_ITEM_STATE, day.cluster, day.before.date).where(F.lit(known_start)).drop("event_date")
    opening_state = state_hash([opening])
    sends, hosts = (lake.read_day(table, day.cluster, day.date) for table in (SENDS, TOPIC_BROKERS))
    items = replayed(sends, opening, day, settings, topic_brokers=hosts, keep=keep)
    told = fault_latency(items, day, settings, known_start=known_start, keep=keep)
    frames = tuple((table, getattr(told, table.name)) for table in _DERIVED)
    return Derived("PREVIOUS_DAY" if known_start else "EMPTY", opening_state, frames)


def _derive(
    spark: SparkSession,
    lake: Lake,
    settings: Settings,
    run: Run,
    day: Day,
    counts: Counts | None,
    versions: dict[str, int],
    progress: Progress,
) -> DayResult:
    """Recompute and publish every table that rests on the day's sends and the day before's closing state."""
    with progress.step(f"replaying fault items of {day.date}"):
        told = derived(lake, settings, day, keeper_of(spark, lake, run, day))
        commits = lake.publish_day_of_each(told.frames, day.cluster, day.date, run_metadata(run, settings))
        versions.update({commit.table: commit.version for commit in commits})
        closing_state = state_hash([lake.read_day(FAULT_ITEM_STATE, day.cluster, day.date).drop("event_date")])
    done = DayResult(day, counts, told.started_from, told.opening_state, closing_state, counts is None, versions)
    log_run(spark, lake, run, FAULT_LATENCY, [day], "SUCCEEDED", settings, done=done)
    return done


def _cascade(
    spark: SparkSession,
    lake: Lake,
    settings: Settings,
    run: Run,
    result: RunResult,
    days: Sequence[Day],
    progress: Progress,
) -> None:
    """Recompute the published days after the run's last one until a day's start is what it was.

    It stops at a day whose sends are no longer kept: that day stays as it is and is reported; and before one of `days`,
    which the run publishes from the input.
    """
    last = result.days[-1]
    openings = published_openings(lake, FAULT_LATENCY, last.day.cluster)
    while (after := last.day.after) not in days and after.date in openings:
        if openings[after.date] == ("PREVIOUS_DAY", last.closing_state):
            return
        if not run.cascade or has_forgotten(lake, after):
            result.stale_days.append(after.date)
            return
        result.cascading = after
        log_run(spark, lake, run, FAULT_LATENCY, [after], "STARTED", settings)
        last = _derive(spark, lake, settings, run, after, None, {}, progress)
        result.days.append(last)


def has_forgotten(lake: Lake, day: Day) -> bool:
    """Whether the day's sends were there and are gone (`retention.sends_days`): it cannot be recomputed."""
    had_sends = not lake.read_day(PRODUCER_DAYS, day.cluster, day.date).isEmpty()
    return had_sends and lake.read_day(SENDS, day.cluster, day.date).isEmpty()
