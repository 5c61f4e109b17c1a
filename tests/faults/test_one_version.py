"""Whoever reads a table while other rows of a day are published sees them all or none of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import deltalake
import pytest
from pyspark.sql import SparkSession

from jobs.lake.tables_io import Lake
from jobs.tables import SENDS
from tests.given.published_sends import frame, sent
from tests.given.site import D1, at

Rows = list[tuple[int, str]]


def _without_spark(table: Path) -> Rows:
    """Each send's seq and what it went to, as delta-rs reads them."""
    found = deltalake.DeltaTable(str(table)).to_pyarrow_table(columns=["ended_at_ms", "broker_name"]).to_pylist()
    return sorted((row["ended_at_ms"], row["broker_name"]) for row in found)


def _with_spark(spark: SparkSession) -> Callable[[Path], Rows]:
    """The same, as a session of its own reads them."""
    own = spark.newSession()

    def read(table: Path) -> Rows:
        rows = own.read.format("delta").load(str(table)).select("ended_at_ms", "broker_name").collect()
        return sorted((row["ended_at_ms"], row["broker_name"]) for row in rows)

    return read


def _seen(read: Callable[[Path], Rows], table: Path, begun: threading.Event, over: threading.Event) -> list[Rows]:
    """What one read after another found, from before the swaps to after them."""
    seen = [read(table)]
    begun.set()
    while not over.is_set():
        seen.append(read(table))
    return [*seen, read(table)]


@pytest.mark.fault(29)
def test_a_reader_sees_one_version_of_a_day_that_is_swapped(spark: SparkSession, tmp_path: Path) -> None:
    lake, noon = Lake(spark, str(tmp_path)), at(D1, "12:00:00")
    lake.create_tables((SENDS,))
    days = [
        frame(spark, [sent(D1, noon, noon + ended, broker_name=broker) for ended in (1, 2, 3)])
        for broker in ("broker-a", "broker-b")
    ]
    table, expected = Path(lake.path(SENDS)), list[Rows]()
    for day in days:
        lake.publish_day(SENDS, day, "main", D1, {})
        expected.append(_without_spark(table))
    assert len(expected[0]) == len(expected[1]) == 3
    readers = [_without_spark, _with_spark(spark)]
    begun, over = [threading.Event() for _ in readers], threading.Event()
    with ThreadPoolExecutor(len(readers)) as pool:
        reading = [pool.submit(_seen, read, table, each, over) for read, each in zip(readers, begun, strict=True)]
        try:
            assert all(each.wait(120) for each in begun)
            for _ in range(3):
                for day in days:
                    lake.publish_day(SENDS, day, "main", D1, {})
        finally:
            over.set()
        seen = [each.result() for each in reading]
    for versions in seen:
        assert {json.dumps(rows) for rows in versions} == {json.dumps(rows) for rows in expected}
        assert len(versions) > 4  # not only before the swaps and after them
