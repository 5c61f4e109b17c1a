"""The frames that stages hand on are what their definitions say, at the exit of each stage."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

import jobs.allocation.frames
import jobs.fault_latency.frames
from jobs.allocation.job import allocation
from jobs.settings.load import load_settings
from jobs.sources.client_log import CLIENT_LOGS
from jobs.sources.client_log import SCHEMA as LOG_LINES
from jobs.sources.line_kinds import LineKind
from jobs.sources.snapshots import CONSUMERS, ROUTES, RUNNING_INFO
from jobs.spark.materialize import materializer
from jobs.tables import (
    GROUP_MEMBERS,
    QUEUE_ALLOCATION,
    QUEUE_OWNERSHIP,
    TOPIC_QUEUES,
)
from jobs.tables.day import Day
from jobs.tables.frame import Frame
from tests.given.site import D1, START, Line
from tests.given.snapshot_site import connection, route, running_info

FIRST = {name: frame for name, frame in vars(jobs.fault_latency.frames).items() if isinstance(frame, Frame)}
SECOND = jobs.allocation.frames.FRAMES
MIDNIGHT, MINUTE = START[D1], 60_000


@pytest.mark.parametrize("frame", [*FIRST.values(), *SECOND], ids=lambda frame: frame.name)
def test_a_definition_is_whole(frame: Frame) -> None:
    assert set(frame.keys) <= {column.name for column in frame.columns}
    assert all(column.metadata["comment"] for column in frame.columns)


def _empty(spark: SparkSession, schema: StructType) -> DataFrame:
    return spark.createDataFrame([], schema)


def test_the_first_flow_writes_each() -> None:
    """`materialize` holds what a run writes to its definition."""
    folder = Path(jobs.fault_latency.frames.__file__).parent
    texts = [file.read_text(encoding="utf-8") for file in folder.rglob("*.py")]
    assert {name for text in texts for name in re.findall(r"materialize\(\s*([A-Z_]+)", text)} == set(FIRST)


@dataclass(frozen=True)
class HandedOn:
    """A frame as its stage handed it on: its definition and rows."""

    frame: Frame
    rows: list[dict[str, Any]]


@pytest.fixture(scope="module")
def second_flow(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, HandedOn]:
    """Frames of the second flow by name, of a day that has each way to come near to another row of the same key."""
    write = materializer(spark, str(tmp_path_factory.mktemp("frames")))
    handed_on: dict[str, HandedOn] = {}

    def materialize(frame: Frame, rows: DataFrame) -> DataFrame:
        written = write(frame, rows)
        handed_on[frame.name] = HandedOn(frame, [row.asDict(recursive=True) for row in written.collect()])
        return written

    # The answers of 00:00 differ from what held before; brokers a and b disagree on the members of G.
    consumers = [
        *(connection(MIDNIGHT, ["x", "y"], "T", "U", broker_addr=each) for each in ("a:10911", "a:10912")),
        *(connection(each, ["x"], "T", "U", broker="b") for each in (MIDNIGHT, MIDNIGHT + MINUTE)),
        connection(MIDNIGHT + MINUTE, ["x", "y"], "T", "U"),
        connection(MIDNIGHT, ["x", "y"], consumer_group="THROWS"),
        *(connection(MIDNIGHT, ["x"], consumer_group=name, message_model="BROADCASTING") for name in ("ALL", "ALL_2")),
        connection(MIDNIGHT, ["x", "y"], consumer_group="UNKNOWN"),
    ]
    routes = [
        route(MIDNIGHT, a=2, b=1),
        route(MIDNIGHT + MINUTE, a=3, b=1),
        *(route(MIDNIGHT + n * MINUTE, topic="U", a=2 + n, b=1) for n in range(2)),
    ]
    queues = [("T", "a", 0), ("T", "a", 1)]
    running = [
        *(running_info(MIDNIGHT, "x", "AllocateMessageQueueAveragely", queues, properties={"pid": n}) for n in "12"),
        running_info(MIDNIGHT, "y", "AllocateMessageQueueAveragely", code=1),
    ]
    before = MIDNIGHT - MINUTE
    queue = {"topic": "T", "broker_name": "a", "queue_id": 0, "readable": True, "writable": True, "has_master": True}
    members = {"consumer_group": "G", "broker_name": "a", "client_ids": ["x"]}
    allocation(
        {
            CONSUMERS.name: _lines(spark, CONSUMERS, consumers),
            ROUTES.name: _lines(spark, ROUTES, routes),
            RUNNING_INFO.name: _lines(spark, RUNNING_INFO, running),
            CLIENT_LOGS: spark.createDataFrame([], LOG_LINES),
        },
        {
            TOPIC_QUEUES.name: _some(spark, TOPIC_QUEUES.schema, [queue | {"last_answer_ms": before}]),
            GROUP_MEMBERS.name: _some(spark, GROUP_MEMBERS.schema, [members | {"last_answer_ms": before}]),
            QUEUE_ALLOCATION.name: _empty(spark, QUEUE_ALLOCATION.schema),
            QUEUE_OWNERSHIP.name: _empty(spark, QUEUE_OWNERSHIP.schema),
        },
        Day(D1, "main"),
        load_settings(
            [],
            [
                'groups."THROWS".clients."y".strategy="CONSISTENT_HASH"',
                'groups."THROWS".clients."y".virtual_nodes=-1',
                'groups."UNKNOWN".client_rebalance=false',  # by pull or by POP, nobody says
            ],
            {},
        ),
        materialize,
    )
    return handed_on


def _lines(spark: SparkSession, kind: LineKind, lines: Sequence[Line]) -> DataFrame:
    return _some(spark, StructType([StructField("captured_at_ms", LongType()), *kind.fields]), lines)


def _some(spark: SparkSession, schema: StructType, rows: Sequence[Line]) -> DataFrame:
    """The rows; columns that they do not name are null."""
    return spark.createDataFrame(list(rows), StructType([StructField(each.name, each.dataType) for each in schema]))


def test_the_second_flow(second_flow: dict[str, HandedOn]) -> None:
    assert sorted(second_flow) == sorted(frame.name for frame in SECOND)


def test_keys_of_the_second_flow_are_unique(second_flow: dict[str, HandedOn]) -> None:
    assert not [name for name, each in second_flow.items() if each.frame.keys and _repeats(each, each.frame.keys)]


def _repeats(handed_on: HandedOn, keys: Sequence[str]) -> bool:
    """Whether two rows are equal in the keys."""
    return max(Counter(repr([row[name] for name in keys]) for row in handed_on.rows).values()) > 1


def test_only_columns_that_may_be_null_are_null(second_flow: dict[str, HandedOn]) -> None:
    nulls = {
        (name, column.name)
        for name, each in second_flow.items()
        for column in each.frame.columns
        if not column.nullable and any(row[column.name] is None for row in each.rows)
    }
    assert nulls == set()


def test_a_column_that_is_missing_or_of_another_type_is_named(spark: SparkSession) -> None:
    frame = Frame("few", "one", (), (StructField("a", LongType()), StructField("b", StringType())))
    rows = spark.createDataFrame([(1, 2)], "a int, c int")
    with pytest.raises(TypeError, match=r"few\.a is int, expected bigint; few\.b is missing, expected string"):
        frame.columns_of(rows)
    assert frame.columns_of(rows.selectExpr("'x' AS b", "c", "2L AS a")).columns == ["a", "b"]
