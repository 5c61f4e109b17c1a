"""Intermediate frames, written once: what follows plans from the rows, not from how they came about."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

Materialize = Callable[[str, DataFrame], DataFrame]
"""Name and frame → the same rows, made once."""


def materializer(spark: SparkSession, folder: str) -> Materialize:
    """Writes frames as Parquet below `folder`, which its owner clears; survives the loss of an executor.

    A day's plan has some hundred operators; Spark analyses and optimizes all of them again for each frame that is
    derived and each that is written. Cut at a few small frames, planning no longer is what a small day costs.
    """

    def materialize(name: str, frame: DataFrame) -> DataFrame:
        path = f"{folder}/{name}"
        frame.write.parquet(path)
        return spark.read.schema(frame.schema).parquet(path)

    return materialize
