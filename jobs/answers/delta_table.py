"""One table of a lake, read without Spark.

A table that the lake lacks, as its flow has not run, reads as empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow import dataset
from pyarrow.fs import FileSelector, LocalFileSystem, SubTreeFileSystem

from jobs.answers.arrow_type import arrow_type
from jobs.answers.store import reason_of
from jobs.errors import LakeError
from jobs.tables import RUN_LOG, Table
from jobs.tables.table import VERSION_PROPERTY, broken_log
from jobs.uri import local_folder

Options = Mapping[str, str]
"""Storage options of delta-rs (`jobs.answers.store`); they may hold secrets."""
NO_OPTIONS: Options = MappingProxyType({})


def is_lake(root: str, options: Options = NO_OPTIONS) -> bool:
    """Whether a run wrote there, that is, whether there is a run log.

    Raises:
        LakeError: the location cannot be read.
    """
    return is_table(root, RUN_LOG, options)


def is_table(root: str, table: Table, options: Options = NO_OPTIONS) -> bool:
    """Whether the lake has the table.

    Raises:
        LakeError: the location cannot be read.
    """
    with _explained(f"cannot open lake {root}", options):
        return DeltaTable.is_deltatable(place_of(root, table), dict(options))


def lock_on_store(root: str, options: Options) -> bytes:
    """Content of the newest file of a lake's lock on another store (`jobs.lake.store_lock`); empty if there is none.

    Raises:
        LakeError: it cannot be read.
    """
    with _explained(f"cannot read the lock of {root}", options):
        store = DeltaStorageHandler(f"{root.rstrip('/')}/", dict(options))
        files = store.get_file_info_selector(FileSelector("_lock", allow_not_found=True))
        newest = max((file.path for file in files if file.base_name.isdecimal()), default=None)
        if newest is None:
            return b""
        with store.open_input_file(newest) as file:
            return bytes(file.read())


def rows_of(
    root: str, table: Table, columns: Sequence[str], where: pc.Expression, options: Options = NO_OPTIONS
) -> pa.Table:
    """The rows of a table of the lake, in no order; no rows when the lake lacks it.

    Args:
        root: folder or URI of the lake.
        table: what to read.
        columns: what to read of it.
        where: which rows.
        options: for delta-rs.

    Raises:
        LakeError: the table has another version than this program knows, or cannot be read.
    """
    with opened(root, table, options) as rows:
        return rows.to_table(columns=list(columns), filter=where)


@contextmanager
def opened(root: str, table: Table, options: Options = NO_OPTIONS) -> Iterator[dataset.Dataset]:
    """The table; without rows if the lake lacks it.

    Raises:
        LakeError: it has another version than this program knows, or cannot be read.
    """
    place = place_of(root, table)
    folder = local_folder(place)
    with _explained(f"cannot read table {table.name} in {root}", options):
        if folder and (problem := broken_log(folder)):
            raise LakeError(
                f"table {table.name} in {root}: {problem}; if it is the last commit, delete it and run its day again,"
                " else restore the table from a copy"
            )
        try:
            found = DeltaTable(place, storage_options=dict(options))
        except TableNotFoundError:
            schema = pa.schema([(field.name, arrow_type(field.dataType)) for field in table.columns])
            yield dataset.dataset(schema.empty_table())
            return
        version = found.metadata().configuration.get(VERSION_PROPERTY)
        if version != str(table.version):
            raise LakeError(
                f"table {table.name} in {root} has version {version}, this program reads {table.version};"
                " use the program that made it, or another --lake"
            )
        yield found.to_pyarrow_dataset(filesystem=_filesystem(place))


@contextmanager
def _explained(what: str, options: Options) -> Iterator[None]:
    """Within the block, errors of delta-rs, Arrow and the file system become a LakeError that begins with `what`."""
    try:
        yield
    except (DeltaError, pa.ArrowException, OSError) as error:
        raise LakeError(f"{what}: {reason_of(error, options)}") from error


def _filesystem(place: str) -> SubTreeFileSystem | None:
    """Arrow's own file system for a local table; None leaves another store to delta-rs.

    That of delta-rs calls Python from Arrow's threads, and a call still running when Python exits aborts the process.
    """
    return None if "://" in place else SubTreeFileSystem(place, LocalFileSystem())


def place_of(root: str, table: Table) -> str:
    """Folder or URI of a table of the lake."""
    return f"{local_folder(root) or root.rstrip('/')}/{table.name}"
