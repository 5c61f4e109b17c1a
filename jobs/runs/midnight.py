"""State at midnight: a day starts from the day before's, and later days follow when it changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.lake.tables_io import Lake
from jobs.runs.context import RunContext
from jobs.runs.flow import Flow, Opening, S
from jobs.runs.run_log import published_openings
from jobs.tables import Table
from jobs.tables.day import Day

_APART = ("event_date", "start_ms", "start_at")  # a state is what is valid, not since when
_OF_NO_ROWS = "0:0"


def opening_of(flow: Flow[S], context: RunContext, day: Day) -> Opening:
    """State that the day starts from, as the day before left it."""
    is_known = day.before.date in published_openings(context, flow.name, day.cluster)
    rows = {table.name: _at_end(context.lake, table, day.before).where(F.lit(is_known)) for table in flow.carried}
    return Opening(is_known, rows, _hash(list(rows.values())) if is_known else _OF_NO_ROWS)


def closing_state(flow: Flow[S], lake: Lake, day: Day) -> str:
    """Hash of what the published day leaves to the next."""
    return _hash([_at_end(lake, table, day) for table in flow.carried])


def _at_end(lake: Lake, table: Table, day: Day) -> DataFrame:
    """Rows of the day that hold at 24:00; a table of states has no others."""
    rows = lake.read_day(table, day.cluster, day.date)
    return rows.where(F.col("end_ms") == F.lit(day.end_ms)) if "end_ms" in rows.columns else rows


def _hash(states: Sequence[DataFrame]) -> str:
    """Hash of all rows, in any order: equal states have equal hashes."""
    rows = [state.drop(*_APART) for state in states]
    hashes = [
        each.select(F.xxhash64(F.to_json(F.struct(*each.columns), {"ignoreNullFields": "false"})).alias("hash"))
        for each in rows
    ]
    total = F.sum(F.col("hash").cast("decimal(38,0)"))
    found = reduce(DataFrame.unionByName, hashes).agg(F.count("*").alias("rows"), total.alias("sum")).first()
    return f"{found['rows']}:{found['sum'] or 0}" if found else _OF_NO_ROWS
