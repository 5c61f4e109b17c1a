"""A run: one call of a command, and its result for each day."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.lake.tables_io import Lake
from jobs.sources.staged import Counts
from jobs.tables import Table
from jobs.tables.day import Day


@dataclass(frozen=True)
class Run:
    """One call of a command.

    Attributes:
        run_id: unique; in every run log row and commit.
        command: as the user called it.
        days: the requested UTC days, ascending.
        allow_empty: a day without a line is published as an empty day.
        cascade: recompute the published days after a day whose closing state changed.
        clock: gives the time for the run log and the lock's lease.
        break_lock: take the lake even from a run that holds it.
    """

    run_id: str
    command: str
    days: tuple[dt.date, ...]
    allow_empty: bool
    cascade: bool
    clock: Callable[[], dt.datetime]
    break_lock: bool = False


@dataclass(frozen=True)
class DayResult:
    """Result of a run for one day.

    Attributes:
        counts: where the lines went; None for a day that was recomputed from the lake.
        started_from: PREVIOUS_DAY, or EMPTY when the day before is not in the lake.
        opening_state: hash of the state at 00:00.
        closing_state: hash of the state at 24:00.
        table_versions: table to the version that its commit made.
    """

    day: Day
    counts: Counts | None
    started_from: str
    opening_state: str
    closing_state: str
    table_versions: dict[str, int]

    @property
    def cascaded(self) -> bool:
        """Whether the day was recomputed because the day before ends otherwise now."""
        return self.counts is None


@dataclass
class RunResult:
    """Result of a run.

    Attributes:
        other_days: lines of days that were not requested, by day.
        clusters: of the published days.
        stale_days: later days that start from another state than they were computed from, and were left so.
        cascading: the later day that was recomputed last, or is just being.
    """

    run: Run
    days: list[DayResult] = field(default_factory=list)
    other_days: dict[dt.date, int] = field(default_factory=dict)
    clusters: list[str] = field(default_factory=list)
    hidden_files: tuple[str, ...] = ()
    repeated_files: tuple[str, ...] = ()
    stale_days: list[dt.date] = field(default_factory=list)
    cascading: Day | None = None

    def rows(self, lake: Lake, table: Table) -> DataFrame:
        """Rows of the table of the requested days, in the clusters of the input."""
        clusters = [F.lit(cluster) for cluster in self.clusters]
        dates = [F.lit(day) for day in self.run.days]
        return lake.read(table).where(F.col("cluster").isin(*clusters) & F.col("event_date").isin(*dates))
