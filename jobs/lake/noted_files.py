"""A table's files as Delta lists them beside its commits while they are few (`.crc`), read without a query.

Each plan that reads a Delta table asks the log for its files by a query of its own: on a small
day these cost more than the rows.
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
"""Maximum number of files to read so; Spark would list more of them by a job."""

_PLAIN_PATH = re.compile(r"event_date=\d{4}-\d\d-\d\d/[\w.-]+\.parquet")
_MAPPED = "delta.columnMapping.mode"

File = Mapping[str, Any]
"""A file in the log: `path`, `partitionValues`, `stats`, `deletionVector`."""


def noted_files(jvm: Any, snapshot: Any) -> list[tuple[File, Callable[[], Any]]] | None:
    """The files of a version of a table, each with a getter of Delta's own object; None where none are listed."""
    noted = snapshot.checksumOpt()
    if noted.isEmpty() or noted.get().allFiles().isEmpty():
        return None
    files = noted.get().allFiles().get()
    # All in one text: with a year's files, one call per file would be thousands of calls to the JVM.
    described = json.loads(jvm.org.apache.spark.sql.delta.util.JsonUtils.mapper().writeValueAsString(files))
    return [(file, partial(files.apply, number)) for number, file in enumerate(described)]


def rows_of_days(spark: SparkSession, path: str, snapshot: Any, days: Collection[dt.date]) -> DataFrame | None:
    """The rows in the files of the days at a version of a table; None where Delta itself has to read them.

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
    if len(rows.inputFiles()) < len(paths):  # below a folder whose name is a pattern Spark ignores a missing file
        return None
    return rows.select(*schema.fieldNames())
