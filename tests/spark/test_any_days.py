"""Days of any kind, published in whatever order and from whatever files: every table is the same.

Each example is published twice: all days at once from files in order, and day by day in a drawn order from files in
which lines are mixed and some stand twice; then, of the slow ones, one day again.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import deltalake
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from jobs.runs.run import RunResult
from jobs.settings.load import load_settings
from jobs.tables import POLICY_OUTCOMES, REPLAY_CHECKS, RUN_LOG, TABLES
from tests.given import drawn_groups, drawn_sends
from tests.given.drawn_groups import DrawnGroups, groups_of
from tests.given.drawn_sends import OWN, DrawnSends, sends_of
from tests.given.seeded_days import DAY_MS, start_of
from tests.given.site import D1, D2, D3, Line, Site
from tests.given.snapshot_site import SnapshotSite

pytestmark = [pytest.mark.fault(16, 22, 26), pytest.mark.timeout(3600)]

Drawn = TypeVar("Drawn", DrawnSends, DrawnGroups)

APART = {("quarantine", "file"), ("quarantine", "line")}
"""Where a bad line stood depends on the files."""

OF_GROUPS = {
    "topic_queues", "route_changes", "group_members", "queue_allocation", "queue_ownership", "allocation_findings",
    "group_events",
    "rebalances", "strategy_comparison",
}  # fmt: skip
OF_SENDS = {table.name for table in TABLES} - OF_GROUPS - {POLICY_OUTCOMES.name, REPLAY_CHECKS.name, RUN_LOG.name}
"""`faultline what-if` publishes the policies' outcomes; what the run log says of days is compared apart."""

RARE = {"findings", "order_key_moves", "fault_item_updates"}
"""Compared too, but a few dozen sends may have none of the first two. Recorded updates are not drawn:
`scenarios/test_recorded.py` has them, over midnight too."""

HARD_SENDS = {
    "one client, two processes by id", "seq that starts again", "ends within one ms", "a failure just before midnight",
    "several releases", "retries", "order keys", "bad lines of several kinds", "copies", "several files",
    "days not in order",
}  # fmt: skip
OF_CLUSTERS = {"two clusters", "a cluster without a send on one day", "a key on two queues"}
HARD_GROUPS = {
    "a capture at 00:00:00.000", "captures on both sides of midnight", "several groups", "running info",
    "a client's log", "bad lines of several kinds", "copies", "several files", "days not in order",
}  # fmt: skip


def _drawn(number: int) -> settings:
    return settings(
        max_examples=number, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )


@pytest.fixture
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], tuple[Path, Path]]:
    """New ones for each example: for what is published at once, and by day."""
    return lambda: (tmp_path_factory.mktemp("at-once"), tmp_path_factory.mktemp("by-day"))


def _check_each(days: st.SearchStrategy[Drawn], examples: int, check: Callable[[Drawn], Counter[str]]) -> set[str]:
    """The tables that had rows in any of the examples."""
    rows, seen = Counter[str](), list[Drawn]()

    @_drawn(examples)
    @given(days)
    def holds(drawn: Drawn) -> None:
        seen.append(drawn)
        rows.update(check(drawn))

    holds()
    assert len(seen) >= examples
    return {name for name in rows if rows[name]}


def test_hard_days_of_sends(spark: SparkSession, folders: Callable[[], tuple[Path, Path]]) -> None:
    hard = sends_of(D1, D2, hard=True).filter(lambda drawn: drawn_sends.features(drawn) >= HARD_SENDS)
    assert _check_each(hard, 1, lambda drawn: _check_sends(spark, drawn, *folders())) >= OF_SENDS - RARE


@pytest.mark.slow  # three days, again and again
def test_any_days_of_sends(spark: SparkSession, folders: Callable[[], tuple[Path, Path]]) -> None:
    any_days = sends_of(D1, D2, D3).filter(lambda drawn: drawn_sends.features(drawn) >= OF_CLUSTERS)
    assert _check_each(any_days, 3, lambda drawn: _check_sends(spark, drawn, *folders(), again=True)) >= OF_SENDS - RARE


def _check_sends(
    spark: SparkSession, drawn: DrawnSends, at_once: Path, by_day: Path, *, again: bool = False
) -> Counter[str]:
    drawn.write_in_order(at_once)
    drawn.write_as_drawn(by_day)
    usual = Site(spark, at_once, load_settings([at_once / "settings.toml"], [], {}))
    other = Site(spark, by_day, load_settings([by_day / "settings.toml"], [], {}), first_run=11)
    result = usual.run(*drawn.days, allow_empty=True)
    _check_counts(result, drawn.lines, drawn.bad, [])
    with _other_partitions(spark):
        for day in drawn.files.days:
            result = other.run(day, allow_empty=True)
            _check_counts(result, drawn.lines, drawn.bad, drawn.files.copies(drawn.lines))
            assert result.stale_days == []
    tables = _published(usual.lake)
    _check_same(tables, _published(other.lake))
    assert _states(usual.lake) == _states(other.lake)
    if again:
        result = usual.run(drawn.days[0], allow_empty=True)
        assert {done.day.date for done in result.days} == {drawn.days[0]}  # and none after it
        _check_same(tables, _published(usual.lake))
    return Counter({name: rows.total() for name, (_, rows) in tables.items()})


def test_hard_days_of_groups(spark: SparkSession, folders: Callable[[], tuple[Path, Path]]) -> None:
    hard = groups_of(D1, D2, hard=True).filter(lambda drawn: drawn_groups.features(drawn) >= HARD_GROUPS)
    assert _check_each(hard, 1, lambda drawn: _check_groups(spark, drawn, *folders())) >= OF_GROUPS


@pytest.mark.slow  # three days, again and again
def test_any_days_of_groups(spark: SparkSession, folders: Callable[[], tuple[Path, Path]]) -> None:
    any_days = groups_of(D1, D2, D3)
    assert _check_each(any_days, 3, lambda drawn: _check_groups(spark, drawn, *folders(), again=True)) >= OF_GROUPS


def _check_groups(
    spark: SparkSession, drawn: DrawnGroups, at_once: Path, by_day: Path, *, again: bool = False
) -> Counter[str]:
    drawn.write_in_order(at_once)
    drawn.write_as_drawn(by_day)
    usual = SnapshotSite(spark, at_once, load_settings([at_once / "settings.toml"], [], {}))
    other = SnapshotSite(spark, by_day, load_settings([by_day / "settings.toml"], [], {}), first_run=11)
    usual.run(*drawn.days, allow_empty=True)
    stale = set[dt.date]()
    with _other_partitions(spark):
        for day in drawn.files.days:
            stale = (stale - {day}) | {*other.run(day, allow_empty=True).stale_days}
        while stale:  # its snapshots are not kept: each is run again
            day = min(stale)
            stale = (stale - {day}) | {*other.run(day, allow_empty=True).stale_days}
    tables = _published(usual.lake)
    _check_same(tables, _published(other.lake))
    started = [{day: from_ for day, (from_, *_) in _states(site.lake).items()} for site in (usual, other)]
    assert started[0] == started[1]  # the states' hashes are of logs' paths too
    if again:
        assert usual.run(drawn.days[0], allow_empty=True).stale_days == []
        _check_same(tables, _published(usual.lake))
    return Counter({name: rows.total() for name, (_, rows) in tables.items()})


@contextmanager
def _other_partitions(spark: SparkSession) -> Iterator[None]:
    usual = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        yield
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(usual))


def _published(lake: Path) -> dict[str, tuple[pa.Schema, Counter[str]]]:
    """Schema and rows of every table but the run log; the rows as text, without the run and the example's folder."""
    there = [table.name for table in TABLES if table is not RUN_LOG and (lake / table.name).is_dir()]
    tables = {name: deltalake.DeltaTable(str(lake / name)).to_pyarrow_table() for name in there}
    return {name: (table.schema, Counter(_texts(name, table, str(lake.parent)))) for name, table in tables.items()}


def _texts(name: str, table: pa.Table, folder: str) -> Iterator[str]:
    for row in table.to_pylist():
        compared = {column: row[column] for column in row if column != "run_id" and (name, column) not in APART}
        yield json.dumps(compared, default=str, sort_keys=True).replace(folder, "")


def _check_same(
    usual: Mapping[str, tuple[pa.Schema, Counter[str]]], other: Mapping[str, tuple[pa.Schema, Counter[str]]]
) -> None:
    assert usual.keys() == other.keys()
    for name, (schema, rows) in usual.items():
        other_schema, other_rows = other[name]
        assert schema == other_schema, name
        assert ([*(rows - other_rows)][:3], [*(other_rows - rows)][:3]) == ([], []), name


def _states(lake: Path) -> dict[tuple[str, dt.date], tuple[str, str, str]]:
    """Cluster and day to what its last run says that it started from and left."""
    log = deltalake.DeltaTable(str(lake / RUN_LOG.name)).to_pyarrow_table().to_pylist()
    in_time = sorted((row for row in log if row["status"] == "SUCCEEDED"), key=lambda row: row["event_seq"])
    said = ("started_from", "opening_state", "closing_state")
    return {(row["cluster"], row["event_date"]): tuple(row[name] for name in said) for row in in_time}


def _check_counts(result: RunResult, lines: list[Line], bad: list[str], copies: list[Line]) -> None:
    """Each day's counts against the lines, of which each has one place."""
    given_lines = sum(1 for text in bad if text) + len(lines) + len(copies)
    for done in result.days:
        if done.counts is None:  # cascaded: no line was read
            continue
        counts = done.counts
        assert counts.add_up
        assert counts.rows_read == given_lines
        place = (done.day.date, done.day.cluster)
        of_day = [sum((_day_of(line), line.get("cluster", OWN)) == place for line in of) for of in (lines, copies)]
        assert [counts.rows_published, counts.rows_duplicate] == of_day
    for date in {done.day.date for done in result.days}:
        quarantined = sum(done.counts.rows_quarantined for done in result.days if done.counts and done.day.date == date)
        if any(done.counts for done in result.days if done.day.date == date):
            assert quarantined == sum(1 for day in _days_of_bad(bad) if day in (None, date))


def _day_of(line: Line) -> dt.date:
    """One may end after the last day that is drawn."""
    return dt.date(1970, 1, 1) + dt.timedelta(days=line["ended_at_ms"] // DAY_MS)


def _days_of_bad(bad: list[str]) -> Iterator[dt.date | None]:
    """The day that each bad line tells; those of a good line on another day are none of them."""
    for text in bad:
        if not text:
            continue
        try:
            told = json.loads(text)
        except ValueError:
            yield None
            continue
        ended_at_ms = told["ended_at_ms"] if isinstance(told, dict) else 0
        if start_of(D1) <= ended_at_ms < start_of(D3) + DAY_MS:
            yield _day_of(told)
        elif ended_at_ms < DAY_MS:
            yield None
