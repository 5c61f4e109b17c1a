"""The published tables, through the package deltalake: each opens, is ours, and has all its files."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem, PyFileSystem, SubTreeFileSystem

from jobs.doctor.check import Check
from jobs.lake.delta_log import LOG, Problem, TableLog
from jobs.tables import RUN_LOG, TABLES, Table
from jobs.tables.table import VERSION_PROPERTY
from jobs.uri import local_folder

_OPENS_WITHOUT_FEATURES = 1
_MOST_OF_A_TABLE = 5
_FORGET = f"{sys.executable} -c \"import deltalake; deltalake.DeltaTable('{{table}}').repair()\""


@dataclass
class _Totals:
    """Consistency of the tables.

    Attributes:
        there: how many tables the lake has.
        files: active data files of all tables.
        size: of these, bytes.
        versions: table to its version.
        published: table to the version that the run log's last success wrote.
    """

    there: int = 0
    files: int = 0
    size: int = 0
    versions: dict[str, int] = field(default_factory=dict)
    published: dict[str, int] = field(default_factory=dict)


def tables(root: str) -> Iterator[Check]:
    """A line per problem, then one for all tables.

    Args:
        root: folder or URI of the lake, without a slash at its end.
    """
    totals = _Totals()
    in_order = (RUN_LOG, *(table for table in TABLES if table != RUN_LOG))  # what is published meanwhile comes after it
    problems = {table.name: _looked_into(_place(root, table), table, totals) for table in in_order}
    for name, problem in _gone_back(totals):
        problems[name].append(problem)
    for name, of_table in problems.items():
        yield from (Check(f"table {name}", "wrong", found, fix) for found, fix in of_table[:_MOST_OF_A_TABLE])
        if len(of_table) > _MOST_OF_A_TABLE:
            more = f"{len(of_table) - _MOST_OF_A_TABLE} more problems of this table"
            yield Check(f"table {name}", "wrong", more, "see the lines above; mend those, then call it again")
    summary = f"{totals.there} of {len(TABLES)} tables, {totals.files} files, {totals.size / 1e6:.1f} MB"
    if broken := sum(map(bool, problems.values())):
        yield Check("tables", "wrong", f"{summary}; {broken} with problems", "see the lines above")
    else:
        yield Check("tables", "ok", f"{summary}; logs whole, every file there")


def _looked_into(place: str, table: Table, totals: _Totals) -> list[Problem]:
    try:
        store = _store(place)
        sizes = _sizes(store)
        totals.there += bool(sizes)
        return list(_problems(place, store, sizes, table, totals)) if sizes else []
    except (DeltaError, OSError, pa.ArrowException) as error:
        return [(_one_line(error), "see whether the store can be reached, and with which rights")]


def _problems(
    place: str, store: FileSystem, sizes: Mapping[str, int], table: Table, totals: _Totals
) -> Iterator[Problem]:
    log = TableLog(store, sizes)
    if not log.commits and not log.checkpoints:
        yield f"{place} holds files but no {LOG}", "move it away; it is no table"
        return
    in_log = list(log.problems())
    yield from in_log
    try:
        opened = DeltaTable(place)
        totals.versions[table.name] = opened.version()
        yield from _not_ours(opened, table)
        yield from _files(opened, _sizes(store), place, totals)
        if table == RUN_LOG and not in_log:
            totals.published = _published(opened, store)
    except (DeltaError, OSError, pa.ArrowException) as error:
        if not in_log:
            yield f"it cannot be opened: {_one_line(error)}", "put it back from a copy of the lake"


def _not_ours(opened: DeltaTable, table: Table) -> Iterator[Problem]:
    found = opened.metadata().configuration.get(VERSION_PROPERTY)
    if found != str(table.version):
        fix = "use the program that made it, or another --lake"
        yield f"it has version {found}, this program has {table.version}", fix
    protocol = opened.protocol()
    if protocol.min_reader_version > _OPENS_WITHOUT_FEATURES:
        features = ", ".join(sorted(map(str, protocol.reader_features or ()))) or "column mapping"
        yield (
            f"another tool raised it to reader version {protocol.min_reader_version} ({features})",
            "drop the feature (ALTER TABLE … DROP FEATURE); faultline show and report do not read it",
        )


def _files(opened: DeltaTable, sizes: Mapping[str, int], place: str, totals: _Totals) -> Iterator[Problem]:
    """Active files that are missing or of another size than the log says."""
    active = pa.table(opened.get_add_actions(flatten=True))
    days = active["partition.event_date"] if "partition.event_date" in active.column_names else [None] * len(active)
    for path, size, day in zip(active["path"].to_pylist(), active["size_bytes"].to_pylist(), days, strict=True):
        totals.files += 1
        totals.size += size
        found = sizes.get(path, sizes.get(unquote(path)))
        forget = f"put it back from a copy, or forget it: {_FORGET.format(table=place)}, then publish {day} again"
        if found is None:
            yield f"{path} is missing", forget
        elif found != size:
            yield f"{path} has {found} bytes, the log says {size}", f"move it away and {forget}"


def _published(opened: DeltaTable, store: FileSystem) -> dict[str, int]:
    log = opened.to_pyarrow_dataset(filesystem=store)
    order = [name for name in ("event_seq", "logged_at") if name in log.schema.names]
    rows = log.to_table(columns=["status", "table_versions", *order]).to_pylist()
    rows.sort(key=lambda row: [row["event_seq"] or 0 if "event_seq" in row else 0, row["logged_at"]])
    versions: dict[str, int] = {}
    for row in rows:
        if row["status"] == "SUCCEEDED" and row["table_versions"]:
            versions.update(json.loads(row["table_versions"]))
    return versions


def _gone_back(totals: _Totals) -> Iterator[tuple[str, Problem]]:
    """Tables that lack commits which a successful run made: the log's own end cannot show that."""
    for name, published in totals.published.items():
        found = totals.versions.get(name, published)
        if found < published:
            fix = "put the table back from a copy of the lake, or publish its days again"
            yield name, (f"it is at version {found}, the run log says that {published} was published", fix)


def _sizes(store: FileSystem) -> dict[str, int]:
    selector = FileSelector("", recursive=True, allow_not_found=True)
    return {info.path: info.size for info in store.get_file_info(selector) if info.is_file}


def _store(place: str) -> FileSystem:
    if "://" in place:
        return PyFileSystem(DeltaStorageHandler(place))
    return SubTreeFileSystem(place, LocalFileSystem())


def _place(root: str, table: Table) -> str:
    folder = local_folder(root)
    return f"{root}/{table.name}" if folder is None else str(Path(folder, table.name).absolute())


def _one_line(error: BaseException) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    return (plain.strip() or type(error).__name__).splitlines()[0][:300]
