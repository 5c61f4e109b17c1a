"""The tables of the lake: created with their columns and checks, refused when not ours."""

from __future__ import annotations

from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from jobs.errors import LakeError
from jobs.spark.failures import BROKEN_LOG
from jobs.tables import Table
from jobs.tables.table import VERSION_PROPERTY, broken_log
from jobs.uri import local_folder


def create_or_check(spark: SparkSession, path: str, table: Table) -> None:
    """Create the table if it does not exist.

    Raises:
        LakeError: it exists with another version, or its log is broken.
    """
    if DeltaTable.isDeltaTable(spark, path):
        check_table(newest_snapshot(spark, path), path, table)
        return
    builder = (
        DeltaTable.createIfNotExists(spark)
        .location(path)
        .comment(table.grain)
        .addColumns(table.schema)
        .partitionedBy("event_date")
        .property(VERSION_PROPERTY, str(table.version))
        .property("delta.minReaderVersion", "1")
        .property("delta.dataSkippingStatsColumns", ",".join(table.skipped_by))
        .property("delta.enableDeletionVectors", "false")
    )
    for name, condition in table.constraints.items():
        builder = builder.property(f"delta.constraints.{name}", condition)
    builder.execute()


def sql_name(path: str) -> str:
    """SQL name of a table by its path."""
    return f"delta.`{path.replace('`', '``')}`"


def newest_snapshot(spark: SparkSession, path: str) -> Any:
    """Delta's snapshot of the newest version, whose protocol and metadata need only the end of the log."""
    jvm: Any = spark._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
    return log.update(False, jvm.scala.Option.empty(), jvm.scala.Option.empty())


def check_table(snapshot: Any, path: str, table: Table) -> None:
    """Refuse another version, and damage to the log that Delta does not detect.

    Raises:
        LakeError: it does not fit.
    """
    folder = local_folder(path)
    if folder and (problem := broken_log(folder)):
        raise LakeError(f"table {path}: {problem}; {BROKEN_LOG}")
    properties = snapshot.metadata().configuration()
    version = properties.apply(VERSION_PROPERTY) if properties.contains(VERSION_PROPERTY) else None
    if version != str(table.version):
        raise LakeError(
            f"table {path} has version {version}, this program writes {table.version};"
            " use the program that made it, or another --lake"
        )
