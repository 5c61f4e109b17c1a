"""Whether two programs published the same rows of the first flow, whatever the format and the order."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import deltalake
import duckdb

from bench.peers.duckdb_night import FIELDS

_LONG = "BIGINT"
_ISOLATIONS = {
    "cluster": "VARCHAR", "client_id": "VARCHAR", "producer_group": "VARCHAR", "broker_name": "VARCHAR",
    "start_ms": _LONG, "end_ms": _LONG, "ended_by": "VARCHAR", "enforced": "BOOLEAN",
}  # fmt: skip
_WINDOWS = {
    "cluster": "VARCHAR", "broker_name": "VARCHAR", "window_start_ms": _LONG, "sends": _LONG, "failures": _LONG,
    "latency_p50_ms": _LONG, "latency_p95_ms": _LONG, "latency_p99_ms": _LONG, "latency_max_ms": _LONG,
    "producers": _LONG, "isolating_producers": _LONG, "isolated_ms": _LONG,
}  # fmt: skip
COMPARED: Mapping[str, Mapping[str, str]] = {
    "sends": {"event_date": "DATE", **FIELDS},
    "isolation_intervals": _ISOLATIONS,
    "broker_windows": _WINDOWS,
}
"""Table → the columns that all programs have, with their types."""

# What only another order of writes within a millisecond holds isolated has no length; the peers keep no such band.
_LEFT_OUT = {"isolation_intervals": "end_ms = start_ms"}
_WITHOUT_SORTING = {"sends"}  # too many rows for EXCEPT ALL: their number and the sum of their hashes instead


def check_same_rows(
    ours: Path, theirs: Path, tables: Iterable[str] = tuple(COMPARED), *, where: str = "true"
) -> dict[str, int]:
    """How many rows of each table both have.

    Args:
        ours: a folder with a Delta table, or Parquet, per table.
        theirs: the same.
        tables: which to compare.
        where: which of their rows, in SQL.

    Raises:
        RuntimeError: a row that only one of them has, or a table without a row.
    """
    with tempfile.TemporaryDirectory() as spilled, duckdb.connect(config={"temp_directory": spilled}) as database:
        return {table: _same(database, table, ours / table, theirs / table, where) for table in tables}


def _same(database: duckdb.DuckDBPyConnection, table: str, ours: Path, theirs: Path, where: str) -> int:
    columns = ", ".join(f"{name}::{kind} AS {name}" for name, kind in COMPARED[table].items())
    for side, place in (("ours", ours), ("theirs", theirs)):
        rows = f"SELECT {columns} FROM {_source(place)} WHERE ({where}) AND NOT ({_LEFT_OUT.get(table, 'false')})"
        database.execute(f"CREATE OR REPLACE TEMP VIEW {side} AS {rows}")
    if table in _WITHOUT_SORTING:
        return _same_hashes(database, table)
    query = """
        SELECT (SELECT count(*) FROM ours), (SELECT count(*) FROM (FROM ours EXCEPT ALL FROM theirs)),
               (SELECT count(*) FROM (FROM theirs EXCEPT ALL FROM ours))
    """
    rows, only_ours, only_theirs = database.execute(query).fetchone() or (0, 0, 0)
    if only_ours or only_theirs or not rows:
        raise RuntimeError(f"{table} differs: of {rows} rows {only_ours} are only ours, {only_theirs} only the peer's")
    return int(rows)


def _same_hashes(database: duckdb.DuckDBPyConnection, table: str) -> int:
    """Rows in another order have the same number and sums: of the hash of the whole row, and of each column's."""
    whole = ", ".join(COMPARED[table])
    sums = ", ".join(f"sum(hash({name}))" for name in COMPARED[table])
    told = [
        database.execute(f"SELECT count(*), sum(hash({whole})), {sums} FROM {side}").fetchone() or ()
        for side in ("ours", "theirs")
    ]
    if told[0] != told[1] or not told[0][0]:
        names = ("number of rows", "rows", *COMPARED[table])
        differ = [name for name, mine, other in zip(names, *told, strict=True) if mine != other]
        raise RuntimeError(f"{table} differs in {', '.join(differ)}; we have {told[0][0]} rows, the peer {told[1][0]}")
    return int(told[0][0])


def _source(place: Path) -> str:
    """What DuckDB reads the table from; a Delta table by the files of its newest version."""
    if (place / "_delta_log").is_dir():
        return f"read_parquet({deltalake.DeltaTable(str(place)).file_uris()!r}, hive_partitioning = true)"
    single = place.with_suffix(".parquet")
    return f"read_parquet('{single if single.is_file() else place / '**' / '*.parquet'}')"
