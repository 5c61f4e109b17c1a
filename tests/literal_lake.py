"""A lake of literal rows, written without Spark in a moment: for tests of what only reads the tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
from pyspark.sql.types import ArrayType, StructField

from jobs.tables import TABLES, Table

_NEUTRAL = {"string": "", "bigint": 0, "int": 0, "boolean": False, "double": 0.0}


class LiteralLake:
    """Every published table with its own schema and comments, and the rows that a test writes into them."""

    def __init__(self, folder: Path, tables: Iterable[Table] = TABLES) -> None:
        self.folder = folder
        for table in tables:
            deltalake.DeltaTable.create(
                str(folder / table.name),
                deltalake.Schema.from_json(table.schema.json()),
                partition_by=["event_date"],
                description=table.grain,
                configuration={"faultline.tableVersion": str(table.version)},
                raise_if_key_not_exists=False,
            )

    def add(self, name: str, day: dt.date, *rows: dict[str, Any]) -> None:
        """Append rows of the day; columns that a row leaves out are null, or neutral where null cannot be."""
        (table,) = (each for each in TABLES if each.name == name)
        full = [
            {field.name: _value(field, {"event_date": day, **row}, table) for field in table.columns} for row in rows
        ]
        stored = deltalake.DeltaTable(str(self.folder / name))
        schema = pa.schema(stored.schema().to_arrow())
        deltalake.write_deltalake(stored, pa.Table.from_pylist(full, schema=schema), mode="append")


def _value(field: StructField, row: dict[str, Any], table: Table) -> Any:
    if field.name in row:
        return row[field.name]
    as_ms = f"{field.name.removesuffix('_at')}_ms"
    if field.name.endswith("_at") and as_ms in row:
        return dt.datetime.fromtimestamp(row[as_ms] / 1000, dt.UTC)
    if field.name == "cluster":
        return "main"
    return None if field.nullable else _neutral(field, table)


def _neutral(field: StructField, table: Table) -> Any:
    if isinstance(field.dataType, ArrayType):
        return []
    if field.name in table.closed_lists:
        return table.closed_lists[field.name][0]
    if field.dataType.simpleString() == "timestamp":
        return dt.datetime.fromtimestamp(0, dt.UTC)
    return _NEUTRAL[field.dataType.simpleString()]
