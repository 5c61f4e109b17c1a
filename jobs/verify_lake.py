"""A run of `faultline verify-lake`: published days derived anew from the lake's own sends, and compared."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from jobs.errors import InputMissingError
from jobs.fault_latency.run import derived, has_forgotten
from jobs.lake.tables_io import Lake
from jobs.runs.run_log import FAULT_LATENCY, Run, code_version, events
from jobs.runs.runner import keeper_of
from jobs.settings.model import Settings
from jobs.tables import QUARANTINE, RUN_LOG, SENDS, Table
from jobs.tables.day import Day
from jobs.text.progress import Progress
from jobs.verify_sums import day_sums, run_sums

_PUBLISHED, _DERIVED = 1, -1


@dataclass(frozen=True)
class Compared:
    """A table of a day: rows published and derived anew, and how many stand on one side only.

    Attributes:
        missing: derived and not published.
        extra: published and not derived.
        example: one of these rows, as JSON; None when there is none.
    """

    date: str
    cluster: str
    table: str
    published: int
    derived: int
    missing: int
    extra: int
    example: str | None


@dataclass(frozen=True)
class Verification:
    """What `faultline verify-lake` found.

    Attributes:
        days: `DATE (cluster)` of each day derived anew.
        forgotten: days that were in turn, but whose sends are no longer kept.
        sums: counts of the run log that do not add up, a sentence each.
        since: what differs from when a day was published, a sentence each; it may explain a difference.
    """

    lake: str
    days: list[str]
    forgotten: list[str]
    tables: list[Compared]
    sums: list[str]
    since: list[str]

    @property
    def differing(self) -> list[Compared]:
        """The tables that are not what the sends say."""
        return [each for each in self.tables if each.missing or each.extra]


def run_verify(spark: SparkSession, settings: Settings, run: Run, seed: str, progress: Progress) -> Verification:
    """Compare the run's days, or when it has none, one day of each cluster that the seed picks.

    Writes nothing but what it stages.

    Raises:
        InputMissingError: a day is not published, or none can be derived anew.
        LakeBusyError: a run holds the lake.
    """
    lake = Lake(spark, settings.lake)
    if not lake.exists():
        raise InputMissingError(f"lake {lake.root} holds no published day; run faultline nightly first")
    with lake.held(run.run_id, run.clock, break_lock=run.break_lock) as told:
        if told:
            progress.say(told)
        lake.clear_staging(run.run_id)
        try:
            published = _published(lake)
            days, forgotten = _chosen(lake, published, run.days, seed)
            tables, since = [], []
            for day in days:
                with progress.step(f"deriving {day.date} of {day.cluster} anew"):
                    told_by, rows = _compared(spark, lake, settings, run, day)
                    since.extend(_since(published[day], settings, day, told_by))
                    tables.extend(rows)
            with progress.step("adding up the run log"):
                sums = [*run_sums(lake.read(RUN_LOG)), *_sums_of_days(lake, published, days)]
        finally:
            lake.clear_staging(run.run_id)
    return Verification(lake.root, _names(days), _names(forgotten), tables, sums, since)


def differences(table: Table, published: DataFrame, derived_anew: DataFrame) -> DataFrame:
    """Compare two frames as bags of rows, by every column of the table. One row: `Compared` from `table` on."""
    columns = table.schema.fieldNames()
    both = _sided(table, published, _PUBLISHED).unionByName(_sided(table, derived_anew, _DERIVED))
    rows = both.groupBy(*columns).agg(
        F.count_if(F.col("side") == _PUBLISHED).alias("there"), F.count_if(F.col("side") == _DERIVED).alias("anew")
    )
    shown = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"})
    return rows.agg(
        F.lit(table.name).alias("table"),
        F.coalesce(F.sum("there"), F.lit(0)).alias("published"),
        F.coalesce(F.sum("anew"), F.lit(0)).alias("derived"),
        F.coalesce(F.sum(F.greatest(F.col("anew") - F.col("there"), F.lit(0))), F.lit(0)).alias("missing"),
        F.coalesce(F.sum(F.greatest(F.col("there") - F.col("anew"), F.lit(0))), F.lit(0)).alias("extra"),
        F.min(F.when(F.col("there") != F.col("anew"), shown)).alias("example"),
    )


def _sided(table: Table, rows: DataFrame, side: int) -> DataFrame:
    """The table's columns, null where a lake of an earlier release lacks one, and the side."""
    there = (F.col(field.name) if field.name in rows.columns else F.lit(None) for field in table.columns)
    kinds = (field.dataType.simpleString() for field in table.columns)  # says nothing of nulls, which a cast refuses
    typed = (column.cast(kind) for column, kind in zip(there, kinds, strict=True))
    return rows.select(*typed, F.lit(side).alias("side")).toDF(*table.schema.fieldNames(), "side")


def _compared(
    spark: SparkSession, lake: Lake, settings: Settings, run: Run, day: Day
) -> tuple[tuple[str, str], list[Compared]]:
    keep = keeper_of(spark, lake, run, day)
    told = derived(lake, settings, day, keep)
    pairs = [
        differences(table, lake.read_day(table, day.cluster, day.date), keep(f"anew-{table.name}", _own(frame, table)))
        for table, frame in told.frames
    ]
    rows = reduce(DataFrame.unionByName, pairs).collect()
    return (told.started_from, told.opening_state), [
        Compared(f"{day.date}", day.cluster, **row.asDict()) for row in rows
    ]


def _own(frame: DataFrame, table: Table) -> DataFrame:
    return frame.select(*table.schema.fieldNames())


def _published(lake: Lake) -> dict[Day, Row]:
    """Each published day of the first flow with its latest success, and the latest counts."""
    succeeded = events(lake).where((F.col("status") == "SUCCEEDED") & (F.col("flow") == FAULT_LATENCY))
    order = F.col("event_order")
    counted = F.when(F.col("rows_read").isNotNull(), order)
    latest = ("run_id", "settings_hash", "code_version", "started_from", "opening_state")
    found = succeeded.groupBy("event_date", "cluster").agg(
        *(F.max_by(name, order).alias(name) for name in latest),
        *(F.max_by(name, counted).alias(name) for name in ("rows_published", "rows_quarantined")),
    )
    return {Day(row["event_date"], row["cluster"]): row for row in found.collect()}


def _chosen(
    lake: Lake, published: Mapping[Day, Row], dates: Sequence[dt.date], seed: str
) -> tuple[list[Day], list[Day]]:
    """The days to derive anew, and those that were in turn and no longer have their sends."""
    for date in dates:
        if date not in {day.date for day in published}:
            raise InputMissingError(
                f"{date} is not published in lake {lake.root}; publish it with faultline nightly --date {date}"
            )
    asked = [[day] for day in sorted(published) if day.date in dates]
    chosen, forgotten = [], []
    for in_turn in asked or shuffled(sorted(published), seed):
        for day in in_turn:
            if not has_forgotten(lake, day):
                chosen.append(day)
                break
            forgotten.append(day)
    if not chosen:
        which = ", ".join(map(str, dates)) or "any published day"
        raise InputMissingError(
            f"{which} cannot be derived anew: lake {lake.root} no longer has its sends (retention.sends_days);"
            " give another --date"
        )
    return chosen, forgotten


def shuffled(days: Sequence[Day], seed: str) -> list[list[Day]]:
    """The days of each cluster in an order that the seed gives.

    >>> days = [Day(dt.date(2026, 3, number), cluster) for number in (1, 2, 3) for cluster in ("north", "south")]
    >>> [sorted({day.cluster for day in each}) for each in shuffled(days, "2026-03-09")]
    [['north'], ['south']]
    >>> shuffled(days, "2026-03-09") == shuffled(days[::-1], "2026-03-09")
    True
    """
    found = []
    for cluster in sorted({day.cluster for day in days}):
        of_cluster = sorted(day for day in days if day.cluster == cluster)
        random.Random(f"{seed} {cluster}").shuffle(of_cluster)  # noqa: S311 - a sample, no secret
        found.append(of_cluster)
    return found


def _since(row: Row, settings: Settings, day: Day, start: tuple[str, str]) -> list[str]:
    """What is not as it was when the day was published."""
    name = f"{day.date} ({day.cluster})"
    found = []
    for what, then, now in (
        ("settings", row["settings_hash"], settings.content_hash()),
        ("program version", row["code_version"], code_version()),
    ):
        if then != now:
            found.append(f"{name} was published by run {row['run_id']} with {what} {then}; now it is {now}")
    if (row["started_from"], row["opening_state"]) != start:
        found.append(f"{name} started from another closing state than the day before has now; run it again")
    return found


def _sums_of_days(lake: Lake, published: Mapping[Day, Row], days: Sequence[Day]) -> list[str]:
    """The days whose tables hold another number of lines than the run log says."""
    found = []
    for day in days:
        sends = lake.read_day(SENDS, day.cluster, day.date).count()
        bad = lake.read_day(QUARANTINE, day.cluster, day.date).where("source = 'sends'").count()
        found.extend(day_sums(day, published[day], sends, bad))
    return found


def _names(days: Sequence[Day]) -> list[str]:
    return [f"{day.date} ({day.cluster})" for day in days]
