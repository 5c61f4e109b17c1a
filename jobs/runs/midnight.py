"""State at midnight: a day starts from the closing state of the day before; a changed state affects later days."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from jobs.lake.commits import Commit
from jobs.lake.tables_io import Lake
from jobs.runs.context import RunContext
from jobs.runs.flow import Flow, Opening, S
from jobs.runs.run_log import known_days
from jobs.tables import Table
from jobs.tables.day import Day

_APART = ("event_date", "start_ms", "start_at")  # the state is what is valid, not since when
_OF_NO_ROWS = "0:0"


def opening_of(flow: Flow[S], context: RunContext, day: Day) -> Opening:
    """Opening state of the day: the closing state of the day before; empty for a flow that carries nothing."""
    is_known = day.before in known_days(context, flow.name)
    rows = {table.name: _at_end(context.lake, table, day.before).where(F.lit(is_known)) for table in flow.carried}
    if not is_known or not rows:
        return Opening(is_known, rows, _OF_NO_ROWS)
    return Opening(is_known, rows, context.closings.get(day.before) or _hash(list(rows.values())))


class ClosingState:
    """Hash of a day's closing state, computed while its rows are written."""

    def __init__(self, flow: Flow[S], lake: Lake, day: Day) -> None:
        """Start before any table is written."""
        self._lake, self._day = lake, day
        self._written = {table.name: Observation() for table in flow.carried}

    def watched(self, table: Table, rows: DataFrame) -> DataFrame:
        """The rows with an observation; write these to the table."""
        if table.name not in self._written:
            return rows
        columns = self._lake.read(table).columns  # in the order in which the next day reads them
        return rows.observe(self._written[table.name], *_sums(columns, _holds_at_end(columns, self._day)))

    def state(self, commits: Sequence[Commit]) -> str:
        """The hash, after the tables are written; commits without rows may have no observation."""
        with_rows = {commit.table for commit in commits if commit.rows}
        sums = [observation.get for name, observation in self._written.items() if name in with_rows]
        return _text(sum(totals["rows"] for totals in sums), sum(totals["sum"] or 0 for totals in sums))


def _holds_at_end(columns: Sequence[str], day: Day) -> Column:
    """Whether a row of the day is valid at 24:00; always true in state tables."""
    if "end_ms" in columns:
        return F.col("end_ms") == F.lit(day.end_ms)
    return F.col("continues_next_day") if "continues_next_day" in columns else F.lit(True)


def _at_end(lake: Lake, table: Table, day: Day) -> DataFrame:
    """Rows of the day that are valid at 24:00."""
    rows = lake.read_day(table, day.cluster, day.date)
    return rows.where(_holds_at_end(rows.columns, day))


def _hash(states: Sequence[DataFrame]) -> str:
    """Hash of all rows, independent of their order: equal states have equal hashes."""
    sums = [state.agg(*_sums(state.columns, F.lit(True))) for state in states]
    found = reduce(DataFrame.unionByName, sums).agg(F.sum("rows").alias("rows"), F.sum("sum").alias("sum")).first()
    return _text(found["rows"], found["sum"] or 0) if found else _OF_NO_ROWS


def _sums(columns: Sequence[str], is_of_state: Column) -> tuple[Column, Column]:
    """Number of rows of a state, and the sum of their hashes (null without rows)."""
    row = F.struct(*(name for name in columns if name not in _APART))
    hashed = F.xxhash64(F.to_json(row, {"ignoreNullFields": "false"})).cast("decimal(38,0)")
    return F.count_if(is_of_state).alias("rows"), F.sum(F.when(is_of_state, hashed)).alias("sum")


def _text(rows: int, total: int) -> str:
    return f"{rows}:{total}"
