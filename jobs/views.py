"""SQL views over the published tables: package data in `jobs/sql`, each with its question in its first line."""

from __future__ import annotations

from importlib.resources import files

from pyspark.sql import SparkSession

from jobs.lake import Lake
from jobs.tables import ISOLATION_INTERVALS

VIEWS = ("whole_isolations",)


def view_sql(name: str) -> str:
    """The SELECT behind a view; it names the published tables as they are registered."""
    return files("jobs").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


def create_views(spark: SparkSession, lake: Lake) -> None:
    """Create the views, and the tables they rest on, as temporary views of the session.

    Raises:
        LakeError: the lake's tables cannot be read.
    """
    lake.read(ISOLATION_INTERVALS).createOrReplaceTempView(ISOLATION_INTERVALS.name)
    for name in VIEWS:
        spark.sql(view_sql(name)).createOrReplaceTempView(name)
