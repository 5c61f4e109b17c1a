"""Lines of client logs reach the walk in their order, each process's by themselves, and its rows come back by kind."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from jobs.allocation.frames import PROCESS_LOGS
from jobs.allocation.process_logs import facts_of_logs, walked_logs
from jobs.sources.client_log import SCHEMA
from jobs.tables.day import Day
from tests.given.site import D1, START

DAY, T = Day(D1, "main"), START[D1]
OPENING = (
    "source string, process string, consumer_group string, topic string, broker_name string, queue_id int,"
    " popped boolean, client_id string"
)
OF_QUEUE: dict[str, Any] = {"consumer_group": "G", "topic": "T", "broker_name": "a", "queue_id": 0, "popped": False}


def _line(
    process: str, at_ms: int, event: str | None = None, place: tuple[str, int, int] = ("f", 0, 0), **fields: Any
) -> dict[str, Any]:
    of_place = dict(zip(("file", "split", "row"), place, strict=True))
    return {"process": process, "at_ms": T + at_ms, "event": event, **of_place, **fields}


@pytest.fixture(scope="module")
def logs(spark: SparkSession) -> dict[str, DataFrame]:
    shown: dict[str, Any] = {"consumer_group": "G", "topic": "T", "client_id": "x", "allocated": [("a", 0)]}
    start: list[tuple[str, dict[str, Any]]] = [
        ("STARTED", {"consumer_group": "G"}),
        ("INSTANCE", {"client_id": "x", "instance": 0}),
    ]
    lines = [
        # One millisecond, by file, split and row: added, removed, added, refused; idle lines have no order.
        _line("p", 5_000, "REMOVED", ("f", 0, 9), **OF_QUEUE),
        _line("p", 5_000, "ADDED", ("f", 1, 1), **OF_QUEUE),
        _line("p", 5_000, "LOCK_FAILED", ("g", 0, 0), **OF_QUEUE | {"queue_id": 3}),
        _line("p", 5_000, "ADDED", ("e", 7, 9), **OF_QUEUE),
        *(_line("p", 4_000, event, ("f", 0, row), **fields) for row, (event, fields) in enumerate(start)),
        _line("p", 6_000, "ALLOCATED", ("f", 1, 2), **shown),
        _line("p", 16_000),
        _line("p", 26_001),
        _line("idle", 1_000),
        _line("idle", 20_000),
        _line("goes on", 2_000, "REMOVED", **OF_QUEUE | {"popped": True, "queue_id": -1}),
        # A later line in a file whose name comes first.
        _line("goes on", 3_000, "ADDED", ("a", 0, 0), **OF_QUEUE | {"popped": True, "queue_id": -1}),
        _line("goes on", 86_399_000),
    ]
    opening = [
        ("CLIENT_LOG", "goes on", "G", "T", "a", -1, True, "y"),
        ("CLIENT_LOG", "goes on", "G", "T", "b", 1, False, "y"),
        ("CLIENT_LOG", "gone", "G", "T", "a", 0, False, "z"),
        ("RUNNING_INFO", None, "G", "T", "a", 0, False, "w"),
    ]
    frame = spark.createDataFrame(lines, SCHEMA)
    return facts_of_logs(walked_logs(frame, spark.createDataFrame(opening, OPENING), DAY).cache())


def _rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Times from 00:00 on."""
    return sorted(
        (
            tuple(value - T if isinstance(value, int) and value >= T else value for value in row)
            for row in frame.collect()
        ),
        key=str,
    )


def test_lifetimes(logs: dict[str, DataFrame]) -> None:
    columns = ("consumer_group", "client_id", "lived_from_ms", "lived_until_ms", "ended")
    assert _rows(logs["lifetimes"].select(*columns)) == [
        ("G", "x", 4_000, 26_001, False),
        ("G", "y", 0, 86_400_000, False),
        ("G", "z", 0, 0, False),
    ]


def test_holdings(logs: dict[str, DataFrame]) -> None:
    columns = ("process", *OF_QUEUE, "client_id", "start_ms", "end_ms")
    assert _rows(logs["logged_holdings"].select(*columns)) == [
        ("goes on", "G", "T", "a", -1, True, "y", 0, 2_000),
        ("goes on", "G", "T", "a", -1, True, "y", 3_000, 86_400_000),
        ("goes on", "G", "T", "b", 1, False, "y", 0, 86_400_000),
        ("p", "G", "T", "a", 0, False, "x", 5_000, 26_001),
    ]


def test_refusals(logs: dict[str, DataFrame]) -> None:
    columns = ("consumer_group", "topic", "broker_name", "queue_id", "at_ms", "event")
    assert _rows(logs["refusals"].select(*columns)) == [("G", "T", "a", 3, 5_000, "LOCK_FAILED")]


def test_a_client_is_silent_while_it_lives_only(spark: SparkSession) -> None:
    """Between its lives there is no process that could stand still; of y nobody knows since when it lives."""
    lives = [("x", 9_000, 9_500), ("x", 1_000, 2_000), ("x", 1_200, 2_000), ("y", None, 1_500), ("y", 9_000, 9_500)]
    silences = [
        ("p", 0, 1_000), ("p", 1_400, 1_600), ("p", 2_000, 9_000), ("p", 9_500, 12_000), ("idle", 1_000, 9_000)
    ]  # fmt: skip
    rows = [
        *({"kind": "LIFETIME", "process": "p", "consumer_group": "G", "client_id": client_id, "start_ms": start_ms,
           "end_ms": end_ms} for client_id, start_ms, end_ms in lives),
        *({"kind": "SILENCE", "process": process, "start_ms": start_ms, "end_ms": end_ms}
          for process, start_ms, end_ms in silences),
    ]  # fmt: skip
    found = facts_of_logs(spark.createDataFrame(rows, StructType(list(PROCESS_LOGS.columns))))["silences"]
    assert sorted(tuple(row) for row in found.collect()) == [
        ("G", "x", 1_400, 1_600),
        ("G", "y", 0, 1_000),
        ("G", "y", 1_400, 1_600),
    ]


def test_silences(logs: dict[str, DataFrame]) -> None:
    assert _rows(logs["silences"]) == [("G", "x", 16_000, 26_001), ("G", "y", 3_000, 86_399_000)]
