"""The frame of a run, whatever the flow: hold the lake, stage the input, publish each day, log it all."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from typing import TypeVar
from urllib.parse import quote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.errors import FaultlineError, ReconciliationError
from jobs.lake.tables_io import Commit, Lake
from jobs.runs.run_log import Run, RunResult, failure_text, log_run
from jobs.settings.model import Settings
from jobs.sources.staged import Staged
from jobs.sources.staging import check_fit_to_publish
from jobs.spark.interruption import Interrupted, give_back, what_ended
from jobs.spark.materialize import Keep, keeper
from jobs.tables import QUARANTINE, RUN_LOG, Table
from jobs.tables.day import Day
from jobs.text.progress import Progress

S = TypeVar("S", bound=Staged)
Stage = Callable[[SparkSession, Settings, tuple[dt.date, dt.date], str], S]
"""Session, settings, first and last day, folder → the input, staged below the folder."""


def run_flow(
    spark: SparkSession,
    settings: Settings,
    run: Run,
    progress: Progress,
    *,
    flow: str,
    tables: Sequence[Table],
    reading: tuple[str, Stage[S]],
    publish: Callable[[Lake, RunResult, Day, S, Sequence[Day]], None],
) -> RunResult:
    """Publish the asked days from the input.

    Args:
        flow: its name in the run log.
        tables: what it publishes, besides quarantine and run log.
        reading: what the input is called on the way, and what stages it.
        publish: publishes one day and adds it to the result; told all days of the run.

    Raises:
        FaultlineError: one of its subclasses; a FAILED row is logged, if the lake still takes one, and all days but the
            one under way stay as they are.
        Interrupted: a signal came; likewise.
    """
    lake = Lake(spark, settings.lake)
    days = [Day(date, settings.cluster) for date in run.days]
    result = RunResult(run)
    what, stage = reading
    with lake.held(run.run_id, run.clock, break_lock=run.break_lock) as told:
        with progress.step("opening the lake"):
            lake.create_tables((*tables, QUARANTINE, RUN_LOG))
            lake.clear_staging(run.run_id)
        logged = days if told else []  # whose lock was taken is on record before anything else
        if told:
            log_run(spark, lake, run, flow, logged, "STARTED", settings, message=told)
            progress.say(told)
        try:
            with progress.step(f"reading {what}"):
                staged = stage(spark, settings, (run.days[0], run.days[-1]), f"{lake.staging}/{run.run_id}")
            days = staged.days(run.days, settings.cluster)
            log_run(spark, lake, run, flow, [day for day in days if day not in logged], "STARTED", settings)
            result.clusters = sorted({day.cluster for day in days})
            check_fit_to_publish(staged, days, settings, allow_empty=run.allow_empty)
            result.other_days, result.hidden_files = staged.other_days, staged.hidden_files
            result.repeated_files = staged.repeated_files
            for day in days:
                publish(lake, result, day, staged, days)
        except (Exception, Interrupted) as error:
            give_back()
            begun = [*days, *([result.cascading] if result.cascading else [])]
            unfinished = [day for day in begun if day not in [done.day for done in result.days]]
            # a full disk takes no record of it either
            with suppress(FaultlineError, Py4JError, PySparkException, OSError):
                why = failure_text(what_ended(error), lake.root)
                log_run(spark, lake, run, flow, unfinished, "FAILED", settings, message=why)
            raise
        finally:
            lake.clear_staging(run.run_id)
    return result


def keeper_of(spark: SparkSession, lake: Lake, run: Run, day: Day) -> Keep:
    """Keeps the day's intermediate frames in the run's staging folder."""
    return keeper(spark, f"{lake.staging}/{run.run_id}/{quote(day.cluster, safe='')}-{day.date}")


def check_rows(commit: Commit, expected: int, day: Day) -> None:
    """Fail when a table got another number of rows than were counted.

    Raises:
        ReconciliationError: it did.
    """
    if commit.rows != expected:
        raise ReconciliationError(
            f"{commit.table} of {day.date} got {commit.rows} rows, {expected} were counted; run the day again"
        )


def state_hash(states: Sequence[DataFrame]) -> str:
    """Hash of all rows, in any order: equal states have equal hashes."""
    hashes = [
        state.select(F.xxhash64(F.to_json(F.struct(*state.columns), {"ignoreNullFields": "false"})).alias("hash"))
        for state in states
    ]
    total = F.sum(F.col("hash").cast("decimal(38,0)"))
    found = reduce(DataFrame.unionByName, hashes).agg(F.count("*").alias("rows"), total.alias("sum")).first()
    return f"{found['rows']}:{found['sum'] or 0}" if found else "0:0"
