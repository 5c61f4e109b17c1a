"""`faultline export duckdb`: a lake as one DuckDB file, with tables, views, functions and their comments."""

from __future__ import annotations

import datetime as dt
import fcntl
import glob
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.arrow_type import arrow_type
from jobs.answers.delta_table import NO_OPTIONS, Options, opened
from jobs.answers.published import check_tables, published_days
from jobs.errors import InputMissingError, UsageError
from jobs.serving.functions import duckdb_functions
from jobs.serving.views import VIEWS, read_view
from jobs.tables import RUN_LOG, TABLES, Table
from jobs.text.terminal import counted

_HOW: dict[str, Any] = {"storage_compatibility_version": "v1.0.0", "memory_limit": "1GB"}
"""The format is an old one, so that DuckDB before 2.0 reads the file, too; its functions need 1.3."""


def export_duckdb(
    root: str,
    file: Path,
    since: dt.date | None = None,
    options: Options = NO_OPTIONS,
    *,
    most_days: int | None = None,
) -> str:
    """Write the file and return a sentence that says what is in it.

    A table that the lake lacks is empty. The file is made beside its place and renamed: a reader sees the old one or
    the new one.

    Args:
        root: folder or URI of the lake.
        file: what to write; another DuckDB file of that name is replaced.
        since: first day; None = all.
        options: for delta-rs.
        most_days: only so many days, up to the lake's last one; None = all since that day.

    Raises:
        UsageError: the file cannot be written, or one of that name is not DuckDB's or is being written to.
        InputMissingError: no day is published, or none since that day.
        LakeError: there is no lake, a table cannot be read, or is of another version.
    """
    started = time.monotonic()
    days = sorted({day for of_cluster in published_days(root, options).values() for day in of_cluster})
    check_tables(root, options)
    if most_days:
        since = days[-1] - dt.timedelta(most_days - 1)
    if since and days[-1] < since:
        raise InputMissingError(f"nothing is published since {since} in {root}; the last day there is {days[-1]}")
    try:
        _check_replaceable(file)
        place = file.resolve()  # what a link points to is replaced, not the link
        with TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as folder:
            _clear(place, Path(folder).stat().st_mtime)
            unfinished = Path(folder, "lake.duckdb")
            with duckdb.connect(unfinished, config=_HOW) as connection:
                connection.begin()
                # the log first: what it says is published is in the tables that are read after it
                tables = sorted(TABLES, key=lambda table: table is not RUN_LOG)
                rows = sum(_copy(connection, root, table, since, options) for table in tables)
                define(connection)
                connection.commit()
                connection.execute("CHECKPOINT")  # closing would, too, but hide that the disk is full
            size = unfinished.stat().st_size
            _check_replaceable(file)  # again: somebody may have opened it meanwhile
            if place.exists():
                shutil.copymode(place, unfinished)
            unfinished.replace(place)
    except (OSError, duckdb.Error) as error:
        why = (isinstance(error, OSError) and error.strerror) or f"{error}".partition("\n")[0]
        is_place = isinstance(error, OSError | duckdb.IOException)
        fix = "name a file in a folder that takes it" if is_place else "leave days out with --since"
        raise UsageError(f"{file} cannot be written: {why}; {fix}") from error
    return (
        f"wrote {file} ({size / 1e6:.1f} MB): {len(TABLES)} tables, {len(VIEWS)} views, {counted(rows, 'row')} of"
        f" {next(day for day in days if since is None or day >= since)} to {days[-1]}, in"
        f" {time.monotonic() - started:.1f} s"
    )


def _check_replaceable(file: Path) -> None:
    if not file.exists():
        return
    with file.open("rb") as old:
        if old.read(12)[8:] != b"DUCK":
            raise UsageError(f"{file} is there and no DuckDB file; name another, or delete it")
        try:
            fcntl.lockf(old, fcntl.LOCK_SH | fcntl.LOCK_NB)  # DuckDB locks what it may write to
        except (BlockingIOError, PermissionError) as error:
            raise UsageError(
                f"{file} is open for writing in another program; close it there, and open it read_only"
            ) from error
    log = file.with_name(f"{file.name}.wal")
    if log.exists():  # DuckDB would refuse the new file beside it
        raise UsageError(f"{file} is being written to, as {log.name} says; close what does that, or delete {log.name}")


def _clear(file: Path, now_s: float) -> None:
    """Delete what exports that were killed a day ago or earlier have left beside the file."""
    for left in file.parent.glob(f".{glob.escape(file.name)}-*"):
        if now_s - left.stat().st_mtime > 86_400:
            shutil.rmtree(left, ignore_errors=True)


def _copy(
    connection: duckdb.DuckDBPyConnection, root: str, table: Table, since: dt.date | None, options: Options
) -> int:
    """Copy a table batch by batch, and return its number of rows; instants lose their zone, which is UTC."""
    schema, rows = create_table(connection, table), 0
    wanted = None if since is None else pc.field("event_date") >= pc.scalar(since)
    with opened(root, table, options) as lake_table:
        for batch in lake_table.to_batches(
            columns=schema.names, filter=wanted, batch_readahead=1, fragment_readahead=1
        ):
            connection.from_arrow(batch.cast(schema)).insert_into(table.name)
            rows += batch.num_rows
    return rows


def create_table(connection: duckdb.DuckDBPyConnection, table: Table) -> pa.Schema:
    """Create the table without rows, and return its schema."""
    schema = pa.schema([(field.name, arrow_type(field.dataType, None)) for field in table.columns])
    connection.from_arrow(schema.empty_table()).create(table.name)
    return schema


def define(connection: duckdb.DuckDBPyConnection) -> None:
    """Views, functions, and the comments of everything; the tables are there."""
    for table in TABLES:
        _comment(connection, f"TABLE {table.name}", table.grain)
        for field in table.columns:
            _comment(connection, f"COLUMN {table.name}.{field.name}", field.metadata["comment"])
    for view in map(read_view, VIEWS):
        connection.execute(f"CREATE VIEW {view.name} AS {view.select}")
        _comment(connection, f"VIEW {view.name}", view.question)
        for name, meaning in view.columns.items():
            _comment(connection, f"COLUMN {view.name}.{name}", meaning)
    for head, (gives, body) in duckdb_functions().items():
        connection.execute(f"CREATE MACRO {head} AS {body}")
        _comment(connection, f"MACRO {head.partition('(')[0]}", gives)


def _comment(connection: duckdb.DuckDBPyConnection, what: str, text: str) -> None:
    quoted = text.replace("'", "''")
    connection.execute(f"COMMENT ON {what} IS '{quoted}'")
