"""Whoever reads a table while a run publishes other rows of a day sees them all or none of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import deltalake
import pytest
from pyspark.sql import SparkSession

from tests.given.corrected_day import CORRECTED
from tests.given.site import D1, Site

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
    """What one read after another found, from before the run to after it."""
    seen = [read(table)]
    begun.set()
    while not over.is_set():
        seen.append(read(table))
    return [*seen, read(table)]


@pytest.mark.fault(29)
def test_a_reader_during_a_run_sees_one_version(spark: SparkSession, site: Site) -> None:
    table = site.lake / "sends"
    before = _without_spark(table)
    site.log(CORRECTED)
    readers = [_without_spark, _with_spark(spark)]
    begun, over = [threading.Event() for _ in readers], threading.Event()
    with ThreadPoolExecutor(len(readers)) as pool:
        reading = [pool.submit(_seen, read, table, each, over) for read, each in zip(readers, begun, strict=True)]
        try:
            assert all(each.wait(120) for each in begun)
            site.run(D1)
        finally:
            over.set()
        seen = [each.result() for each in reading]
    after = _without_spark(table)
    assert before
    assert after
    assert set(before) - set(after)
    assert set(after) - set(before)
    for versions in seen:
        assert {json.dumps(rows) for rows in versions} == {json.dumps(before), json.dumps(after)}
        assert len(versions) > 4  # not only before the run and after it
