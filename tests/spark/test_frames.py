"""The frames that stages hand on are what their definitions say, at the exit of each stage."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

import jobs.fault_latency.frames
from jobs.fault_latency.job import replayed
from jobs.settings.load import load_settings
from jobs.tables import FAULT_ITEM_STATE, SENDS, TOPIC_BROKERS
from jobs.tables.day import Day
from jobs.tables.table import Table
from tests.given.site import D1


def _empty(spark: SparkSession, table: Table) -> DataFrame:
    return spark.createDataFrame([], table.schema)


def test_the_first_flow(spark: SparkSession) -> None:
    schemas: dict[str, StructType] = {}

    def materialize(name: str, frame: DataFrame) -> DataFrame:
        schemas[name] = frame.schema
        return frame

    replayed(
        _empty(spark, SENDS),
        _empty(spark, FAULT_ITEM_STATE).drop("event_date"),
        Day(D1, "main"),
        load_settings([], [], {}),
        topic_brokers=_empty(spark, TOPIC_BROKERS),
        materialize=materialize,
    )
    frames = jobs.fault_latency.frames.FRAMES
    assert {frame.name for frame in frames} <= set(schemas)
    assert [each for frame in frames for each in frame.differences(schemas[frame.name])] == []
    for frame in frames:
        assert set(frame.keys) <= {column.name for column in frame.columns}
        assert all(column.metadata["comment"] for column in frame.columns)


def test_a_column_that_is_other_is_named() -> None:
    frame = jobs.fault_latency.frames.SENDS_PER_PROCESS
    columns = [each for each in frame.columns if each.name != "sends"]
    other = StructType([*columns, StructField("sends", IntegerType()), StructField("more", StringType())])
    assert frame.differences(StructType(columns)) == ["process-sends lacks sends bigint"]
    assert frame.differences(other) == [
        "process-sends has more string, which it does not say", "process-sends.sends is int, and is said to be bigint",
    ]  # fmt: skip
