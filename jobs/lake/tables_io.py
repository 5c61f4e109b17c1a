"""The lake: the only module that reads or publishes Delta with Spark.

A day of a cluster is always replaced as a whole: a rerun changes nothing, and a correction with fewer rows leaves no
stale ones. No transaction spans two tables, so a run's SUCCEEDED row comes last.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.lake.commits import Commit, commit_of
from jobs.lake.day_swap import DaySwap, of_day
from jobs.lake.definitions import check_table, create_or_check, newest_snapshot
from jobs.lake.explained import explained
from jobs.lake.lock import Clock, RunLock, hold
from jobs.lake.noted_files import rows_of_days
from jobs.lake.store import check_store
from jobs.lake.store_lock import hold_on_store
from jobs.spark.executors import check_seen
from jobs.spark.no_rows import may_hold_rows
from jobs.spark.store_folder import StoreFolder
from jobs.tables import RUN_LOG, TABLES, Table
from jobs.tables.table import sql_text
from jobs.uri import local_folder

_AT_ONCE = 4


class Lake:
    """The published tables below one folder or URI."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._spark = spark
        self.root = root.rstrip("/")
        self._lock: RunLock | None = None

    def path(self, table: Table) -> str:
        """Path of the table."""
        return f"{self.root}/{table.name}"

    @property
    def staging(self) -> str:
        """Folder for lines before they are published."""
        return f"{self.root}/_staging"

    def clear_staging(self, run_id: str) -> None:
        """Remove staged data; call this only while holding the lake.

        Removes only this run's data if another run may be active, as after the lock was broken.
        """
        is_alone = self._lock is None or self._lock.is_own()
        folder = local_folder(self.staging)
        if folder is not None:
            shutil.rmtree(folder if is_alone else folder / run_id, ignore_errors=True)
            return
        with suppress(OSError):  # leftovers cost space, not correctness; the JVM may be gone
            parent, name = (self.root, "_staging") if is_alone else (self.staging, run_id)
            StoreFolder(self._spark, parent).delete(name)

    def create_tables(self, tables: Sequence[Table] = TABLES) -> None:
        """Create missing `tables`, with comments, NOT NULL and CHECK.

        Raises:
            LakeError: a table has another version, or its log is broken.
        """
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._ensure, tables))

    def _ensure(self, table: Table) -> None:
        with self._writing(f"cannot create table {table.name} in {self.root}"):
            create_or_check(self._spark, self.path(table), table)

    def newest(self, table: Table) -> Any:
        """Delta's snapshot of the newest version; its protocol and metadata need only the end of the log."""
        return newest_snapshot(self._spark, self.path(table))

    def exists(self) -> bool:
        """Whether the lake holds a run log."""
        return DeltaTable.isDeltaTable(self._spark, self.path(RUN_LOG))

    def holds(self, table: Table) -> bool:
        """Whether the lake has the table.

        Raises:
            LakeError: it has another version, or its log is broken.
        """
        with explained(f"cannot look for table {table.name} in {self.root}"):
            if not DeltaTable.isDeltaTable(self._spark, self.path(table)):
                return False
            check_table(newest_snapshot(self._spark, self.path(table)), self.path(table), table)
            return True

    def read(self, table: Table) -> DataFrame:
        """The whole table."""
        with explained(f"cannot read table {table.name} in {self.root}"):
            return self._spark.read.format("delta").load(self.path(table))

    def read_day(self, table: Table, cluster: str, day: dt.date) -> DataFrame:
        """One day of one cluster."""
        return self.read_days(table, [cluster], [day])

    def read_days(self, table: Table, clusters: Collection[str], days: Collection[dt.date]) -> DataFrame:
        """Some days of some clusters, as the table is now."""
        with explained(f"cannot read table {table.name} in {self.root}"):
            path = self.path(table)
            noted = rows_of_days(self._spark, path, self.newest(table), days)
        rows = self.read(table) if noted is None else noted
        of_days = F.col("event_date").isin(*map(F.lit, days))
        return rows.where(of_days & F.col("cluster").isin(*map(F.lit, clusters)))

    def publish_day(
        self,
        table: Table,
        rows: DataFrame,
        cluster: str,
        day: dt.date,
        metadata: Mapping[str, str],
        *,
        only: Mapping[str, Sequence[str]] | None = None,
    ) -> Commit:
        """Replace one day of one cluster by `rows`, atomically. Without rows the day is cleared.

        Args:
            rows: exactly the table's columns, by name; every row of this day and cluster.
            metadata: metadata of the commit, shown by `DESCRIBE HISTORY`.
            only: column to values; rows with other values belong to another flow and stay.

        Raises:
            LakeBusyError: another writer changed the same day.
            LakeError: the write failed; the table is as before.
        """
        user_metadata = json.dumps({**metadata, "event_date": day.isoformat(), "cluster": cluster, **(only or {})})
        # A string: Delta turns a Column (DataFrameWriterV2.overwrite) into the same string.
        where = f"{of_day(day)} AND cluster = {sql_text(cluster)}"
        for name, values in (only or {}).items():
            where += f" AND {name} IN ({', '.join(sql_text(value) for value in values)})"
        with self._writing(f"cannot publish {day} in table {table.name}"):
            chosen = rows.select(*table.schema.fieldNames())
            swap = DaySwap(self._spark, self.path(table), where, user_metadata)
            stored, files = swap.as_stored(chosen), swap.files_of(cluster, day)
            if stored is None or files is None or (files and only):  # a file may also hold rows of the other flow
                self._replace(table, chosen, where, user_metadata)
            elif files or may_hold_rows(stored):
                swap.commit(stored, files, day, self._check_lock)
            return commit_of(table.name, self.newest(table), swap.before, user_metadata)

    def _replace(self, table: Table, rows: DataFrame, where: str, user_metadata: str) -> None:
        """Replace the rows that fulfil `where` with `rows`, which must fulfil it too."""
        (
            rows.write.format("delta")
            .mode("overwrite")
            .option("replaceWhere", where)
            .option("userMetadata", user_metadata)
            .save(self.path(table))
        )

    def publish_day_of_each(
        self, frames: Sequence[tuple[Table, DataFrame]], cluster: str, day: dt.date, metadata: Mapping[str, str]
    ) -> list[Commit]:
        """`publish_day` for every table, in parallel: planning and commits overlap."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(lambda pair: self.publish_day(pair[0], pair[1], cluster, day, metadata), frames))

    def append(self, table: Table, rows: DataFrame) -> None:
        """Add rows; for the run log."""
        with self._writing(f"cannot append to table {table.name}"):
            rows.select(*table.schema.fieldNames()).write.format("delta").mode("append").save(self.path(table))

    def forget_before(self, table: Table, cluster: str, day: dt.date) -> None:
        """Delete the cluster's rows of days before `day`."""
        with self._writing(f"cannot delete old days of table {table.name}"):
            old = (F.col("event_date") < F.lit(day)) & (F.col("cluster") == F.lit(cluster))
            if not self.read(table).where(old).isEmpty():
                DeltaTable.forPath(self._spark, self.path(table)).delete(old)

    @contextmanager
    def locked(
        self, run_id: str, clock: Clock, *, break_lock: bool = False, single_writer: bool = False
    ) -> Iterator[str | None]:
        """Lock the lake. Yields a sentence about a lock that was taken over or broken, or None.

        Args:
            run_id: of the run.
            clock: of this machine.
            break_lock: take it even from a run that holds it.
            single_writer: whether a store may be used that cannot keep two runs apart.

        Raises:
            LakeError: the lake's store is ambiguous, cannot be written, or is a folder that an executor does not see.
            LakeBusyError: another run holds it; also by each later write, once another run has broken the lock.
            SettingValueError: the lake's store cannot keep two runs apart.
        """
        check_store(self.root, self._spark._jsc.hadoopConfiguration().get("fs.defaultFS"))
        folder = local_folder(self.root)
        if folder is not None:
            held = hold(folder, run_id, clock, break_lock=break_lock)
        else:
            files = StoreFolder(self._spark, f"{self.root}/_lock")
            held = hold_on_store(files, self.root, run_id, clock, break_lock=break_lock, single_writer=single_writer)
        with held as lock:
            self._lock = lock
            try:
                if folder is not None:
                    check_seen(self._spark, self.root, str(folder.absolute() / "_lock"))
                yield lock.taken_from
            finally:
                self._lock = None

    def _check_lock(self) -> None:
        if self._lock is not None:
            self._lock.check()

    @contextmanager
    def _writing(self, what: str) -> Iterator[None]:
        self._check_lock()
        with explained(what):
            yield
