"""The record of a run: what was asked, what was done to each day, and the run log that remembers it."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from jobs.errors import FaultlineError
from jobs.lake.tables_io import Lake, explained
from jobs.settings.model import Settings
from jobs.sources.staged import Counts
from jobs.spark.failures import failure, root_cause
from jobs.tables import RUN_LOG, Table
from jobs.tables.day import Day
from jobs.text.redaction import redacted, secrets_of

FAULT_LATENCY, ALLOCATION = "FAULT_LATENCY", "ALLOCATION"


@dataclass(frozen=True)
class Run:
    """One call of a command.

    Attributes:
        run_id: unique; in every run log row and commit.
        command: as the user called it.
        days: the UTC days asked for, ascending.
        allow_empty: a day without a line is published as an empty day.
        cascade: recompute the published days after a day whose closing state changed.
        clock: tells the time for the run log and the lock's lease.
        break_lock: take the lake even from a run that holds it.
    """

    run_id: str
    command: str
    days: tuple[dt.date, ...]
    allow_empty: bool
    cascade: bool
    clock: Callable[[], dt.datetime]
    break_lock: bool = False


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
    """What a run did.

    Attributes:
        cascading: the later day that was recomputed last, or is just being.
    """

    run: Run
    days: list[DayResult] = field(default_factory=list)
    other_days: dict[dt.date, int] = field(default_factory=dict)
    clusters: list[str] = field(default_factory=list)
    hidden_files: tuple[str, ...] = ()
    repeated_files: tuple[str, ...] = ()
    stale_days: list[dt.date] = field(default_factory=list)
    cascading: Day | None = None

    def rows(self, lake: Lake, table: Table) -> DataFrame:
        """What the table holds of the asked days, in the clusters of the input."""
        clusters = [F.lit(cluster) for cluster in self.clusters]
        asked = [F.lit(day) for day in self.run.days]
        return lake.read(table).where(F.col("cluster").isin(*clusters) & F.col("event_date").isin(*asked))


def events(lake: Lake) -> DataFrame:
    """The run log with `event_order`, by which the latest event is the greatest; an earlier release's come first."""
    log = lake.read(RUN_LOG)
    seq = F.col("event_seq") if "event_seq" in log.columns else F.lit(None).cast("bigint")
    return log.withColumn("event_order", F.struct(seq, "logged_at", "run_id"))


def published_openings(lake: Lake, flow: str, cluster: str) -> dict[dt.date, tuple[str, str]]:
    """Each published day with where it started from and the hash of that state, as its latest success says."""
    of_flow = (F.col("flow") == flow) & (F.col("cluster") == F.lit(cluster))
    succeeded = events(lake).where((F.col("status") == "SUCCEEDED") & of_flow)
    latest = succeeded.groupBy("event_date").agg(
        F.max_by(F.struct("started_from", "opening_state"), "event_order").alias("start")
    )
    return {
        row["event_date"]: (row["start"]["started_from"], row["start"]["opening_state"]) for row in latest.collect()
    }


def log_run(
    spark: SparkSession,
    lake: Lake,
    run: Run,
    flow: str,
    days: list[Day],
    status: str,
    settings: Settings,
    *,
    done: DayResult | None = None,
    message: str | None = None,
) -> None:
    """Append one event per day to the run log; each call's come after all before, as the table's versions do."""
    counts = asdict(done.counts) if done and done.counts else dict.fromkeys(Counts.__dataclass_fields__)
    command = "cascade" if done and done.cascaded else run.command
    values = {
        **counts,
        "run_id": run.run_id,
        "command": command,
        "flow": flow,
        "status": status,
        "logged_at": run.clock(),
        "event_seq": _next_seq(lake),
        "started_from": done.started_from if done else None,
        "opening_state": done.opening_state if done else None,
        "closing_state": done.closing_state if done else None,
        "table_versions": json.dumps(done.table_versions, sort_keys=True) if done else None,
        "settings_hash": settings.content_hash(),
        "code_version": code_version(),
        "message": redacted(message, secrets_of({**os.environ, **settings.spark})) if message else None,
    }
    names = RUN_LOG.schema.fieldNames()
    rows = [Row(**{**values, "event_date": day.date, "cluster": day.cluster}) for day in days]
    if rows:
        ordered = [tuple(row[name] for name in names) for row in rows]
        lake.append(RUN_LOG, spark.createDataFrame(ordered, RUN_LOG.schema))


def _next_seq(lake: Lake) -> int:
    """The version that the next commit to the run log makes; two runs share one only where none is held."""
    with explained(f"cannot read table {RUN_LOG.name} in {lake.root}"):
        return int(lake.newest(RUN_LOG).version()) + 1


def run_metadata(run: Run, settings: Settings) -> dict[str, str]:
    """What every commit of the run carries."""
    return {"run_id": run.run_id, "code_version": code_version(), "settings_hash": settings.content_hash()}


def failure_text(error: BaseException, lake: str) -> str:
    """The error in one sentence, for the run log: the one that the command ends with."""
    meant = failure(error, lake) if isinstance(error, (Py4JError, PySparkException)) else None
    told = meant or error
    return str(told) if isinstance(told, FaultlineError) else root_cause(told)


def code_version() -> str:
    """Version of the installed program; `unknown` when it runs from a zip."""
    try:
        return version("faultline")
    except PackageNotFoundError:
        return "unknown"
