"""Causes of the second flow that are told by who told the members: when each acts, and on which queues."""

from __future__ import annotations

import datetime as dt

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.allocation.causes import differing_views, duplicate_ids, rebalance_not_run
from jobs.tables.day import Day

DAY = Day(dt.date(2026, 11, 21), "c")
Told = tuple[str, str, int, int]
"""Broker, its members, from and until, seconds after midnight."""


def _members(spark: SparkSession, *told: Told) -> DataFrame:
    rows = [
        ("g", broker, [*ids], DAY.start_ms + since * 1_000, DAY.start_ms + until * 1_000, DAY.start_ms + until * 1_000)
        for broker, ids, since, until in told
    ]
    return spark.createDataFrame(
        rows,
        "consumer_group string, broker_name string, client_ids array<string>, start_ms bigint,"
        " end_ms bigint, last_answer_ms bigint",
    )


def _acts(causes: DataFrame) -> list[tuple[int, int, str | None]]:
    """From and until, seconds after midnight, and the broker whose queues it acts on; null = all."""
    return sorted(
        ((row.acts_from_ms - DAY.start_ms) // 1_000, (row.acts_until_ms - DAY.start_ms) // 1_000, row.broker_name)
        for row in causes.collect()
    )


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param([("a", "xxy", 100, 200), ("b", "xxy", 110, 210)], [(110, 221, None)], id="two brokers tell it"),
        pytest.param([("a", "xxy", 100, 200), ("b", "xy", 100, 200)], [], id="one of two: x came back to it"),
        pytest.param([("a", "xxy", 100, 200), ("b", "xxy", 200, 300)], [], id="one after the other"),
        pytest.param([("a", "xxy", 100, 200)], [(100, 221, None)], id="the only broker that has the group"),
        pytest.param([("a", "xy", 100, 200), ("b", "xy", 100, 200)], [], id="each id once"),
    ],
)
def test_duplicate_ids_are_told_by_more_than_one_broker(
    spark: SparkSession, told: list[Told], expected: list[tuple[int, int, str | None]]
) -> None:
    assert _acts(duplicate_ids(_members(spark, *told))) == expected


def test_a_change_of_members_acts_on_every_brokers_queues(spark: SparkSession) -> None:
    told = [("a", "x", 100, 200), ("a", "xy", 210, 300)]
    first_told, changed = (100, 121, None), (200, 231, None)
    assert _acts(rebalance_not_run(_members(spark, *told), DAY)) == [first_told, changed]


@pytest.mark.parametrize(
    ("strategy", "expected"), [("AVG", [(100, 151, None)]), (None, [(100, 151, None)]), ("BROADCASTING", [])]
)
def test_who_takes_every_queue_asks_no_broker_for_members(
    spark: SparkSession, strategy: str | None, expected: list[tuple[int, int, str | None]]
) -> None:
    row = ("g", strategy, 2, DAY.start_ms + 100_000, DAY.start_ms + 130_000)
    columns = "consumer_group string, strategy string, views int, start_ms bigint, end_ms bigint"
    assert _acts(differing_views(spark.createDataFrame([row], columns))) == expected
