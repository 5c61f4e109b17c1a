"""The same log under other clocks, languages and partitions gives the same tables."""

from __future__ import annotations

import datetime as dt
import io
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.allocation.run import run_allocation
from jobs.runs.run import Run
from jobs.settings.load import load_settings
from jobs.sources.staging import stage_sends
from jobs.tables.day import Day
from jobs.text.progress import Progress
from tests.faults.program import ROOT, ST_JOHNS_IN_ARABIC, machine_of, run_program
from tests.given.corrected_day import FIRST, LENIENT, content
from tests.given.send_logs import DAY, fates, line, stage, write
from tests.given.site import D1, D2, Line, Site, send, write_lines

SLOW = pytest.mark.slow  # a run of the whole program, or several
SAMPLES = ROOT / "conf/local.toml"


SHANGHAI = pytest.param("Asia/Shanghai", "tr_TR.UTF-8", ("tr", "TR"), id="Shanghai in Turkish")
ST_JOHNS = pytest.param(*ST_JOHNS_IN_ARABIC, id="St John's in Arabic")
"""In which a run of the first flow is killed, too (`test_killed.py`)."""


@SLOW
@pytest.mark.fault(21, 23)
@pytest.mark.parametrize(("zone", "locale", "java"), [SHANGHAI])
def test_zone_and_language_of_the_machine_change_nothing(
    published: Site, tmp_path: Path, zone: str, locale: str, java: tuple[str, str]
) -> None:
    (tmp_path / "sends").symlink_to(published.folder / "sends")
    done = run_program(
        tmp_path, "--date", f"{D1}", "--set", "max_bad_fraction=0.5", environ=machine_of(zone, locale, java)
    )
    assert done.returncode == 0, done.stderr
    assert "2026-03-01, cluster main, fault-latency: 8 lines read = 5 published + 1 quarantined" in done.stdout
    assert content(tmp_path / "lake") == content(published.lake)


@SLOW
@pytest.mark.fault(21, 23)
@pytest.mark.parametrize(("zone", "locale", "java"), [SHANGHAI, ST_JOHNS])
def test_nor_do_they_change_who_owned_which_queue(
    sampled: dict[str, list[str]], tmp_path: Path, zone: str, locale: str, java: tuple[str, str]
) -> None:
    """The samples: consumers' logs tell local times, and the settings whose."""
    done = run_program(
        tmp_path, "--settings", f"{SAMPLES}", command="allocation", environ=machine_of(zone, locale, java)
    )
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "lake") == sampled


@pytest.fixture(scope="module")
def sampled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The second flow's tables of the samples, derived here."""
    lake = tmp_path_factory.mktemp("sampled")
    settings = load_settings([SAMPLES], [], {"lake": str(lake)})
    days = (dt.date(2026, 11, 21),)
    run = Run("here", "allocation", days, allow_empty=False, cascade=True, clock=lambda: dt.datetime.now(dt.UTC))
    run_allocation(spark, settings, run, Progress(io.StringIO()))
    found = content(lake)
    assert found["queue_ownership"]
    return found


@SLOW
@pytest.mark.fault(16)
@pytest.mark.parametrize(
    "conf",
    [
        {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "7"},
        {"spark.sql.shuffle.partitions": "1", "spark.sql.autoBroadcastJoinThreshold": "-1",
         "spark.sql.files.maxPartitionBytes": "300", "spark.sql.files.openCostInBytes": "1"},
    ],
    ids=["no adaptive execution", "no broadcast, small pieces"],
)  # fmt: skip
def test_how_spark_goes_about_it_changes_nothing(
    spark: SparkSession, published: Site, tmp_path: Path, conf: dict[str, str]
) -> None:
    usual = {key: str(spark.conf.get(key)) for key in conf}
    site = Site(spark, tmp_path, LENIENT)
    for place in range(3):
        site.log(FIRST[place::3][::-1], f"part-{place}.jsonl")
    for key, value in conf.items():
        spark.conf.set(key, value)
    try:
        site.run(D1)
    finally:
        for key, value in usual.items():
            spark.conf.set(key, value)

    def unplaced(lake: Path) -> dict[str, list[str]]:
        """Without quarantine, which names file and line."""
        return {name: rows for name, rows in content(lake).items() if name != "quarantine"}

    assert unplaced(tmp_path / "lake") == unplaced(published.lake)


@pytest.mark.fault(11)
def test_counts_do_not_depend_on_which_columns_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """Six good lines; nine that only a column nobody counts by makes bad."""
    spoilt = [line(seq=f"{place}") for place in range(3)] + [line(queue_id=2**31 + place) for place in range(3)]
    lines = [*(line(seq=place) for place in range(6)), *spoilt, b"{", b"[]", b"null"]
    staged = stage(spark, write(tmp_path / "logs", {"a.jsonl": b"\n".join(lines)}))
    assert fates(staged) == {"PUBLISHED": 6, "QUARANTINED": 9}
    sends = staged.sends(DAY)
    counted = (sends.count(), sends.select("client_id").count(), len(sends.collect()), sends.where("seq >= 0").count())
    assert counted == (6, 6, 6, 6)
    assert staged.quarantine(DAY, "run").count() == 9


LEAP = dt.date(2028, 2, 29)
LEAP_MS = 1_835_395_200_000  # 00:00 UTC of 2028-02-29


@pytest.mark.fault(22)
def test_the_29th_of_february_is_a_day(spark: SparkSession, tmp_path: Path) -> None:
    hours = {"28th": -1, "first": 0, "last": 86_399_999, "1st of March": 86_400_000}
    lines: list[Line] = [send(LEAP_MS + offset, client_id=name) for name, offset in hours.items()]
    write_lines(tmp_path / "logs/a.jsonl", lines)
    settings = load_settings([], [], {"inputs.sends.path": str(tmp_path / "logs")})
    staged = stage_sends(spark, settings, (LEAP, LEAP), str(tmp_path / "staging"))
    found = staged.sends(Day(LEAP, "main")).collect()
    assert {(row["client_id"], row["event_date"]) for row in found} == {("first", LEAP), ("last", LEAP)}
    assert {str(day): count for day, count in staged.other_days.items()} == {"2028-02-28": 1, "2028-03-01": 1}


@SLOW
@pytest.mark.fault(22)
def test_only_the_middle_day_again(spark: SparkSession, tmp_path: Path) -> None:
    site = Site(spark, tmp_path, LENIENT)
    site.log(FIRST)
    d3 = D2 + dt.timedelta(days=1)
    site.run(D1, D2)
    site.run(d3, allow_empty=True)
    before = content(site.lake)
    again = site.run(D2)
    assert [done.day.date for done in again.days] == [D2]
    assert content(site.lake) == before
