"""`faultline register`: tables, views and their comments in the session's catalog.

Entries only point at the tables' paths, and may be dropped and created again at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from jobs.errors import LakeError
from jobs.lake.tables_io import Lake
from jobs.serving.database import DATABASE, checked_database
from jobs.serving.views import VIEWS, read_view
from jobs.tables import TABLES, Table
from jobs.tables.table import sql_text

_COMMENT = "Faultline: which producer avoided which broker when and why, and who should own which queue"
_AT_ONCE = 4


@dataclass(frozen=True)
class Registered:
    """Entries of the catalog, and those that could not be created.

    Attributes:
        database: name of the database.
        is_kept: the catalog outlives the session.
        tables: names.
        views: names.
        lacking: name to the reason.
    """

    database: str
    is_kept: bool
    tables: tuple[str, ...]
    views: tuple[str, ...]
    lacking: dict[str, str] = field(default_factory=dict)


def register(spark: SparkSession, lake: Lake, database: str = DATABASE) -> Registered:
    """Register everything in the lake in the database, which is created if missing; repeating it changes nothing.

    Raises:
        LakeError: the lake has no run log or cannot be read; or the database has its own table under a name of ours.
        UsageError: the database name is invalid.
    """
    checked_database(database)
    if not lake.exists():
        raise LakeError(f"lake {lake.root} holds no run; run faultline nightly first, or give another --lake")
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {database} COMMENT {sql_text(_COMMENT)}")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reasons = list(pool.map(lambda table: _why_not(lake, table), TABLES))
    lacking = {table.name: why for table, why in zip(TABLES, reasons, strict=True) if why}
    tables = [table for table in TABLES if table.name not in lacking]
    for table in tables:
        _point_to(spark, database, table.name, lake.path(table))
    return Registered(
        database=database,
        is_kept=spark.conf.get("spark.sql.catalogImplementation") != "in-memory",
        tables=tuple(table.name for table in tables),
        views=tuple(_views(spark, database, tables, lacking)),
        lacking=lacking,
    )


def registered_text(done: Registered) -> str:
    """The result as text."""
    lines = [
        f"Registered in database {done.database}",
        f"  tables   {', '.join(done.tables)}",
        f"  views    {', '.join(done.views) or 'none'}",
        *(f"  lacking  {name}: {why}" for name, why in done.lacking.items()),
    ]
    if not done.is_kept:
        lines.append(
            "  This session's catalog lives in memory and is gone now; to keep it, name a metastore:"
            " --set 'spark.\"spark.sql.catalogImplementation\"=hive'"
        )
    return "\n".join(lines)


def _why_not(lake: Lake, table: Table) -> str | None:
    try:
        return None if lake.holds(table) else "the lake has no such table yet"
    except LakeError as error:
        return str(error)


def _point_to(spark: SparkSession, database: str, name: str, path: str) -> None:
    """Create the entry, or replace it when it points elsewhere; dropping an external table keeps its files."""
    if spark.catalog.tableExists(f"{database}.{name}"):
        description = {
            row["col_name"]: row["data_type"] for row in spark.sql(f"DESCRIBE EXTENDED {database}.{name}").collect()
        }
        if description.get("Type") != "EXTERNAL" or description.get("Provider", "").lower() != "delta":
            raise LakeError(f"database {database} has a {name} that is not Faultline's; give another --database")
        if description["Location"].removeprefix("file:") == path.removeprefix("file://").removeprefix("file:"):
            return
        spark.sql(f"DROP TABLE {database}.{name}")
    spark.sql(f"CREATE TABLE {database}.{name} USING DELTA LOCATION {sql_text(path)}")


def _views(spark: SparkSession, database: str, tables: list[Table], lacking: dict[str, str]) -> Iterator[str]:
    """Create the views whose tables exist; yields the name of each."""
    before = spark.catalog.currentDatabase()
    spark.catalog.setCurrentDatabase(database)  # a view keeps the database in which its tables were resolved
    try:
        for view in map(read_view, VIEWS):
            missing = [table.name for table in view.tables if table not in tables]
            if missing:
                lacking[view.name] = f"rests on {', '.join(missing)}"
                continue
            columns = ", ".join(f"{name} COMMENT {sql_text(comment)}" for name, comment in view.columns.items())
            head = f"{database}.{view.name} ({columns}) COMMENT {sql_text(view.question)}"
            try:
                spark.sql(f"CREATE OR REPLACE VIEW {head} AS\n{view.select}")
                yield view.name
            except AnalysisException as error:
                raise LakeError(f"view {view.name} cannot be made in database {database}: {error}") from error
    finally:
        spark.catalog.setCurrentDatabase(before)
