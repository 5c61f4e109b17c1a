"""State at midnight: a day starts from the day before's, and later days follow when it changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from jobs.lake.commits import Commit
from jobs.lake.tables_io import Lake
from jobs.runs.context import RunContext
from jobs.runs.flow import Flow, Opening, S
from jobs.runs.run_log import published_days
from jobs.tables import Table
from jobs.tables.day import Day

_APART = ("event_date", "start_ms", "start_at")  # a state is what is valid, not since when
_OF_NO_ROWS = "0:0"


def opening_of(flow: Flow[S], context: RunContext, day: Day) -> Opening:
    """State that the day starts from, as the day before left it; a flow that carries nothing starts from nothing."""
    is_known = day.before in published_days(context, flow.name)
    rows = {table.name: _at_end(context.lake, table, day.before).where(F.lit(is_known)) for table in flow.carried}
    if not is_known or not rows:
        return Opening(is_known, rows, _OF_NO_ROWS)
    return Opening(is_known, rows, context.closings.get(day.before) or _hash(list(rows.values())))


class ClosingState:
    """Hash of what a day leaves to the next, taken from its rows while they are written."""

    def __init__(self, flow: Flow[S], lake: Lake, day: Day) -> None:
        """Nothing is written yet."""
        self._lake, self._day = lake, day
        self._written = {table.name: Observation() for table in flow.carried}

    def watched(self, table: Table, rows: DataFrame) -> DataFrame:
        """The rows, to be written to the table in the place of the day's."""
        if table.name not in self._written:
            return rows
        columns = self._lake.read(table).columns  # in the order in which the next day finds them
        return rows.observe(self._written[table.name], *_sums(columns, _holds_at_end(columns, self._day)))

    def state(self, commits: Sequence[Commit]) -> str:
        """The hash, when the tables are written; of a commit without rows nothing may have been."""
        with_rows = {commit.table for commit in commits if commit.rows}
        sums = [observation.get for name, observation in self._written.items() if name in with_rows]
        return _text(sum(totals["rows"] for totals in sums), sum(totals["sum"] or 0 for totals in sums))


def _holds_at_end(columns: Sequence[str], day: Day) -> Column:
    """Whether a row of the day holds at 24:00; a table of states has no others."""
    return F.col("end_ms") == F.lit(day.end_ms) if "end_ms" in columns else F.lit(True)


def _at_end(lake: Lake, table: Table, day: Day) -> DataFrame:
    """Rows of the day that hold at 24:00."""
    rows = lake.read_day(table, day.cluster, day.date)
    return rows.where(_holds_at_end(rows.columns, day))


def _hash(states: Sequence[DataFrame]) -> str:
    """Hash of all rows, in any order: equal states have equal hashes."""
    sums = [state.agg(*_sums(state.columns, F.lit(True))) for state in states]
    found = reduce(DataFrame.unionByName, sums).agg(F.sum("rows").alias("rows"), F.sum("sum").alias("sum")).first()
    return _text(found["rows"], found["sum"] or 0) if found else _OF_NO_ROWS


def _sums(columns: Sequence[str], is_of_state: Column) -> tuple[Column, Column]:
    """Number of the rows of a state, and the sum of their hashes; null for no rows."""
    row = F.struct(*(name for name in columns if name not in _APART))
    hashed = F.xxhash64(F.to_json(row, {"ignoreNullFields": "false"})).cast("decimal(38,0)")
    return F.count_if(is_of_state).alias("rows"), F.sum(F.when(is_of_state, hashed)).alias("sum")


def _text(rows: int, total: int) -> str:
    return f"{rows}:{total}"
