"""Published days of one cluster of a lake, read without Spark."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.days import Span, latest_text, spans_without
from jobs.answers.delta_table import NO_OPTIONS, Options, is_lake, is_table, opened, rows_of
from jobs.answers.window import Window
from jobs.errors import InputMissingError, LakeError
from jobs.intervals.of_lists import grouped
from jobs.tables import RUN_LOG, TABLES, Table

DISPOSITIONS = ("published", "quarantined", "duplicate", "other_day", "other_cluster")
"""Where the lines read went, as the run log's `rows_…` have it."""


@dataclass(frozen=True)
class Published:
    """Some published days of one cluster.

    Attributes:
        root: folder or URI of the lake.
        cluster: the requested cluster.
        days: the requested days that are published, in order; never empty.
        all_days: every published day of the cluster, in order.
        producer_group: the only one whose rows count, in tables with that column; None = all.
        window: the only time whose rows count, in tables whose rows have a time; None = the whole days.
        not_published: the requested days that are not published, as spans.
        options: for delta-rs; never shown, as they may hold secrets.
    """

    root: str
    cluster: str
    days: tuple[dt.date, ...]
    all_days: tuple[dt.date, ...]
    producer_group: str | None = None
    window: Window | None = None
    not_published: tuple[Span, ...] = ()
    options: Options = field(default_factory=lambda: NO_OPTIONS, repr=False, compare=False)

    def rows(
        self,
        table: Table,
        columns: Sequence[str],
        where: pc.Expression | None = None,
        days: Sequence[dt.date] | None = None,
    ) -> pa.Table:
        """The rows of a table on these days, in no order.

        Args:
            table: what to read; one that the lake lacks has no rows.
            columns: what to read of it.
            where: which rows; all if None.
            days: other days than the requested ones.

        Raises:
            LakeError: the table has another version than this program knows, or cannot be read.
        """
        wanted = self._wanted(table, self.days if days is None else days, where)
        return rows_of(self.root, table, columns, wanted, self.options)

    def first_rows(
        self,
        table: Table,
        order: Sequence[str],
        limit: int,
        where: pc.Expression | None,
        narrowed: Callable[[pa.Table], pa.Table],
    ) -> tuple[pa.Table, int]:
        """The first rows of a table on these days, with every column, and how many there are in all.

        Read in batches: a few rows of a large day need little memory.

        Args:
            table: what to read; one that the lake lacks has no rows.
            order: columns that come first, ascending.
            limit: most rows to return.
            where: which rows; all if None.
            narrowed: filters by what an expression cannot say.

        Raises:
            LakeError: the table has another version than this program knows, or cannot be read.
        """
        ascending = [(name, "ascending") for name in order]
        with opened(self.root, table, self.options) as rows:
            first, found = rows.schema.empty_table(), 0
            pieces = rows.to_batches(
                columns=table.schema.fieldNames(),
                filter=self._wanted(table, self.days, where),
                batch_readahead=1,
                fragment_readahead=1,
            )
            for piece in pieces:
                wanted = narrowed(pa.Table.from_batches([piece]))
                found += wanted.num_rows
                first = pa.concat_tables([first, wanted], promote_options="default").sort_by(ascending).slice(0, limit)
        return first, found

    def values(self, table: Table, column: str) -> set[str]:
        """The distinct values of a text column on these days, without null; read in batches.

        Raises:
            LakeError: the table has another version than this program knows, or cannot be read.
        """
        with opened(self.root, table, self.options) as rows:
            pieces = rows.to_batches(columns=[column], filter=self._wanted(table, self.days, None))
            return {value for piece in pieces for value in pc.unique(piece[column]).to_pylist() if value is not None}

    def _wanted(self, table: Table, days: Sequence[dt.date], where: pc.Expression | None) -> pc.Expression:
        wanted = pc.field("event_date").isin(list(days)) & (pc.field("cluster") == pc.scalar(self.cluster))
        if self.producer_group is not None and "producer_group" in table.schema.fieldNames():
            wanted &= pc.field("producer_group") == pc.scalar(self.producer_group)
        if self.window is not None and (within := self.window.rows_within(table)) is not None:
            wanted &= within
        return wanted if where is None else wanted & where

    def lengths_ms(self, intervals: pa.Table, until: str = "end_ms") -> pa.ChunkedArray:
        """Length of each row's interval from `start_ms` to `until`, clipped to the window."""
        start, end = intervals["start_ms"], intervals[until]
        if self.window is not None:
            start = pc.max_element_wise(start, pa.scalar(self.window.since_ms))
            end = pc.min_element_wise(end, pa.scalar(self.window.until_ms))
        return pc.max_element_wise(pc.subtract(end, start), pa.scalar(0))

    @cached_property
    def run_events(self) -> tuple[dict[str, Any], ...]:
        """Events of the run log of every published day of the cluster, in the order in which they were written.

        Raises:
            LakeError: the run log has another version than this program knows, or cannot be read.
        """
        columns = (
            *("event_date", "flow", "status", "run_id", "started_from", "logged_at", "event_seq", "client_logs"),
            *(f"rows_{name}" for name in DISPOSITIONS),
            *("settings_hash", "input_settings_hash", "code_version"),
        )
        events = self.rows(RUN_LOG, columns, None, self.all_days).to_pylist()
        # Of events at the same time, success comes last.
        events.sort(key=lambda event: (event["event_seq"], event["logged_at"], event["status"] == "SUCCEEDED"))
        return tuple(events)


def published_days(root: str, options: Options = NO_OPTIONS) -> dict[str, tuple[dt.date, ...]]:
    """The published days of each cluster, in order; never empty.

    Raises:
        LakeError: there is no lake, it cannot be read, or it is of another version.
        InputMissingError: no day is published.
    """
    if not is_lake(root, options):
        raise LakeError(f"{root} is not a lake: it holds no run log; name with --lake what a run of faultline wrote")
    succeeded = pc.field("status") == pc.scalar("SUCCEEDED")
    columns = ["cluster", "event_date"]
    runs = rows_of(root, RUN_LOG, columns, succeeded, options).group_by(columns).aggregate([])
    if not runs:
        raise InputMissingError(f"no day is published in {root}; run faultline nightly first")
    of_clusters = grouped(runs.to_pylist(), lambda run: str(run["cluster"]))
    return {cluster: tuple(sorted(run["event_date"] for run in rows)) for cluster, rows in sorted(of_clusters.items())}


def clusters_of_runs(root: str, options: Options = NO_OPTIONS) -> set[str]:
    """The clusters of which a run began, whether or not a day is published; none where there is no lake.

    Raises:
        LakeError: it cannot be read, or is of another version.
    """
    return set(rows_of(root, RUN_LOG, ["cluster"], pc.scalar(True), options)["cluster"].to_pylist())


def check_tables(root: str, options: Options = NO_OPTIONS) -> None:
    """Check that each table is there that a run has written: without it, it would read as empty.

    Raises:
        LakeError: one is not there, or the run log cannot be read.
    """
    logs = rows_of(root, RUN_LOG, ("table_versions",), pc.field("table_versions").is_valid(), options)
    written = {name for text in logs["table_versions"].unique().to_pylist() for name in json.loads(text)}
    for table in TABLES:
        if table.name in written and not is_table(root, table, options):
            raise LakeError(
                f"table {table.name} is not in {root}, though a run wrote it; restore it, or publish its days again"
            )


def open_published(
    root: str, cluster: str | None, first: dt.date | None, last: dt.date | None, options: Options = NO_OPTIONS
) -> Published:
    """Open the days from `first` to `last`; without them, the last published day.

    Args:
        root: folder or URI of the lake.
        cluster: None takes the lake's only cluster.
        first: first day, inclusive.
        last: last day, inclusive.
        options: for delta-rs.

    Raises:
        LakeError: there is no lake, it cannot be read, or it is of another version.
        InputMissingError: the cluster or all of the days are not published; lists those that are.
    """
    days = published_days(root, options)
    name = _chosen_cluster(root, cluster, list(days))
    all_days = days[name]
    first = first or last or all_days[-1]
    last = last or first
    requested = tuple(day for day in all_days if first <= day <= last)
    if not requested:
        wanted = f"{first}" if last == first else f"{first} to {last}"
        raise InputMissingError(
            f"nothing of {wanted} is published for cluster {name!r} in {root}; there is {latest_text(all_days)}"
        )
    return Published(
        root, name, requested, all_days, not_published=spans_without(requested, first, last), options=options
    )


def _chosen_cluster(root: str, requested: str | None, there: Sequence[str]) -> str:
    if requested is None and len(there) == 1:
        return there[0]
    names = ", ".join(map(repr, there))
    if requested is None:
        raise InputMissingError(f"{root} holds {len(there)} clusters; name one of them with --cluster: {names}")
    if requested not in there:
        raise InputMissingError(
            f"cluster {requested!r} has no published day in {root}; name another with --cluster: {names}"
        )
    return requested
