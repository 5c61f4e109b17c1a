"""A run of any flow: lock the lake, stage the input, publish each day, recompute what follows, log it all."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.errors import FaultlineError, ReconciliationError
from jobs.lake.commits import Commit
from jobs.lake.tables_io import Lake
from jobs.runs.context import RunContext
from jobs.runs.flow import Flow, S
from jobs.runs.held import held
from jobs.runs.midnight import ClosingState, opening_of
from jobs.runs.run import DayResult, PublishedDay, Run, RunResult
from jobs.runs.run_log import failure_text, known_days, log_run
from jobs.settings.model import Settings
from jobs.sources.fit_to_publish import check_fit_to_publish
from jobs.spark.few_lines import small_input_conf
from jobs.spark.interruption import Interrupted, give_back, what_ended
from jobs.spark.no_rows import no_rows
from jobs.tables import QUARANTINE, RUN_LOG
from jobs.tables.day import Day
from jobs.text.completeness import of_client_logs
from jobs.text.progress import Progress


def run_flow(flow: Flow[S], spark: SparkSession, settings: Settings, run: Run, progress: Progress) -> RunResult:
    """Publish the requested days from the input, and every later day whose start changed.

    Raises:
        FaultlineError: one of its subclasses; a FAILED row is logged, if the lake still takes one, and all days but the
            one under way stay as they are.
        Interrupted: a signal came; as above.
    """
    context = RunContext(spark, Lake(spark, settings.lake), settings, run, progress)
    result = RunResult(run)
    days = [Day(date, settings.cluster) for date in run.days]
    with opened(flow, context) as taken_from:
        logged = list(days) if taken_from else []  # whose lock was taken is on record before anything else
        if taken_from:
            log_run(context, flow.name, logged, "STARTED", message=taken_from)
        with logging_failure(flow, context, result, days):
            with progress.step(f"reading {flow.reads}"):
                staged = flow.stage(spark, settings, (run.days[0], run.days[-1]), context.staging)
            result.warnings = staged.warnings(run.clock(), settings)
            for warning in result.warnings:
                progress.say(f"warning: {warning}")
            days[:] = staged.days(run.days, settings.cluster)
            log_run(context, flow.name, [day for day in days if day not in logged], "STARTED")
            result.clusters = sorted({day.cluster for day in days})
            for note in of_client_logs(asdict(file) for day in days for file in staged.log_files(day)):
                context.progress.say(note)
            check_fit_to_publish(staged, days, settings, needed=flow.needed, allow_empty=run.allow_empty)
            result.other_days, result.hidden_files = staged.other_days, staged.hidden_files
            for day in days:
                result.days.append(_publish(flow, context, day, staged))
                if day.after not in days:
                    cascade(flow, context, result, days)
                    _forget_old_sends(flow, context, day)
    result.other_settings = days_with_other_settings(flow, context, result)
    return result


def days_with_other_settings(flow: Flow[S], context: RunContext, result: RunResult) -> list[dt.date]:
    """The published days of the run's clusters that other settings made, if one of them is next to one of the run's."""
    own = context.settings.content_hash(flow.name)
    others = {
        day
        for day, made in known_days(context, flow.name).items()
        if day.cluster in result.clusters and made.settings not in (None, own)
    }
    near = {day for done in result.days for day in (done.day.before, done.day.after)}
    return sorted({day.date for day in others}) if near & others else []


@contextmanager
def opened(flow: Flow[S], context: RunContext) -> Iterator[str | None]:
    """Lock the lake, create missing tables, clear staging. Yields a note if a lock was taken over."""
    lake, run = context.lake, context.run
    with held(lake, context.settings, run, context.progress) as taken_from:
        with context.progress.step("opening the lake"):
            lake.create_tables((*flow.published, *flow.derived, QUARANTINE, RUN_LOG))
            lake.clear_staging(run.run_id)
        yield taken_from


@contextmanager
def logging_failure(flow: Flow[S], context: RunContext, result: RunResult, days: Sequence[Day]) -> Iterator[None]:
    """If the block fails, log the days that it did not finish; clear staging in any case. `days` may still grow."""
    try:
        yield
    except (Exception, Interrupted) as error:
        give_back()
        begun = [*days, *([result.cascading] if result.cascading else [])]
        unfinished = [day for day in begun if day not in [done.day for done in result.days]]
        # a full disk takes no record of it either
        with suppress(FaultlineError, Py4JError, PySparkException, OSError):
            why = failure_text(what_ended(error), context.lake.root)
            log_run(context, flow.name, unfinished, "FAILED", message=why, cascading=result.cascading)
        raise
    finally:
        context.lake.clear_staging(context.run.run_id)


def _publish(flow: Flow[S], context: RunContext, day: Day, staged: S) -> DayResult:
    planned = small_input_conf(context.spark, staged.rows_read, context.settings.spark)
    with context.progress.step(f"publishing lines of {day.date}"), planned:
        commits = [*flow.publish(context, day, staged), _quarantine(flow, context, day, staged)]
    return derive(flow, context, day, staged, commits)


def _quarantine(flow: Flow[S], context: RunContext, day: Day, staged: S) -> Commit:
    sources = dict.fromkeys([*flow.sources, *(source.name for source in staged.read)])
    bad = staged.rows_quarantined(day)
    commit = context.lake.publish_day(
        QUARANTINE,
        staged.quarantine(day, context.run.run_id) if bad else no_rows(context.spark, QUARANTINE.schema),
        day.cluster,
        day.date,
        context.metadata(flow.name),
        only={"source": list(sources)},
    )
    check_rows(commit, bad, day)
    return commit


def derive(
    flow: Flow[S],
    context: RunContext,
    day: Day,
    staged: S | None,
    commits: Sequence[Commit],
    *,
    cascaded: bool = False,
) -> DayResult:
    """Publish every table derived from the day's lines and the state at 00:00."""
    lake, settings = context.lake, context.settings
    counts = staged.counts(day) if staged is not None else None
    lines, input_settings = (
        (counts.rows_published, settings.input_hash(flow.name)) if counts else _as_read(flow, context, day)
    )
    planned = small_input_conf(context.spark, lines, settings.spark)
    with context.progress.step(f"{flow.derives} of {day.date}"), planned:
        opening = opening_of(flow, context, day)
        rows = flow.derive(context, day, opening, staged)
        closing = ClosingState(flow, lake, day)
        frames = [(table, closing.watched(table, rows[table.name])) for table in flow.derived]
        derived = lake.publish_day_of_each(frames, day.cluster, day.date, context.metadata(flow.name))
        context.closings[day] = closing.state(derived)
    made = PublishedDay(
        "PREVIOUS_DAY" if opening.is_known else "EMPTY",
        opening.state,
        settings.content_hash(flow.name),
        input_settings,
        lines,
        context.closings[day],
    )
    versions = {commit.table: commit.version for commit in (*commits, *derived)}
    done = DayResult(day, counts, made, versions, cascaded, staged.log_files(day) if staged is not None else ())
    log_run(context, flow.name, [day], "SUCCEEDED", done=done)
    return done


def _as_read(flow: Flow[S], context: RunContext, day: Day) -> tuple[int | None, str | None]:
    """The good lines of a published day when a run read them, and the hash of the settings by which it did."""
    published = known_days(context, flow.name)[day]
    return published.lines, published.input_settings


def cascade(flow: Flow[S], context: RunContext, result: RunResult, days: Sequence[Day]) -> None:
    """Recompute the published days after the run's last one that do not start from what the day before leaves.

    A day whose recompute broke off is recomputed too. It looks at every day up to one that is not published, or one of
    `days`, which the run publishes from the input: an earlier run may have been killed between two of them. A day that
    cannot be recomputed stays as it is and is reported in `stale_days`.
    """
    published = known_days(context, flow.name)
    day, made = result.days[-1].day, result.days[-1].made
    while (day := day.after) not in days and day in published:
        start, made = ("PREVIOUS_DAY", made.closing_state), published[day]
        if start == (made.started_from, made.opening_state) and not made.is_broken_off:
            continue
        if not context.run.cascade or not flow.can_recompute(context, day):
            result.stale_days.append(day.date)
            continue
        result.cascading = day
        log_run(context, flow.name, [day], "STARTED", cascading=day)
        result.days.append(derive(flow, context, day, None, [], cascaded=True))
        made = result.days[-1].made


def _forget_old_sends(flow: Flow[S], context: RunContext, last: Day) -> None:
    days = context.settings.retention.sends_days
    if days is not None:
        for table in flow.forgotten:
            context.lake.forget_before(table, last.cluster, last.date - dt.timedelta(days=days - 1))


def check_rows(commit: Commit, expected: int, day: Day) -> None:
    """Fail when a table got another number of rows than were counted.

    Raises:
        ReconciliationError: it did.
    """
    if commit.rows != expected:
        raise ReconciliationError(
            f"{commit.table} of {day.date} got {commit.rows} rows, {expected} were counted; run the day again"
        )
