"""Runs the second flow: consumer snapshots → queue allocation tables."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from jobs.allocation.job import allocation
from jobs.runs.context import RunContext
from jobs.runs.flow import Flow, Opening
from jobs.runs.flow_tables import FLOW_TABLES
from jobs.runs.run import Run, RunResult
from jobs.runs.run_log import ALLOCATION
from jobs.runs.runner import run_flow
from jobs.settings.model import Settings
from jobs.sources.client_log import CLIENT_LOGS, SCHEMA
from jobs.sources.snapshots import KINDS
from jobs.sources.staged import Staged
from jobs.sources.staging import stage_snapshots
from jobs.spark.no_rows import no_rows
from jobs.tables import GROUP_MEMBERS, QUEUE_ALLOCATION, QUEUE_OWNERSHIP, TOPIC_QUEUES, named
from jobs.tables.day import Day
from jobs.text.progress import Progress

_TABLES = FLOW_TABLES["allocation"]
_SCHEMAS: dict[str, StructType | str] = {
    **{kind.name: StructType([StructField("captured_at_ms", LongType()), *kind.fields]) for kind in KINDS},
    CLIENT_LOGS: SCHEMA,
}
"""Columns of each input's published lines."""


def run_allocation(spark: SparkSession, settings: Settings, run: Run, progress: Progress) -> RunResult:
    """Publish the requested days from the snapshots.

    A later published day that started from another closing state is reported in `stale_days`: its snapshots are not in
    the lake, so only a run over them recomputes it.

    Raises:
        FaultlineError: one of its subclasses; a FAILED row is logged, all days but the one under way stay as they are.
    """
    return run_flow(ALLOCATION_FLOW, spark, settings, run, progress)


def _derive(context: RunContext, day: Day, opening: Opening, staged: Staged | None) -> Mapping[str, DataFrame]:
    """Rows of all tables of the flow, from the day's lines and the state at 00:00."""
    lines = {name: _lines(context.spark, staged, name, day) for name in _SCHEMAS}
    return allocation(lines, opening.rows, day, context.settings, context.materializer(day))


def _lines(spark: SparkSession, staged: Staged | None, name: str, day: Day) -> DataFrame:
    lines = staged[name] if staged is not None else None
    return no_rows(spark, _SCHEMAS[name]) if lines is None else lines.published(day)


ALLOCATION_FLOW = Flow(
    name=ALLOCATION,
    reads="snapshots",
    derives="allocating queues",
    sources=tuple(_SCHEMAS),
    published=named(_TABLES.published),
    derived=named(_TABLES.derived),
    carried=(TOPIC_QUEUES, GROUP_MEMBERS, QUEUE_ALLOCATION, QUEUE_OWNERSHIP),
    stage=stage_snapshots,
    derive=_derive,
    needed=_TABLES.needed,
)
