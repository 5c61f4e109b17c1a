"""Intermediate frames, written once: later plans start from the rows instead of their whole history."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from jobs.tables.frame import Frame

Materialize = Callable[[Frame, DataFrame], DataFrame]
"""Definition and rows → the same rows, written once."""


def materializer(spark: SparkSession, folder: str) -> Materialize:
    """Write frames as Parquet below `folder`, which its owner clears; survives the loss of an executor.

    It fails on rows whose columns are not those of their definition.

    A day's plan has some hundred operators; Spark analyses and optimizes all of them again for each frame that is
    derived and each that is written. Cutting at a few small frames keeps planning of a small day cheap.
    """

    def materialize(frame: Frame, rows: DataFrame) -> DataFrame:
        path = f"{folder}/{frame.name}"
        columns = frame.columns_of(rows)
        columns.write.parquet(path)
        return spark.read.schema(columns.schema).parquet(path)

    return materialize
