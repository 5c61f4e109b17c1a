"""A table's files as Delta notes them beside its commits while they are few (`.crc`), read without a query for them.

Of a table that is read as Delta's, each plan that names it asks the log for its files by a query of its own: on a small
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
"""Files of some days that are read so; more of them Spark would list by a job."""

_PLAIN_PATH = re.compile(r"event_date=\d{4}-\d\d-\d\d/[\w.-]+\.parquet")
_MAPPED = "delta.columnMapping.mode"

File = Mapping[str, Any]
"""A file as the log has it: `path`, `partitionValues`, `stats`, `deletionVector`."""


def noted_files(jvm: Any, snapshot: Any) -> list[tuple[File, Callable[[], Any]]] | None:
    """The files of a version of a table, each with what gives Delta's own object of it; None where none are noted."""
    noted = snapshot.checksumOpt()
    if noted.isEmpty() or noted.get().allFiles().isEmpty():
        return None
    files = noted.get().allFiles().get()
    # All in one text: of a year's files each question to the JVM would be one of a thousand.
    described = json.loads(jvm.org.apache.spark.sql.delta.util.JsonUtils.mapper().writeValueAsString(files))
    return [(file, partial(files.apply, number)) for number, file in enumerate(described)]


def rows_of_days(spark: SparkSession, path: str, snapshot: Any, days: Collection[dt.date]) -> DataFrame | None:
    """The rows of a version of a table that are in the files of the days; None where Delta itself has to read them.

    Args:
        spark: the session.
        path: the table's.
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
    rows = read.parquet(*(f"{path}/{each}" for each in paths))
    if len(rows.inputFiles()) < len(paths):  # below a folder named like a pattern Spark passes over a file that is gone
        return None
    return rows.select(*schema.fieldNames())
