"""Rows that a rule is given, each with the value that it must find as its last one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chispa import assert_column_equality
from pyspark.sql import Column, SparkSession


def assert_rule(spark: SparkSession, rule: Column, schema: str, rows: Sequence[tuple[Any, ...]], kind: str) -> None:
    """The rule over columns of the schema gives each row's last value, which is of this kind."""
    frame = spark.createDataFrame(rows, f"{schema}, expected {kind}")
    assert_column_equality(frame.withColumn("found", rule), "found", "expected")
