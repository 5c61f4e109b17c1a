"""Staged input lines: counts by disposition, and the lines of a day."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property, reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.settings.model import Settings
from jobs.sources.dispositions import DUPLICATE, OTHER_DAY, PUBLISHED, QUARANTINED, line_numbers
from jobs.sources.files import shown_path
from jobs.sources.line_faults import detail_of, reasons_of
from jobs.sources.local_files import Listing
from jobs.sources.log_files import LogFile
from jobs.tables.day import Day

_OTHER_CLUSTER = "OTHER_CLUSTER"

LineCounts = Mapping[tuple[str, str, dt.date | None], int]
"""Number of lines by (disposition, cluster, day or None)."""


@dataclass(frozen=True)
class Counts:
    """Line counts of one day of one cluster: every line read is in exactly one of the last five."""

    rows_read: int
    rows_published: int
    rows_quarantined: int
    rows_duplicate: int
    rows_other_day: int
    rows_other_cluster: int

    @property
    def add_up(self) -> bool:
        """Whether the counts add up to the lines read."""
        rows_read, *places = astuple(self)
        return bool(rows_read == sum(places))


@dataclass(frozen=True)
class StagedInput:
    """One input, staged: its lines with their dispositions.

    Attributes:
        name: name of the input in settings and quarantine.
        lines: the staged lines, including blank ones.
        manifest: the files they came from.
        line_counts: number of lines by disposition.
        observed: other counts taken while reading; null = nothing to count.
        log_files: entries of client logs, by file and day.
    """

    name: str
    lines: DataFrame
    manifest: Listing
    line_counts: LineCounts
    observed: Mapping[str, int | None] = field(default_factory=dict)
    log_files: tuple[LogFile, ...] = ()

    def published(self, day: Day) -> DataFrame:
        """One row per good line of the day."""
        of_day = (F.col("day") == F.lit(day.date)) & (F.col("cluster") == F.lit(day.cluster))
        return self.lines.where((F.col("disposition") == PUBLISHED) & of_day)


@dataclass(frozen=True)
class Staged:
    """The inputs of one flow together.

    Attributes:
        inputs: inputs whose lines the flow publishes and counts.
        lookup_inputs: inputs used only for lookups; their bad lines are quarantined too.
    """

    inputs: tuple[StagedInput, ...]
    lookup_inputs: tuple[StagedInput, ...] = ()

    def __getitem__(self, name: str) -> StagedInput | None:
        return next((source for source in self.inputs if source.name == name), None)

    @property
    def read(self) -> tuple[StagedInput, ...]:
        """All inputs that were read."""
        return (*self.inputs, *self.lookup_inputs)

    @cached_property
    def line_counts(self) -> LineCounts:
        """Number of lines of `inputs` by disposition."""
        return sum((Counter(source.line_counts) for source in self.inputs), Counter())

    def log_files(self, day: Day) -> tuple[LogFile, ...]:
        """Client log files of the day."""
        return tuple(file for source in self.inputs for file in source.log_files if file.of == day)

    @property
    def rows_read(self) -> int:
        """Number of lines of `inputs`."""
        return sum(self.line_counts.values())

    def warnings(self, now: dt.datetime, settings: Settings) -> list[str]:  # noqa: ARG002 - of some inputs
        """Warnings about lines that may have been misread."""
        return []

    @property
    def hidden_files(self) -> tuple[str, ...]:
        """Files that were skipped because of their names."""
        return tuple(name for source in self.read for name in source.manifest.hidden)

    @property
    def other_days(self) -> dict[dt.date, int]:
        """Number of lines on days that were not requested, by day."""
        days: Counter[dt.date] = Counter()
        for (disposition, _, day), count in self.line_counts.items():
            if disposition == OTHER_DAY and day:
                days[day] += count
        return dict(sorted(days.items()))

    def days(self, dates: Sequence[dt.date], default: str) -> list[Day]:
        """Days to publish: every date for the clusters with good lines on it, ordered by cluster.

        A cluster without good lines on a date keeps its published rows; a date without any goes to `default`.
        """
        return sorted(
            (Day(date, cluster) for date in dates for cluster in self.clusters(date) or [default]),
            key=lambda day: (day.cluster, day.date),
        )

    def clusters(self, date: dt.date | None = None) -> list[str]:
        """Clusters with good lines on the date, by default on any date."""
        return sorted(
            {
                cluster
                for disposition, cluster, day in self.line_counts
                if disposition == PUBLISHED and (date is None or day == date)
            }
        )

    def counts(self, day: Day) -> Counts:
        """Counts that a run of only this day and cluster would report.

        Bad lines without a day count on every day. Lines that are neither on another day, nor of this cluster, nor
        taken by it (see `_bad_of`) belong to other clusters.
        """
        takes = {PUBLISHED: [day.cluster], DUPLICATE: [day.cluster], QUARANTINED: self._bad_of(day)}
        places: Counter[str] = Counter()
        for (disposition, cluster, date), count in self.line_counts.items():
            is_of_day = date in (None, day.date)
            place = (
                OTHER_DAY if not is_of_day else disposition if cluster in takes.get(disposition, ()) else _OTHER_CLUSTER
            )
            places[place] += count
        return Counts(
            self.rows_read, *(places[place] for place in (PUBLISHED, QUARANTINED, DUPLICATE, OTHER_DAY, _OTHER_CLUSTER))
        )

    def rows_published(self, name: str, day: Day) -> int:
        """Number of good lines of one input on the day; 0 if the input was not read."""
        source = self[name]
        return source.line_counts.get((PUBLISHED, day.cluster, day.date), 0) if source else 0

    def quarantine(self, day: Day, run_id: str) -> DataFrame:
        """Rows of the table `quarantine`: the day's bad lines and those without a day."""
        return reduce(DataFrame.unionByName, (self._quarantine_of(source, day, run_id) for source in self.read))

    def rows_quarantined(self, day: Day) -> int:
        """Number of rows of `quarantine`."""
        return sum(
            source.line_counts.get((QUARANTINED, cluster, date), 0)
            for source in self.read
            for cluster in self._bad_of(day)
            for date in (day.date, None)
        )

    def _bad_of(self, day: Day) -> list[str]:
        """Clusters whose bad lines the day takes: its own; the date's first also takes those without good lines."""
        hosts = self.clusters(day.date)
        keys = (key for source in self.read for key in source.line_counts)
        bad = {cluster for disposition, cluster, _ in keys if disposition == QUARANTINED}
        strays = bad - set(hosts) if day.cluster in hosts[:1] or not hosts else set()
        return sorted({day.cluster} | strays)

    def _quarantine_of(self, source: StagedInput, day: Day, run_id: str) -> DataFrame:
        of_day = F.col("day").isNull() | (F.col("day") == F.lit(day.date))
        bad = source.lines.where(
            (F.col("disposition") == QUARANTINED) & of_day & F.col("cluster").isin(self._bad_of(day))
        )
        numbered = bad.join(F.broadcast(line_numbers(source.lines)), ["file", "split"])
        return numbered.select(
            F.lit(day.date).alias("event_date"),
            F.lit(day.cluster).alias("cluster"),
            F.lit(source.name).alias("source"),
            shown_path(F.col("file")).alias("file"),
            (F.col("lines_before") + F.col("row") - F.col("first_row") + 1).alias("line"),
            "reason",
            reasons_of("faults").alias("reasons"),
            detail_of("faults").alias("detail"),
            "raw",
            F.lit(run_id).alias("run_id"),
        )
