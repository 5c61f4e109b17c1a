"""Recomputes published days of any flow from the lake alone; no input is read."""

from __future__ import annotations

import datetime as dt

from pyspark.sql import SparkSession

from jobs.errors import InputMissingError
from jobs.lake.tables_io import Lake
from jobs.runs.context import RunContext
from jobs.runs.flow import Flow, S
from jobs.runs.run import Run, RunResult
from jobs.runs.run_log import known_days, log_run
from jobs.runs.runner import cascade, days_with_other_settings, derive, logging_failure, opened
from jobs.settings.model import Settings
from jobs.tables.day import Day
from jobs.text.progress import Progress


def recompute_days(
    flow: Flow[S], spark: SparkSession, settings: Settings, run: Run, progress: Progress, *, cluster: str | None = None
) -> RunResult:
    """Recompute the requested days from what the lake has of their lines, and every later day whose start changed.

    A day that the lake does not have is left out; one that it can no longer derive stays as it is (`forgotten_days`).

    Args:
        flow: one that can recompute days.
        spark: the session.
        settings: all settings; the input is not read.
        run: has the days.
        progress: says each step.
        cluster: the only one whose days are meant; None = each that has them.

    Raises:
        InputMissingError: none of the days can be recomputed.
        FaultlineError: another of its subclasses; as `run_flow`.
        Interrupted: a signal came; as `run_flow`.
    """
    context = RunContext(spark, Lake(spark, settings.lake), settings, run, progress)
    result = RunResult(run)
    days: list[Day] = []
    with opened(flow, context) as taken_from, logging_failure(flow, context, result, days):
        with progress.step("looking for the days"):
            recomputable, result.forgotten_days = _recomputable(flow, context, cluster)
        days[:] = recomputable
        log_run(context, flow.name, days, "STARTED", message=taken_from)
        result.clusters = sorted({day.cluster for day in days})
        for day in days:
            result.days.append(derive(flow, context, day, None, []))
            if day.after not in days:
                cascade(flow, context, result, days)
    result.other_settings = days_with_other_settings(flow, context, result)
    return result


def _recomputable(flow: Flow[S], context: RunContext, cluster: str | None) -> tuple[list[Day], list[dt.date]]:
    """The requested days that can be derived from the lake, cluster by cluster, and the dates of those that cannot.

    Raises:
        InputMissingError: there is none of the first.
    """
    dates = context.run.days
    published = [day for day in known_days(context, flow.name) if cluster in (None, day.cluster)]
    requested = sorted((day for day in published if day.date in dates), key=lambda day: (day.cluster, day.date))
    if not requested:
        there = f"its days are {min(published).date} to {max(published).date}" if published else "it has none"
        of_cluster = f" of cluster {cluster}" if cluster else ""
        raise InputMissingError(
            f"the lake has no day of {dates[0]} to {dates[-1]}{of_cluster} to recompute; {there}, name one of them"
        )
    recomputable = [day for day in requested if flow.can_recompute(context, day)]
    forgotten = sorted({day.date for day in requested if day not in recomputable})
    if not recomputable:
        raise InputMissingError(
            f"the lake no longer has the lines of {forgotten[0]} to {forgotten[-1]} (retention.sends_days); publish"
            " the days from the input"
        )
    return recomputable, forgotten
