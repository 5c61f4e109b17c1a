"""Two runs, maintenance or a reader at the same time: one wins, nobody sees half of it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.errors import LakeBusyError
from jobs.lake import Lake
from jobs.tables import ISOLATION_INTERVALS, SENDS
from tests.faults.lakes import CORRECTED, content
from tests.faults.program import run_program
from tests.site import D1, D2, D3, Site


def _during(monkeypatch: pytest.MonkeyPatch, table: str, happens: Callable[[], None]) -> None:
    """Let it happen in the middle of a run, just before the table's first commit."""
    publish, pending = Lake.publish_day, [happens]

    def publishing(lake: Lake, which: Any, *given: Any, **named: Any) -> Any:
        if which.name == table and pending:
            pending.pop()()
        return publish(lake, which, *given, **named)

    monkeypatch.setattr(Lake, "publish_day", publishing)


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
def test_of_two_writers_without_a_lock_one_wins_whole(spark: SparkSession, site: Site) -> None:
    lake = Lake(spark, str(site.lake))
    day = lake.read_day(SENDS, "main", D1).localCheckpoint()
    parts = [day.where("broker_name = 'broker-a'"), day.where("broker_name != 'broker-a'")]
    whole = {part.count() for part in parts}
    assert len(whole) == 2

    def write(place: int) -> str:
        try:
            lake.publish_day(SENDS, parts[place], "main", D1, {"run_id": f"writer-{place}"})
        except LakeBusyError as error:
            return str(error)
        return "won"

    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(write, (0, 1)))
    assert "won" in ended
    busy = "cannot publish 2026-03-01 in table sends: another writer changed it at the same time; run it again"
    assert set(ended) <= {"won", busy}
    assert lake.read_day(SENDS, "main", D1).count() in whole


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

    def compacting() -> None:
        while not over.is_set():
            try:
                DeltaTable.forPath(spark, lake.path(SENDS)).optimize().executeCompaction()
            except PySparkException as error:
                said.append(f"{type(error).__name__} {error}")

    compactor = threading.Thread(target=compacting)
    compactor.start()
    try:
        for number in range(5):
            with suppress(LakeBusyError):
                lake.publish_day(SENDS, day, "main", D1, {"run_id": f"swap-{number}"})
    finally:
        over.set()
        compactor.join()
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
