"""Small lakes for tests, written by delta-rs from the tables' own schemas: no Spark, milliseconds each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from jobs.tables import RUN_LOG, Table

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
ARROW = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "array<string>": pa.list_(pa.field("element", pa.string(), nullable=False)),
    "array<bigint>": pa.list_(pa.field("element", pa.int64(), nullable=False)),
}
PLAIN = {"string": "", "array<bigint>": [], "bigint": 0, "int": 0, "double": 0.5, "boolean": False, "array<string>": []}

Row = Mapping[str, Any]


def write_rows(
    lake: Path, table: Table, rows: Iterable[Row], *, leave_out: tuple[str, ...] = (), version: int = 0
) -> None:
    """Add rows; what a row does not say is null where that is allowed, else plain; `…_at` follows `…_ms`.

    Args:
        lake: the lake's folder.
        table: the table.
        rows: each with at least `event_date` and `cluster`.
        leave_out: columns that an older lake lacks.
        version: another version than the table's.
    """
    fields = [field for field in table.columns if field.name not in leave_out]
    schema = pa.schema([pa.field(each.name, ARROW[each.dataType.simpleString()], each.nullable) for each in fields])
    filled = [{field.name: _value(row, field) for field in fields} for row in rows]
    DeltaTable.create(
        str(lake / table.name),
        schema,
        mode="ignore",
        partition_by=["event_date"],
        configuration={"faultline.tableVersion": str(version or table.version)},
        raise_if_key_not_exists=False,
    )
    write_deltalake(str(lake / table.name), pa.Table.from_pylist(filled, schema), mode="append")


def publish(lake: Path, *days: dt.date, cluster: str = "main", flow: str = "FAULT_LATENCY") -> None:
    """Say in the run log that the days were published."""
    rows = [
        {"event_date": day, "cluster": cluster, "flow": flow, "status": status, "run_id": "r1", "logged_at": EPOCH}
        for day in days
        for status in ("STARTED", "SUCCEEDED")
    ]
    write_rows(lake, RUN_LOG, rows)


def _value(row: Row, field: Any) -> object:
    if field.name in row:
        return row[field.name]
    millis = row.get(f"{field.name.removesuffix('_at')}_ms") if field.name.endswith("_at") else None
    if isinstance(millis, int):
        return EPOCH + dt.timedelta(milliseconds=millis)
    if field.nullable:
        return None
    return EPOCH if field.dataType.simpleString() == "timestamp" else PLAIN[field.dataType.simpleString()]
