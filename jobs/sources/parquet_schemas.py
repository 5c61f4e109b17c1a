"""Parquet files whose columns differ: which file, and which column."""

from __future__ import annotations

from collections.abc import Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.errors import InputUnreadableError
from jobs.spark.failures import root_cause


def misfit(spark: SparkSession, names: Mapping[str, str], error: Exception) -> InputUnreadableError:
    """The error of files that Spark could not read together.

    Args:
        spark: the session.
        names: path for Spark's reader to the name that a user knows.
        error: what Spark raised.
    """
    known: dict[str, tuple[str, str]] = {}
    for path, name in names.items():
        try:
            schema = spark.read.option("recursiveFileLookup", "true").parquet(path).schema
        except (Py4JJavaError, PySparkException) as broken:
            return InputUnreadableError(
                f"{name} cannot be read as Parquet ({root_cause(broken)}); replace it with a complete copy"
            )
        for field in schema:
            kind = field.dataType.simpleString().partition("<")[0]
            first_kind, first = known.setdefault(field.name.lower(), (kind, name))
            if kind != first_kind:
                return InputUnreadableError(
                    f"{name} has the column {field.name} as {kind}, {first} as {first_kind}; write both with one type"
                )
    return InputUnreadableError(f"the Parquet files have different columns ({root_cause(error)}); write them alike")
