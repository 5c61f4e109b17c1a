"""What a day leaves is hashed while it is written, and is what the next day finds in the tables."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.run import FAULT_LATENCY_FLOW
from jobs.lake.tables_io import Lake
from jobs.runs.context import RunContext
from jobs.runs.midnight import ClosingState, opening_of
from jobs.runs.run import PublishedDay, Run
from jobs.settings.model import Settings
from jobs.spark.no_rows import no_rows
from jobs.tables import FAULT_ITEM_STATE, GROUP_MEMBERS, Table
from jobs.tables.day import Day
from jobs.text.progress import Progress
from tests.given.site import D1

NORTH, SOUTH = Day(D1, "north"), Day(D1, "south")
FLOW = dataclasses.replace(FAULT_LATENCY_FLOW, carried=(GROUP_MEMBERS, FAULT_ITEM_STATE))
_ANY = {"string": "x", "int": 1, "bigint": 1, "boolean": True, "array<string>": ["x", "x"]}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    made = Lake(spark, str(tmp_path))
    made.create_tables((GROUP_MEMBERS, FAULT_ITEM_STATE))
    return made


def _rows(spark: SparkSession, table: Table, day: Day, values: dict[str, Sequence[Any]]) -> DataFrame:
    """Rows of the day with these values, column by column; others are equal in all."""
    count = len(next(iter(values.values())))
    equal = {"event_date": day.date, "cluster": day.cluster, "start_ms": day.start_ms}
    instant = dt.datetime(2026, 3, 1, 12)  # noqa: DTZ001 - createDataFrame takes it as the session's zone has it
    rows = []
    for number in range(count):
        given = {name: of_rows[number] for name, of_rows in values.items()}
        rows.append(
            tuple(
                {**equal, **given}.get(field.name, _ANY.get(field.dataType.simpleString(), instant))
                for field in table.columns
            )
        )
    return spark.createDataFrame(rows, table.schema)


def _members(spark: SparkSession, day: Day) -> DataFrame:
    """Two answers that hold at 24:00 and one that does not, which differ by the broker."""
    ends = [day.end_ms, day.end_ms - 1, day.end_ms]
    return _rows(spark, GROUP_MEMBERS, day, {"end_ms": ends, "broker_name": ["a", "b", "c"]})


def _closing(lake: Lake, day: Day, members: DataFrame, items: DataFrame) -> str:
    """The state that the day leaves with these rows."""
    closing = ClosingState(FLOW, lake, day)
    frames = [
        (table, closing.watched(table, rows)) for table, rows in ((GROUP_MEMBERS, members), (FAULT_ITEM_STATE, items))
    ]
    return closing.state(lake.publish_day_of_each(frames, day.cluster, day.date, {"run_id": "r"}))


def _opening(spark: SparkSession, lake: Lake, day: Day) -> str:
    """The state that the day after starts from, as the tables have it."""
    run = Run("r", "nightly", (day.date,), allow_empty=False, cascade=True, clock=dt.datetime.now)
    context = RunContext(spark, lake, Settings(), run, Progress(), {FLOW.name: {day: PublishedDay("EMPTY", "0:0")}})
    opening = opening_of(FLOW, context, day.after)
    assert opening.is_known
    return opening.state


def test_what_holds_at_midnight_is_hashed_as_the_next_day_finds_it(spark: SparkSession, lake: Lake) -> None:
    members = _members(spark, NORTH)
    items = _rows(spark, FAULT_ITEM_STATE, NORTH, {"cause": ["TimeOut", None], "extensions": [None, 2]})
    closing = _closing(lake, NORTH, members, items)
    assert closing.split(":")[0] == "4"
    assert closing == _opening(spark, lake, NORTH)
    # Only the answer that does not hold at midnight differs, then one that does.
    is_b = F.col("broker_name") == "b"
    early, late = (
        members.withColumn("unanswered", F.when(is_b == of_b, F.lit(7)).otherwise(F.col("unanswered")).cast("bigint"))
        for of_b in (True, False)
    )
    assert _closing(lake, NORTH, early, items) == closing
    changed = _closing(lake, NORTH, late, items)
    assert changed.split(":")[0] == "4"
    assert changed != closing
    assert changed == _opening(spark, lake, NORTH)


def test_a_table_without_rows_leaves_none(spark: SparkSession, lake: Lake) -> None:
    nothing = [no_rows(spark, table.schema) for table in FLOW.carried]  # these are not even written
    assert _closing(lake, NORTH, *nothing) == "0:0"
    alone = _closing(lake, NORTH, _members(spark, NORTH), nothing[1])
    assert alone.split(":")[0] == "2"
    assert alone == _opening(spark, lake, NORTH)
    nothing_found = _members(spark, NORTH).where("broker_name = 'd'")
    assert _closing(lake, NORTH, nothing_found, nothing[1]) == "0:0" == _opening(spark, lake, NORTH)


def test_rows_of_another_cluster_in_the_same_file_are_not_of_the_state(spark: SparkSession, lake: Lake) -> None:
    nothing = no_rows(spark, FAULT_ITEM_STATE.schema)
    for day in (NORTH, SOUTH):
        _closing(lake, day, _members(spark, day), nothing)
    DeltaTable.forPath(spark, lake.path(GROUP_MEMBERS)).optimize().executeCompaction()
    closing = _closing(lake, NORTH, _members(spark, NORTH).where("broker_name <> 'c'"), nothing)
    assert closing.split(":")[0] == "1"
    assert closing == _opening(spark, lake, NORTH)
    assert _opening(spark, lake, SOUTH).split(":")[0] == "2"
