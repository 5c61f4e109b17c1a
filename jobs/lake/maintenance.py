"""Maintenance of the lake: files of each table, compaction, vacuum.

Besides `jobs.lake.tables_io` the only module that touches Delta; separate, as no run needs it.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from contextlib import suppress

from delta.tables import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.lake.day_swap import of_day
from jobs.lake.definitions import sql_name
from jobs.lake.explained import explained
from jobs.lake.tables_io import Lake
from jobs.spark.few_lines import with_conf
from jobs.spark.store_folder import StoreFolder
from jobs.tables import Table


class MaintainedLake(Lake):
    """The published tables below one folder or URI, and their files."""

    def files(self, table: Table) -> list[tuple[dt.date, int]]:
        """Day and bytes of each file of the table's newest version."""
        with explained(f"cannot list the files of table {table.name}"):
            files = DataFrame(self.newest(table).allFiles().toDF(), self._spark)
            return [
                (dt.date.fromisoformat(row["partition"]), row["size"])
                for row in files.select(F.col("partitionValues.event_date").alias("partition"), "size").collect()
            ]

    def compact(self, table: Table, day: dt.date, small: int, metadata: Mapping[str, str]) -> None:
        """Merge the day's files of less than `small` bytes; rows do not change."""
        options = {
            "spark.databricks.delta.optimize.minFileSize": str(small),
            "spark.databricks.delta.commitInfo.userMetadata": json.dumps(dict(metadata)),
        }
        with self._writing(f"cannot compact {day} of table {table.name}"), with_conf(self._spark, options):
            DeltaTable.forPath(self._spark, self.path(table)).optimize().where(of_day(day)).executeCompaction()

    def vacuum(self, table: Table, days: int, *, dry_run: bool) -> list[str]:
        """Delete the files that no version of the last `days` days needs; a dry run only lists them."""
        with self._writing(f"cannot vacuum table {table.name}"):
            unneeded = self._spark.sql(
                f"VACUUM {sql_name(self.path(table))} RETAIN {days * 24} HOURS DRY RUN"
            ).collect()
            if unneeded and not dry_run:
                DeltaTable.forPath(self._spark, self.path(table)).vacuum(days * 24)
            return [row["path"] for row in unneeded]

    def size(self, path: str) -> int:
        """Bytes of a file or folder; 0 when it does not exist."""
        with suppress(OSError):
            return StoreFolder(self._spark, path).size()
        return 0
