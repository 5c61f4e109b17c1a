"""A run of the second flow: stage the snapshots, publish each day, log it all."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.allocation.job import Opening, Snapshots, allocation
from jobs.lake.tables_io import Lake
from jobs.runs.run_log import (
    ALLOCATION,
    DayResult,
    Run,
    RunResult,
    log_run,
    published_openings,
    run_metadata,
)
from jobs.runs.runner import check_rows, keeper_of, run_flow, state_hash
from jobs.settings.model import Settings
from jobs.sources.client_log import CLIENT_LOGS, SCHEMA
from jobs.sources.snapshots import KINDS
from jobs.sources.staged import Staged
from jobs.sources.staging import stage_snapshots
from jobs.tables import (
    ALLOCATION_FINDINGS,
    GROUP_MEMBERS,
    QUARANTINE,
    QUEUE_ALLOCATION,
    QUEUE_OWNERSHIP,
    REBALANCES,
    ROUTE_CHANGES,
    STRATEGY_COMPARISON,
    TOPIC_QUEUES,
    Table,
)
from jobs.tables.day import Day
from jobs.text.progress import Progress

_DERIVED = (
    TOPIC_QUEUES,
    ROUTE_CHANGES,
    GROUP_MEMBERS,
    QUEUE_ALLOCATION,
    QUEUE_OWNERSHIP,
    ALLOCATION_FINDINGS,
    REBALANCES,
    STRATEGY_COMPARISON,
)
_CARRIED = (TOPIC_QUEUES, GROUP_MEMBERS, QUEUE_ALLOCATION, QUEUE_OWNERSHIP)
_INPUTS = (*(kind.name for kind in KINDS), CLIENT_LOGS)


def run_allocation(spark: SparkSession, settings: Settings, run: Run, progress: Progress) -> RunResult:
    """Publish the asked days from the snapshots.

    A later published day that started from another closing state is reported in `stale_days`: its snapshots are not
    kept, so only a run over them makes it anew.

    Raises:
        FaultlineError: one of its subclasses; a FAILED row is logged, all days but the one under way stay as they are.
    """

    def publish(lake: Lake, result: RunResult, day: Day, staged: Staged, days: Sequence[Day]) -> None:
        result.days.append(_publish(spark, lake, settings, run, day, staged, progress))
        if day.after not in days and _is_stale(lake, result.days[-1]):
            result.stale_days.append(day.after.date)

    reading = ("snapshots", stage_snapshots)
    return run_flow(spark, settings, run, progress, flow=ALLOCATION, tables=_DERIVED, reading=reading, publish=publish)


def _publish(
    spark: SparkSession, lake: Lake, settings: Settings, run: Run, day: Day, staged: Staged, progress: Progress
) -> DayResult:
    counts, metadata = staged.counts(day), run_metadata(run, settings)
    known_start = day.before.date in published_openings(lake, ALLOCATION, day.cluster)
    with progress.step(f"allocating queues of {day.date}"):
        opening = {table.name: _reaching(lake, table, day.before).where(F.lit(known_start)) for table in _CARRIED}
        opening_state = state_hash([_state(each) for each in opening.values()])
        allocated = allocation(
            Snapshots(*(_lines(spark, staged, name, day) for name in _INPUTS)),
            Opening(**opening),
            day,
            settings,
            keeper_of(spark, lake, run, day),
        )
        bad = lake.publish_day(
            QUARANTINE,
            staged.quarantine(day, run.run_id),
            day.cluster,
            day.date,
            metadata,
            only={"source": list(_INPUTS)},
        )
        check_rows(bad, counts.rows_quarantined, day)
        frames = [(table, getattr(allocated, table.name)) for table in _DERIVED]
        commits = lake.publish_day_of_each(frames, day.cluster, day.date, metadata)
        versions = {commit.table: commit.version for commit in (bad, *commits)}
        closing_state = state_hash([_state(_reaching(lake, table, day)) for table in _CARRIED])
    done = DayResult(
        day, counts, "PREVIOUS_DAY" if known_start else "EMPTY", opening_state, closing_state, False, versions
    )
    log_run(spark, lake, run, ALLOCATION, [day], "SUCCEEDED", settings, done=done)
    return done


def _lines(spark: SparkSession, staged: Staged, name: str, day: Day) -> DataFrame:
    found = staged[name]
    if found is not None:
        return found.published(day)
    if name == CLIENT_LOGS:
        return spark.createDataFrame([], SCHEMA)
    kind = next(each for each in KINDS if each.name == name)
    return spark.createDataFrame([], "captured_at_ms bigint").select(
        "captured_at_ms", *(F.lit(None).cast(field.dataType).alias(field.name) for field in kind.fields)
    )


def _reaching(lake: Lake, table: Table, day: Day) -> DataFrame:
    """The day's rows that still stand at 24:00."""
    return lake.read_day(table, day.cluster, day.date).where(F.col("valid_until_ms") == F.lit(day.end_ms))


def _state(reaching: DataFrame) -> DataFrame:
    """What the next day starts from: not since when it stands."""
    return reaching.drop("event_date", "valid_from_ms", "valid_from_at")


def _is_stale(lake: Lake, last: DayResult) -> bool:
    openings = published_openings(lake, ALLOCATION, last.day.cluster)
    after = openings.get(last.day.after.date)
    return after is not None and after != ("PREVIOUS_DAY", last.closing_state)
