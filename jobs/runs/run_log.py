"""The table `run_log`: what happened to each day, and what a later run reads from it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Row
from pyspark.sql import functions as F

from jobs.errors import FaultlineError
from jobs.lake.explained import explained
from jobs.lake.tables_io import Lake
from jobs.runs.context import RunContext
from jobs.runs.run import DayResult, PublishedDay
from jobs.sources.staged import Counts
from jobs.spark.environment import code_version
from jobs.spark.failures import failure, root_cause
from jobs.tables import RUN_LOG
from jobs.tables.day import Day
from jobs.tables.run_log import LOG_FILE
from jobs.text.redaction import redacted, secrets_of

FAULT_LATENCY, ALLOCATION, VERIFY = "FAULT_LATENCY", "ALLOCATION", "VERIFY"
_CASCADE = "cascade"


def known_days(context: RunContext, flow: str) -> dict[Day, PublishedDay]:
    """`logged_days`, read once: in a lake that is held no other run publishes a day."""
    if flow not in context.published:
        context.published[flow] = logged_days(context.lake, flow)
    return context.published[flow]


def logged_days(lake: Lake, flow: str) -> dict[Day, PublishedDay]:
    """The published days of the flow, in every cluster."""
    log = lake.read(RUN_LOG).where(F.col("flow") == flow)
    event_order = F.struct("event_seq", "logged_at", "run_id")  # the latest event is the greatest
    what = F.struct(
        "started_from",
        "opening_state",
        F.col("settings_hash").alias("settings"),
        F.col("input_settings_hash").alias("input_settings"),
        "closing_state",
    )
    succeeded = F.when(F.col("status") == "SUCCEEDED", event_order)
    counted = F.when(F.col("rows_published").isNotNull(), succeeded)  # a recompute reads no line
    cascaded = F.when(F.col("command") == _CASCADE, event_order)
    latest = (
        log.groupBy("event_date", "cluster")
        .agg(
            F.max_by(what, succeeded).alias("what"),
            F.max_by("rows_published", counted).alias("lines"),
            F.coalesce(F.max(cascaded) > F.max(succeeded), F.lit(False)).alias("is_broken_off"),
        )
        .where(F.col("what").isNotNull())
    )
    return {
        Day(date, cluster): PublishedDay(**made.asDict(), lines=lines, is_broken_off=is_broken_off)
        for date, cluster, made, lines, is_broken_off in latest.collect()
    }


def log_run(
    context: RunContext,
    flow: str,
    days: Sequence[Day],
    status: str,
    *,
    done: DayResult | None = None,
    message: str | None = None,
    cascading: Day | None = None,
) -> None:
    """Append one event per day to the run log; each call's come after all before, as the table's versions do.

    Args:
        context: of the run.
        flow: its name.
        days: what it happened to.
        status: STARTED, SUCCEEDED or FAILED.
        done: result of the day that succeeded.
        message: why it failed, or whose lock was taken.
        cascading: the one of the days, if any, that is recomputed because the day before ends otherwise now.
    """
    run, settings, lake = context.run, context.settings, context.lake
    counts = asdict(done.counts) if done and done.counts else dict.fromkeys(Counts.__dataclass_fields__)
    values = {
        **counts,
        "run_id": run.run_id,
        "flow": flow,
        "status": status,
        "logged_at": run.clock(),
        "event_seq": _next_seq(lake),
        "started_from": done.made.started_from if done else None,
        "opening_state": done.made.opening_state if done else None,
        "closing_state": done.made.closing_state if done else None,
        "table_versions": json.dumps(done.table_versions, sort_keys=True) if done else None,
        "settings_hash": settings.content_hash(flow),
        "input_settings_hash": done.made.input_settings if done else settings.input_hash(flow),
        "code_version": code_version(),
        "client_logs": [Row(**{name: getattr(file, name) for name in LOG_FILE.fieldNames()}) for file in done.log_files]
        or None
        if done
        else None,
        "message": redacted(message, secrets_of({**os.environ, **settings.spark})) if message else None,
    }
    own = run.command
    if done and done.counts is None:  # its lines are the lake's own
        own = _CASCADE if done.cascaded else "recompute"
    rows = [
        values | {"command": _CASCADE if day == cascading else own, "event_date": day.date, "cluster": day.cluster}
        for day in dict.fromkeys(days)
    ]
    if rows:
        ordered = [tuple(row[name] for name in RUN_LOG.schema.fieldNames()) for row in rows]
        lake.append(RUN_LOG, context.spark.createDataFrame(ordered, RUN_LOG.schema))
    if done and flow in context.published:
        context.published[flow][done.day] = done.made


def _next_seq(lake: Lake) -> int:
    """The version that the next commit to the run log makes; two runs share one only where none is held."""
    with explained(f"cannot read table {RUN_LOG.name} in {lake.root}"):
        return int(lake.newest(RUN_LOG).version()) + 1


def failure_text(error: BaseException, lake: str) -> str:
    """The error in one sentence, for the run log: the one that the command ends with."""
    meant = failure(error, lake) if isinstance(error, (Py4JError, PySparkException)) else None
    shown = meant or error
    return str(shown) if isinstance(shown, FaultlineError) else root_cause(shown)
