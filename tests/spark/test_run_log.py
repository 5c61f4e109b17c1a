"""Which run of a day was the last: the log's own order says, not a clock that may have been set back."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.lake.tables_io import Lake
from jobs.runs.context import RunContext
from jobs.runs.run import DayResult, PublishedDay, Run
from jobs.runs.run_log import FAULT_LATENCY, known_days, log_run, logged_days
from jobs.settings.load import load_settings
from jobs.sources.staged import Counts
from jobs.tables import RUN_LOG
from jobs.tables.day import Day
from jobs.text.progress import Progress
from tests.given.site import D1, D2, published_rows


def test_after_a_clock_is_set_back_the_last_run_still_counts(spark: SparkSession, tmp_path: Path) -> None:
    lake, day = Lake(spark, str(tmp_path)), Day(D1, "main")
    lake.create_tables((RUN_LOG,))
    for started_from, minute in (("EMPTY", 40), ("PREVIOUS_DAY", 1)):
        run = Run(
            started_from, "nightly", (D1,), allow_empty=False, cascade=True,
            clock=lambda minute=minute: dt.datetime(2026, 3, 5, 3, minute, tzinfo=dt.UTC),  # type: ignore[misc]
        )  # fmt: skip
        context = RunContext(spark, lake, load_settings([], [], {}), run, Progress())
        done = DayResult(day, Counts(9, 9, 0, 0, 0, 0), PublishedDay(started_from, "opened"), {})
        log_run(context, FAULT_LATENCY, [day], "STARTED")
        log_run(context, FAULT_LATENCY, [day], "SUCCEEDED", done=done)
    assert logged_days(lake, FAULT_LATENCY)[day].started_from == "PREVIOUS_DAY"
    log = published_rows(tmp_path / RUN_LOG.name, ("event_seq", "run_id", "status"), {})
    assert [(row["run_id"], row["status"]) for row in log] == [
        ("EMPTY", "STARTED"), ("EMPTY", "SUCCEEDED"), ("PREVIOUS_DAY", "STARTED"), ("PREVIOUS_DAY", "SUCCEEDED"),
    ]  # fmt: skip
    assert len({row["event_seq"] for row in log}) == len(log)


def test_a_broken_recompute_is_distinguished_from_a_broken_run(spark: SparkSession, tmp_path: Path) -> None:
    """The second has other lines, which only its own input mends."""
    lake, day, other = Lake(spark, str(tmp_path)), Day(D1, "main"), Day(D2, "main")
    lake.create_tables((RUN_LOG,))
    run = Run(
        "r", "nightly", (D1,), allow_empty=False, cascade=True, clock=lambda: dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    )
    context = RunContext(spark, lake, load_settings([], [], {}), run, Progress())
    log_run(context, FAULT_LATENCY, [other], "STARTED", cascading=other)  # it never was published
    events = [
        (None, "SUCCEEDED", False),
        (None, "STARTED", False),
        (None, "FAILED", False),
        (day, "STARTED", True),
        (day, "FAILED", True),
        (None, "FAILED", True),  # its own run, which published nothing
        (None, "SUCCEEDED", False),
    ]
    for cascading, status, is_broken_off in events:
        done = DayResult(day, Counts(9, 9, 0, 0, 0, 0), PublishedDay("EMPTY", "opened", closing_state="closed"), {})
        log_run(
            context, FAULT_LATENCY, [day], status, done=done if status == "SUCCEEDED" else None, cascading=cascading
        )
        logged = logged_days(lake, FAULT_LATENCY)
        assert {each: made.is_broken_off for each, made in logged.items()} == {day: is_broken_off}
        assert logged[day].closing_state == "closed"


def test_a_day_has_the_lines_of_the_run_that_read_them_last(spark: SparkSession, tmp_path: Path) -> None:
    """A recompute reads none."""
    lake, day = Lake(spark, str(tmp_path)), Day(D1, "main")
    lake.create_tables((RUN_LOG,))
    run = Run(
        "r", "nightly", (D1,), allow_empty=False, cascade=True, clock=lambda: dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    )
    for published in (7, 5, None):
        context = RunContext(spark, lake, load_settings([], [], {}), run, Progress())
        counts = None if published is None else Counts(9, published, 9 - published, 0, 0, 0)
        done = DayResult(day, counts, PublishedDay("EMPTY", "opened", lines=published or 5), {})
        logged = known_days(context, FAULT_LATENCY)  # read before, and kept up to date
        log_run(context, FAULT_LATENCY, [day], "SUCCEEDED", done=done)
        assert logged[day].lines == logged_days(lake, FAULT_LATENCY)[day].lines == (published or 5)
