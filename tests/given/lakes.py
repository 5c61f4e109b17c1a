"""Lakes of literal rows, written by delta-rs from the tables' own schemas: no Spark, milliseconds each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, Schema, write_deltalake
from pyspark.sql.types import ArrayType, StructField

from jobs.serving.duckdb_file import export_duckdb
from jobs.tables import ISOLATION_INTERVALS, RUN_LOG, TABLES, Table

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
Row = Mapping[str, Any]
_PLAIN = {"string": "", "bigint": 0, "int": 0, "double": 0.5, "boolean": False, "timestamp": EPOCH}


class LiteralLake:
    """Every published table with its own schema and comments, and the rows that a test writes into them."""

    def __init__(self, folder: Path, tables: Iterable[Table] = TABLES) -> None:
        self.folder = folder
        for table in tables:
            _table(folder, table)

    def add(self, name: str, day: dt.date, *rows: Row) -> None:
        """Append rows of the day."""
        (table,) = (each for each in TABLES if each.name == name)
        write_rows(self.folder, table, [{"event_date": day, **row} for row in rows])


def write_rows(lake: Path, table: Table, rows: Iterable[Row], *, version: int = 0) -> None:
    """Add rows, and the table if it is not there; `…_at` follows `…_ms`.

    Args:
        lake: the lake's folder.
        table: the table.
        rows: each with at least `event_date`; what else it does not say is cluster `main`, null where that is allowed,
            or plain.
        version: another version than the table's.
    """
    stored = _table(lake, table, version)
    schema = pa.schema(stored.schema().to_arrow())
    if table is ISOLATION_INTERVALS:  # counts to its end
        rows = [{"counted_until_ms": row.get("end_ms", 0), **row} for row in rows]
    filled = [{field.name: _value(row, field, table) for field in table.columns} for row in rows]
    write_deltalake(stored, pa.Table.from_pylist(filled, schema), mode="append")


def publish(
    lake: Path, *days: dt.date, cluster: str = "main", flow: str = "FAULT_LATENCY", started_from: str | None = None
) -> None:
    """Say in the run log that the days were published."""
    row = {"cluster": cluster, "flow": flow, "run_id": "r1", "logged_at": EPOCH, "started_from": started_from}
    rows = [{**row, "event_date": day, "status": status} for day in days for status in ("STARTED", "SUCCEEDED")]
    write_rows(lake, RUN_LOG, rows)


def in_duckdb(lake: Path) -> duckdb.DuckDBPyConnection:
    """The lake as `export duckdb` leaves it, opened to be read; the file stays beside the lake."""
    file = lake.with_name(f"{lake.name}.duckdb")
    export_duckdb(str(lake), file)
    return duckdb.connect(file, read_only=True)


def _table(lake: Path, table: Table, version: int = 0) -> DeltaTable:
    return DeltaTable.create(
        str(lake / table.name),
        Schema.from_json(table.schema.json()),
        mode="ignore",
        partition_by=["event_date"],
        description=table.grain,
        configuration={"faultline.tableVersion": str(version or table.version)},
        raise_if_key_not_exists=False,
    )


def _value(row: Row, field: StructField, table: Table) -> object:
    if field.name in row:
        return row[field.name]
    millis = row.get(f"{field.name.removesuffix('_at')}_ms") if field.name.endswith("_at") else None
    if isinstance(millis, int):
        return EPOCH + dt.timedelta(milliseconds=millis)
    if field.name == "cluster":
        return "main"
    return None if field.nullable else _plain(field, table)


def _plain(field: StructField, table: Table) -> object:
    if isinstance(field.dataType, ArrayType):
        return []
    if field.name in table.closed_lists:
        return table.closed_lists[field.name][0]
    return _PLAIN[field.dataType.simpleString()]
