"""A run of `faultline maintain`: small files merged, files that only old versions need deleted, leftovers removed."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass

from pyspark.sql import SparkSession

from jobs.errors import InputMissingError
from jobs.lake.maintenance import MaintainedLake
from jobs.runs.context import commit_metadata
from jobs.runs.held import held
from jobs.runs.run import Run
from jobs.settings.model import Settings
from jobs.tables import TABLES, Table
from jobs.text.progress import Progress

SMALL_BYTES = 128 * 1024 * 1024
_AT_ONCE = 4


@dataclass(frozen=True)
class TableFiles:
    """Files of a table, and what `--apply` does to them.

    Attributes:
        days: days with files.
        files_to_merge: small files of days that have several.
        files_to_delete: files, and `bytes_to_delete` their size, that no version of the days to keep needs.
    """

    table: str
    files: int
    size_bytes: int
    days: int
    files_to_merge: int
    files_to_delete: int
    bytes_to_delete: int


@dataclass(frozen=True)
class Upkeep:
    """Result of `faultline maintain`: what there is to do and, with `applied`, was done."""

    lake: str
    applied: bool
    versions_days: int
    leftover_bytes: int
    tables: list[TableFiles]


def run_maintain(spark: SparkSession, settings: Settings, run: Run, progress: Progress, *, apply: bool) -> Upkeep:
    """Examine every table; with `apply` also merge, delete and clean up, while the lake is held.

    Raises:
        InputMissingError: there is no table.
        LakeBusyError: a run holds the lake.
    """
    lake, days = MaintainedLake(spark, settings.lake), settings.retention.versions_days
    with held(lake, settings, run, progress) if apply else nullcontext() as taken_from:
        with progress.step("looking at the tables"):
            tables = [table for table in TABLES if lake.holds(table)]
            if not tables:
                raise InputMissingError(
                    f"lake {lake.root} holds no table; run faultline nightly first, or name another --lake"
                )
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                states = list(pool.map(lambda table: _state(lake, table, days), tables))
            upkeep = Upkeep(lake.root, apply, days, lake.size(lake.staging), states)
        if not apply:
            return upkeep
        metadata = commit_metadata(run, settings) | ({"lock": taken_from} if taken_from else {})
        for table, state in zip(tables, states, strict=True):
            if state.files_to_merge or state.files_to_delete:
                with progress.step(f"maintaining {table.name}"):
                    for day in small_files(lake.files(table)):
                        lake.compact(table, day, SMALL_BYTES, metadata)
                    if state.files_to_delete:
                        lake.vacuum(table, days, dry_run=False)
        lake.clear_staging(run.run_id)
    return upkeep


def small_files(files: Sequence[tuple[dt.date, int]]) -> dict[dt.date, int]:
    """Each day with several small files, and how many.

    >>> day = dt.date(2026, 3, 1)
    >>> small_files([(day, 5), (day, 7), (day, SMALL_BYTES), (dt.date(2026, 3, 2), 5)])
    {datetime.date(2026, 3, 1): 2}
    """
    small = Counter(day for day, size in files if size < SMALL_BYTES)
    return {day: count for day, count in sorted(small.items()) if count > 1}


def _state(lake: MaintainedLake, table: Table, versions_days: int) -> TableFiles:
    files = lake.files(table)
    unneeded = lake.vacuum(table, versions_days, dry_run=True)
    return TableFiles(
        table=table.name,
        files=len(files),
        size_bytes=sum(size for _, size in files),
        days=len({day for day, _ in files}),
        files_to_merge=sum(small_files(files).values()),
        files_to_delete=len(unneeded),
        bytes_to_delete=sum(lake.size(path) for path in unneeded),
    )
