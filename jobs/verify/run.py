"""A run of `faultline verify`: published days of the lake, and client logs → rows of `replay_checks`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.errors import InputMissingError
from jobs.fault_latency.replayed_day import DayOfProducers
from jobs.lake.tables_io import Lake
from jobs.runs.context import RunContext
from jobs.runs.days_with_sends import days_with_sends
from jobs.runs.flow import Flow, Opening
from jobs.runs.run import Run, RunResult
from jobs.runs.run_log import VERIFY
from jobs.runs.runner import run_flow
from jobs.settings.model import Settings
from jobs.sources.fault_item_log import FAULT_ITEM_LOGS
from jobs.sources.fault_item_log import SCHEMA as LOG_LINES
from jobs.sources.staged import Staged
from jobs.sources.staging import stage_fault_item_logs
from jobs.spark.no_rows import no_rows
from jobs.tables import (
    FAULT_ITEM_STATE,
    FAULT_ITEM_UPDATES,
    ISOLATION_INTERVALS,
    REPLAY_CHECKS,
    SENDS,
    TOPIC_BROKERS,
    Table,
)
from jobs.tables.day import Day
from jobs.text.completeness import some_of
from jobs.text.progress import Progress
from jobs.verify.job import replay_checks


@dataclass(frozen=True)
class StagedLogs(Staged):
    """Client logs, staged for days that the lake has.

    Attributes:
        cluster: of the lines, from the settings: a log does not have it.
        with_sends: the days that can be replayed.
    """

    cluster: str = ""
    with_sends: tuple[Day, ...] = ()

    def days(self, dates: Sequence[dt.date], default: str) -> list[Day]:
        """The days with sends, of any days and clusters that the lines have."""
        return [day for day in self.with_sends if day.date in dates] or super().days(dates, default)

    def warnings(self, now: dt.datetime, settings: Settings) -> list[str]:  # noqa: ARG002 - of some inputs
        """A sentence about logs without a line of the days, in the cluster of the settings."""
        of_days = {file.file for day in self.with_sends for file in self.log_files(day)}
        others = [file.file for source in self.inputs for file in source.log_files if file.file not in of_days]
        where = f"of these days in cluster {self.cluster!r}"
        return [f"client logs: no line of {some_of(others)} is {where}"] if others else []

    def clusters(self, date: dt.date | None = None) -> list[str]:
        """The cluster of the lines, good or bad, on a day with sends."""
        return [self.cluster] if date in (None, *(day.date for day in self.with_sends)) else []


def run_verify(
    spark: SparkSession, settings: Settings, run: Run, progress: Progress, *, cluster: str | None = None
) -> RunResult:
    """Compare the run's days and publish how well they agree.

    Args:
        spark: the session.
        settings: all settings; lines of client logs get their cluster.
        run: has the days.
        progress: says each step.
        cluster: the only one whose days are compared; None = each that has sends.

    Raises:
        InputMissingError: a day has no sends in the lake, or clients wrote nothing.
        FaultlineError: another of its subclasses; a FAILED row is logged, the days' rows stay as they are.
    """
    lake = Lake(spark, settings.lake)
    with_sends = tuple(days_with_sends(lake, run.days, cluster))
    _check_written(lake, settings, with_sends)

    def stage(spark: SparkSession, settings: Settings, _: object, folder: str) -> StagedLogs:
        logs = stage_fault_item_logs(spark, settings, folder)
        return StagedLogs(logs.inputs, cluster=settings.cluster, with_sends=with_sends)

    flow = Flow(
        name=VERIFY,
        reads="client logs",
        derives="comparing with the replay",
        sources=(FAULT_ITEM_LOGS,),
        published=(),
        derived=(REPLAY_CHECKS,),
        carried=(),
        stage=stage,
        derive=_derive,
    )
    return run_flow(flow, spark, settings, replace(run, allow_empty=True), progress)


def _check_written(lake: Lake, settings: Settings, days: Sequence[Day]) -> None:
    """Refuse a run that has nothing to compare with.

    Raises:
        InputMissingError: no client recorded its decisions, and there are no client logs.
    """
    if settings.inputs.client_logs.path:
        return
    clusters, dates = ({day.cluster for day in days}, sorted({day.date for day in days}))
    if lake.read_days(FAULT_ITEM_UPDATES, clusters, dates).isEmpty():
        raise InputMissingError(
            f"nothing to compare with: lake {lake.root} has no fault item updates of {dates[0]} to {dates[-1]}, and no"
            " client log is given; publish the days with --fault-item-updates, or give --client-logs of clients from"
            " 5.1.4 on"
        )


def _derive(context: RunContext, day: Day, _: Opening, staged: StagedLogs | None) -> Mapping[str, DataFrame]:
    """Rows of `replay_checks` of the day."""

    def of_day(table: Table, of: Day = day) -> DataFrame:
        return context.lake.read_day(table, of.cluster, of.date)

    logs = staged.inputs[0].lines.where(F.col("cluster") == F.lit(day.cluster)) if staged and staged.inputs else None
    opening = of_day(FAULT_ITEM_STATE, day.before).drop("event_date")
    checks = replay_checks(
        DayOfProducers(of_day(SENDS), opening, of_day(TOPIC_BROKERS)),
        day,
        context.settings,
        context.materializer(day),
        isolations=of_day(ISOLATION_INTERVALS),
        updates=of_day(FAULT_ITEM_UPDATES),
        log_lines=no_rows(context.spark, LOG_LINES) if logs is None else logs,
    )
    return {REPLAY_CHECKS.name: checks.withColumn("run_id", F.lit(context.run.run_id))}
