"""The tables as the lake holds them: created with their columns and checks, upgraded, refused when not ours."""

from __future__ import annotations

from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from jobs.errors import LakeError
from jobs.lake.delta_log import TableLog
from jobs.spark.failures import BROKEN_LOG
from jobs.tables import Table
from jobs.tables.table import VERSION_PROPERTY
from jobs.uri import local_folder


def create_or_upgrade(spark: SparkSession, path: str, table: Table) -> None:
    """Create the table, or give it what a lake of an earlier release lacks; its days hold null in new columns.

    Raises:
        LakeError: it was made by a newer or older version of the product, or its log is broken.
    """
    if not DeltaTable.isDeltaTable(spark, path):
        _create(spark, path, table)
        return
    snapshot = newest_snapshot(spark, path)
    check_table(snapshot, path, table)
    properties = snapshot.metadata().configuration()
    keys = {name: f"delta.constraints.{name}" for name in table.constraints}
    checks = {name: properties.apply(key) for name, key in keys.items() if properties.contains(key)}
    for change in table.upgrades(list(snapshot.schema().fieldNames()), checks):
        spark.sql(f"ALTER TABLE {sql_name(path)} {change}")


def sql_name(path: str) -> str:
    """A table by its path, as SQL names it."""
    return f"delta.`{path.replace('`', '``')}`"


def newest_snapshot(spark: SparkSession, path: str) -> Any:
    """Delta's own snapshot of the newest version, of which a log's end gives protocol and metadata."""
    jvm: Any = spark._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)
    return log.update(False, jvm.scala.Option.empty(), jvm.scala.Option.empty())


def check_table(snapshot: Any, path: str, table: Table) -> None:
    """Refuse another version, and a broken log: Delta reads over some, and of others says so when it is too late.

    Raises:
        LakeError: it does not fit.
    """
    folder = local_folder(path)
    for problem, _ in TableLog.of_folder(folder).newest_problems() if folder else ():
        raise LakeError(f"table {path}: {problem}; {BROKEN_LOG}")
    properties = snapshot.metadata().configuration()
    found = properties.apply(VERSION_PROPERTY) if properties.contains(VERSION_PROPERTY) else None
    if found != str(table.version):
        raise LakeError(
            f"table {path} has version {found}, this program writes {table.version};"
            " use the program that made it, or another --lake"
        )


def _create(spark: SparkSession, path: str, table: Table) -> None:
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
