"""Reads a small table's files without a query, as Delta lists them in the checksum of a commit (`.crc`).

Every plan that reads a Delta table runs a query of its own on the log; on a small day these cost more than the rows.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from jobs.spark.no_rows import no_rows

AT_MOST = 32
"""Maximum number of files to read this way; Spark lists more files with a job."""

_PLAIN_PATH = re.compile(r"event_date=\d{4}-\d\d-\d\d/[\w.-]+\.parquet")
_MAPPED = "delta.columnMapping.mode"

File = Mapping[str, Any]
"""A file in the log: `path`, `partitionValues`, `stats`, `deletionVector`."""


def noted_files(jvm: Any, snapshot: Any) -> list[tuple[File, Callable[[], Any]]] | None:
    """Files of a table version, with a getter for Delta's own object; None if the version lists no files."""
    noted = snapshot.checksumOpt()
    if noted.isEmpty() or noted.get().allFiles().isEmpty():
        return None
    files = noted.get().allFiles().get()
    # All in one string: with a year of files, one call per file would mean thousands of JVM calls.
    described = json.loads(jvm.org.apache.spark.sql.delta.util.JsonUtils.mapper().writeValueAsString(files))
    return [(file, partial(files.apply, number)) for number, file in enumerate(described)]


def rows_of_days(spark: SparkSession, path: str, snapshot: Any, days: Collection[dt.date]) -> DataFrame | None:
    """The rows of the days at a table version; None if Delta itself has to read them.

    Args:
        spark: the session.
        path: path of the table.
        snapshot: the version.
        days: the days.
    """
    files, properties = noted_files(spark._jvm, snapshot), snapshot.metadata().configuration()
    if files is None or (properties.contains(_MAPPED) and properties.apply(_MAPPED) != "none"):
        return None
    dates = {day.isoformat() for day in days}
    chosen = [file for file, _ in files if file["partitionValues"]["event_date"] in dates]
    paths = [str(file["path"]) for file in chosen if not file.get("deletionVector")]
    if len(chosen) > len(paths) or len(paths) > AT_MOST or not all(map(_PLAIN_PATH.fullmatch, paths)):
        return None
    schema = StructType.fromJson(json.loads(snapshot.metadata().schema().json()))
    if not paths:
        return no_rows(spark, schema)
    read = spark.read.schema(schema).option("basePath", path).option("__globPaths__", "false")
    rows = read.parquet(*(f"{path}/{name}" for name in paths))
    if len(rows.inputFiles()) < len(paths):  # Spark ignores missing files below a folder whose name is a pattern
        return None
    return rows.select(*schema.fieldNames())
