"""A run: stage the input, publish each day, recompute the days that follow from it, log it all."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from jobs.day import Day
from jobs.errors import FaultlineError, ReconciliationError
from jobs.fault_latency.job import fault_latency
from jobs.fault_latency.state import state_hash
from jobs.ingest import Counts, StagedSends, check_fit_to_publish, stage_sends
from jobs.lake import Lake
from jobs.progress import Progress
from jobs.settings import Settings
from jobs.spark_errors import root_cause
from jobs.tables import (
    BROKER_INCIDENTS,
    BROKER_WINDOWS,
    FAULT_ITEM_CHANGES,
    FAULT_ITEM_STATE,
    ISOLATION_INTERVALS,
    PRODUCER_DAYS,
    QUARANTINE,
    RUN_LOG,
    SENDS,
    TOPIC_BROKERS,
)

_AT_ONCE = 4  # small tables: their planning and commits overlap
_DERIVED = (FAULT_ITEM_CHANGES, ISOLATION_INTERVALS, FAULT_ITEM_STATE, BROKER_WINDOWS, BROKER_INCIDENTS, PRODUCER_DAYS)


@dataclass(frozen=True)
class Run:
    """One call of a command.

    Attributes:
        run_id: unique; in every run log row and commit.
        command: as the user called it.
        days: the UTC days asked for, ascending.
        allow_empty: a day without a line is published as an empty day.
        cascade: recompute the published days after a day whose closing state changed.
        clock: tells the time for the run log.
    """

    run_id: str
    command: str
    days: tuple[dt.date, ...]
    allow_empty: bool
    cascade: bool
    clock: Callable[[], dt.datetime]


@dataclass(frozen=True)
class DayResult:
    """What a run did to one day."""

    day: Day
    counts: Counts | None
    started_from: str
    opening_state: str
    closing_state: str
    cascaded: bool
    table_versions: dict[str, int]


@dataclass
class RunResult:
    """What a run did."""

    run: Run
    days: list[DayResult] = field(default_factory=list)
    other_days: dict[dt.date, int] = field(default_factory=dict)
    clusters: list[str] = field(default_factory=list)
    hidden_files: tuple[str, ...] = ()
    stale_days: list[dt.date] = field(default_factory=list)


def run_fault_latency(spark: SparkSession, settings: Settings, run: Run, progress: Progress) -> RunResult:
    """Publish the asked days from the input and every later day whose start changed.

    Raises:
        FaultlineError: one of its subclasses; a FAILED row is logged, published days stay as they are.
    """
    lake = Lake(spark, settings.lake)
    days = [Day(date, settings.cluster) for date in run.days]
    result = RunResult(run)
    with lake.held():
        with progress.step("opening the lake"):
            lake.create_tables()
            lake.clear_staging(run.run_id)
        _log(spark, lake, run, days, "STARTED", settings)
        folder = f"{lake.staging}/{run.run_id}"
        try:
            with progress.step("reading send attempts"):
                staged = stage_sends(spark, settings, (run.days[0], run.days[-1]), folder)
            days = staged.days(run.days, settings.cluster)
            result.clusters = sorted({day.cluster for day in days})
            check_fit_to_publish(staged, days, settings, allow_empty=run.allow_empty)
            result.other_days, result.hidden_files = staged.other_days, staged.manifest.hidden
            for day in days:
                result.days.append(_publish(spark, lake, settings, run, day, staged, progress))
                if day.after not in days:
                    _cascade(spark, lake, settings, run, result, progress)
                    _forget_old_sends(lake, settings, day)
        except Exception as error:
            unfinished = [day for day in days if day not in [done.day for done in result.days]]
            _log(spark, lake, run, unfinished, "FAILED", settings, message=_failure(error))
            raise
        finally:
            lake.clear_staging(run.run_id)
    return result


def _forget_old_sends(lake: Lake, settings: Settings, last: Day) -> None:
    kept = settings.retention.sends_days
    if kept is not None:
        lake.forget_before(SENDS, last.cluster, last.date - dt.timedelta(days=kept - 1))


def _publish(
    spark: SparkSession, lake: Lake, settings: Settings, run: Run, day: Day, staged: StagedSends, progress: Progress
) -> DayResult:
    counts, metadata = staged.counts(day), _metadata(run, settings)
    with progress.step(f"publishing sends of {day.date}"):
        commit = lake.publish_day(SENDS, staged.sends(day), day.cluster, day.date, metadata)
        bad = lake.publish_day(QUARANTINE, staged.quarantine(day, run.run_id), day.cluster, day.date, metadata)
        hosts = lake.publish_day(TOPIC_BROKERS, staged.topic_brokers(day), day.cluster, day.date, metadata)
    for written, expected in ((commit, counts.rows_published), (bad, counts.rows_quarantined)):
        if written.rows != expected:
            raise ReconciliationError(
                f"{written.table} of {day.date} got {written.rows} rows, {expected} were counted; run the day again"
            )
    versions = {each.table: each.version for each in (commit, bad, hosts)}
    return _derive(spark, lake, settings, run, day, counts, versions, progress)


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
    known_start = day.before.date in _published_openings(lake, day.cluster)
    with progress.step(f"replaying fault items of {day.date}"):
        opening = (
            lake.read_day(FAULT_ITEM_STATE, day.cluster, day.before.date).where(F.lit(known_start)).drop("event_date")
        )
        opening_state = state_hash(opening)
        replayed = fault_latency(
            lake.read_day(SENDS, day.cluster, day.date),
            opening,
            day,
            settings,
            known_start=known_start,
            topic_brokers=lake.read_day(TOPIC_BROKERS, day.cluster, day.date),
        )
        metadata = _metadata(run, settings)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            commits = pool.map(
                lambda table: lake.publish_day(table, getattr(replayed, table.name), day.cluster, day.date, metadata),
                _DERIVED,
            )
            versions.update({commit.table: commit.version for commit in commits})
        closing_state = state_hash(lake.read_day(FAULT_ITEM_STATE, day.cluster, day.date).drop("event_date"))
        spark.catalog.clearCache()
    done = DayResult(
        day, counts, "PREVIOUS_DAY" if known_start else "EMPTY", opening_state, closing_state, counts is None, versions
    )
    _log(spark, lake, run, [day], "SUCCEEDED", settings, done=done)
    return done


def _cascade(
    spark: SparkSession, lake: Lake, settings: Settings, run: Run, result: RunResult, progress: Progress
) -> None:
    """Recompute the published days after the run's last one until a day's start is what it was.

    It stops at a day whose sends are no longer kept: that day stays as it is and is reported.
    """
    last = result.days[-1]
    openings = _published_openings(lake, last.day.cluster)
    while last.day.after.date in openings and openings[last.day.after.date] != ("PREVIOUS_DAY", last.closing_state):
        if not run.cascade or _has_forgotten(lake, last.day.after):
            result.stale_days.append(last.day.after.date)
            return
        last = _derive(spark, lake, settings, run, last.day.after, None, {}, progress)
        result.days.append(last)


def _has_forgotten(lake: Lake, day: Day) -> bool:
    """Whether the day's sends were there and are gone (`retention.sends_days`): it cannot be recomputed."""
    had_sends = not lake.read_day(PRODUCER_DAYS, day.cluster, day.date).isEmpty()
    return had_sends and lake.read_day(SENDS, day.cluster, day.date).isEmpty()


def _published_openings(lake: Lake, cluster: str) -> dict[dt.date, tuple[str, str]]:
    """Each published day with where it started from and the hash of that state, as its latest success says."""
    succeeded = lake.read(RUN_LOG).where((F.col("status") == "SUCCEEDED") & (F.col("cluster") == F.lit(cluster)))
    latest = succeeded.groupBy("event_date").agg(
        F.max_by(F.struct("started_from", "opening_state"), F.struct("logged_at", "run_id")).alias("start")
    )
    return {
        row["event_date"]: (row["start"]["started_from"], row["start"]["opening_state"]) for row in latest.collect()
    }


def _log(
    spark: SparkSession,
    lake: Lake,
    run: Run,
    days: list[Day],
    status: str,
    settings: Settings,
    *,
    done: DayResult | None = None,
    message: str | None = None,
) -> None:
    counts = asdict(done.counts) if done and done.counts else dict.fromkeys(Counts.__dataclass_fields__)
    command = "cascade" if done and done.cascaded else run.command
    values = {
        **counts,
        "run_id": run.run_id,
        "command": command,
        "status": status,
        "logged_at": run.clock(),
        "started_from": done.started_from if done else None,
        "opening_state": done.opening_state if done else None,
        "closing_state": done.closing_state if done else None,
        "table_versions": json.dumps(done.table_versions, sort_keys=True) if done else None,
        "settings_hash": settings.content_hash(),
        "code_version": code_version(),
        "message": message,
    }
    names = RUN_LOG.schema.fieldNames()
    rows = [Row(**{**values, "event_date": day.date, "cluster": day.cluster}) for day in days]
    if rows:
        ordered = [tuple(row[name] for name in names) for row in rows]
        lake.append(RUN_LOG, spark.createDataFrame(ordered, RUN_LOG.schema))


def _metadata(run: Run, settings: Settings) -> dict[str, str]:
    return {"run_id": run.run_id, "code_version": code_version(), "settings_hash": settings.content_hash()}


def _failure(error: Exception) -> str:
    return str(error) if isinstance(error, FaultlineError) else root_cause(error)


def code_version() -> str:
    """Version of the installed program; `unknown` when it runs from a zip."""
    try:
        return version("faultline")
    except PackageNotFoundError:
        return "unknown"
