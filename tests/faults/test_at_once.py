"""Two runs, maintenance or a reader at the same time: one wins, nobody sees half of it."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.errors import LakeBusyError
from jobs.lake.tables_io import Lake
from jobs.tables import ISOLATION_INTERVALS, SENDS
from tests.faults.program import run_program
from tests.given.corrected_day import CORRECTED, content
from tests.given.site import D1, D2, D3, Site


def _during(monkeypatch: pytest.MonkeyPatch, table: str, happens: Callable[[], None]) -> None:
    """Let it happen in the middle of a run, just before the table's first commit."""
    publish, pending = Lake.publish_day, [happens]

    def publishing(lake: Lake, which: Any, *given: Any, **named: Any) -> Any:
        if which.name == table and pending:
            pending.pop()()
        return publish(lake, which, *given, **named)

    monkeypatch.setattr(Lake, "publish_day", publishing)


@pytest.mark.slow  # whole programs
@pytest.mark.fault(27)
def test_a_second_run_of_the_day_exits_5_and_harms_nothing(
    site: Site, published: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    second: list[subprocess.CompletedProcess[str]] = []

    def another_run() -> None:
        second.append(run_program(site.folder, "--date", f"{D1}"))

    _during(monkeypatch, "isolation_intervals", another_run)
    site.run(D1)
    (refused,) = second
    assert refused.returncode == 5, refused.stderr
    assert f"faultline: lake {site.lake} is held by " in refused.stderr.splitlines()[-1]
    assert content(site.lake) == content(published.lake)
    assert {row["run_id"] for row in site.rows("run_log", "run_id")} == {"run-1", "run-20"}


@pytest.mark.fault(27)
def test_of_two_writers_without_a_lock_one_wins_whole(spark: SparkSession, site: Site, tmp_path: Path) -> None:
    """The first writer has looked at the table, and is at its rows, when the second one commits."""
    lake = Lake(spark, str(site.lake))
    day = lake.read_day(SENDS, "main", D1).localCheckpoint()
    slow, quick = day.where("broker_name = 'broker-a'"), day.where("broker_name != 'broker-a'").localCheckpoint()
    begun, other_is_done = tmp_path / "begun", tmp_path / "other-is-done"

    def waiting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begun.touch()
        while not other_is_done.exists():
            time.sleep(0.05)
        yield from batches

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(lake.publish_day, SENDS, slow.mapInArrow(waiting, slow.schema), "main", D1, {"run_id": "1"})
        while not (begun.exists() or first.done()):
            time.sleep(0.05)
        try:
            lake.publish_day(SENDS, quick, "main", D1, {"run_id": "2"})
        finally:
            other_is_done.touch()
        with pytest.raises(LakeBusyError) as caught:
            first.result()
    assert caught.value.exit_code == 5
    assert str(caught.value) == (
        "cannot publish 2026-03-01 in table sends: another writer changed it at the same time; run it again"
    )
    assert lake.read_day(SENDS, "main", D1).count() == quick.count() > 0


@pytest.mark.slow  # whole programs
@pytest.mark.fault(28, simulated="another machine")
def test_a_lock_is_broken_on_request_and_the_run_log_says_so(site: Site) -> None:
    left = {"run_id": "far", "host": "host-b", "process": 7, "since": "2026-03-05T03:00:00+00:00",
            "lease_until": "2026-03-05T23:00:00+00:00"}  # fmt: skip
    (site.lake / "_lock").write_text(json.dumps(left), encoding="utf-8")
    with pytest.raises(LakeBusyError, match=r"is held by run far \(process 7 on host host-b\)"):
        site.run(D1)
    site.run(D1, break_lock=True)
    told = [row["message"] for row in site.rows("run_log", "message", status="STARTED") if row["message"]]
    far = "run far (process 7 on host host-b) since 2026-03-05 03:00:00 UTC, lease until 2026-03-05 23:00:00 UTC"
    assert told == [f"broke the lock of {far}"]


@pytest.mark.fault(27)
def test_writers_of_different_days_are_not_in_each_others_way(spark: SparkSession, site: Site, published: Site) -> None:
    lake = Lake(spark, str(site.lake))
    told = lake.read_day(SENDS, "main", D1).localCheckpoint()
    days = {day: told.withColumn("event_date", F.lit(day)) for day in (D1, D2, D3)}
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda day: lake.publish_day(SENDS, days[day], "main", day, {"run_id": f"{day}"}), days))
    assert sorted(commit.version for commit in done) == [2, 3, 4]
    rows = len(content(published.lake)["sends"])
    assert [lake.read_day(SENDS, "main", day).count() for day in (D1, D2, D3)] == [rows] * 3


@pytest.mark.slow
@pytest.mark.fault(29)
def test_compaction_and_vacuum_during_a_run_are_harmless(
    spark: SparkSession, site: Site, published: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def maintained() -> None:
        for table in ("sends", "isolation_intervals", "fault_item_state", "run_log"):
            where = f"delta.`{site.lake / table}`"
            spark.sql(f"OPTIMIZE {where}")
            spark.sql(f"VACUUM {where}")
            spark.sql(f"ALTER TABLE {where} SET TBLPROPERTIES ('somebody.was' = 'here')")

    _during(monkeypatch, "isolation_intervals", maintained)
    site.run(D1)
    assert content(site.lake) == content(published.lake)


@pytest.mark.slow
@pytest.mark.fault(29)
def test_maintenance_of_a_table_that_is_being_swapped_is_a_conflict_or_harmless(
    spark: SparkSession, site: Site, published: Site
) -> None:
    lake = Lake(spark, str(site.lake))
    day, over = lake.read_day(SENDS, "main", D1).localCheckpoint(), threading.Event()

    said: list[str] = []
    compacted = threading.Event()

    def compacting() -> None:
        while not over.is_set():
            try:
                DeltaTable.forPath(spark, lake.path(SENDS)).optimize().executeCompaction()
                compacted.set()
            except PySparkException as error:
                said.append(f"{type(error).__name__} {error}")

    compactor = threading.Thread(target=compacting)
    compactor.start()
    swapped = 0
    try:
        for number in range(5):
            with suppress(LakeBusyError):
                lake.publish_day(SENDS, day, "main", D1, {"run_id": f"swap-{number}"})
                swapped += 1
    finally:
        over.set()
        compactor.join()
    assert swapped
    assert compacted.is_set()
    assert [each for each in said if "concurrent" not in each.lower()] == []
    assert content(site.lake)["sends"] == content(published.lake)["sends"]


@pytest.mark.fault(29)
def test_a_vacuum_that_takes_what_readers_need_is_refused(spark: SparkSession, site: Site) -> None:
    with pytest.raises(PySparkException, match=r"(?i)retention"):
        spark.sql(f"VACUUM delta.`{site.lake / 'sends'}` RETAIN 0 HOURS")


@pytest.mark.slow
@pytest.mark.fault(29)
def test_a_reader_that_began_before_a_run_sees_what_was(spark: SparkSession, site: Site) -> None:
    opened = Lake(spark, str(site.lake)).read(ISOLATION_INTERVALS)
    before = sorted(opened.collect())
    assert before
    site.log(CORRECTED)
    site.run(D1)
    assert sorted(opened.collect()) == before
    assert sorted(Lake(spark, str(site.lake)).read(ISOLATION_INTERVALS).collect()) != before
