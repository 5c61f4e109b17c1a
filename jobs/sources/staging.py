"""Stages input lines: each with its disposition, counted and reconciled before anything is published."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F

from jobs.errors import (
    InputMissingError,
    ReconciliationError,
)
from jobs.settings.inputs import FilesInput, SendsInput
from jobs.settings.model import Settings
from jobs.sources.client_log import CLIENT_LOGS, read_client_logs
from jobs.sources.contents import TEXT
from jobs.sources.dispositions import BLANK, DUPLICATE, PUBLISHED, QUARANTINED, copies, line_counts, with_copies
from jobs.sources.fault_item_log import FAULT_ITEM_LOGS, read_fault_item_logs
from jobs.sources.fault_item_updates import UPDATE_LINES
from jobs.sources.files import check_unchanged, list_files, unreadable
from jobs.sources.line_kinds import read_lines
from jobs.sources.local_files import Listing
from jobs.sources.log_files import check_heads, log_counts, log_files, with_processes
from jobs.sources.send_kinds import format_of
from jobs.sources.send_log import read_sends
from jobs.sources.snapshots import KINDS, ROUTES
from jobs.sources.staged import Staged, StagedInput
from jobs.sources.staged_sends import StagedSends
from jobs.sources.topic_route import ANSWER, answered_route, broker_names

_LOGS = (CLIENT_LOGS, FAULT_ITEM_LOGS)
_Days = tuple[dt.date, dt.date]
_Read = Callable[[SparkSession, Listing, Settings, _Days, Observation], DataFrame]
_EVERY_DAY = (dt.date(1970, 1, 1), dt.date.max)
_OF_ROUTES = ("captured_at_ms", "topic", "route")


@dataclass(frozen=True)
class _Written:
    """One input whose lines are staged but not counted yet.

    Attributes:
        path: where they are.
        row_count: has `rows_read`, observed where they were read.
    """

    name: str
    manifest: Listing
    path: str
    lines: DataFrame
    row_count: Observation


def stage_sends(spark: SparkSession, settings: Settings, days: _Days, folder: str) -> StagedSends:
    """Read every file of send attempts and of fault item updates once and stage every line below `folder`.

    Raises:
        InputMissingError: no such path, or no file in it.
        InputUnreadableError: a file that cannot be read to its end, or that changed meanwhile.
        ReconciliationError: lines read and lines staged differ in number.
    """
    manifests = _manifests(spark, settings, ("sends", ROUTES.name, UPDATE_LINES.name))
    routes = _written(spark, manifests, {ROUTES.name: _read_routes}, settings, _EVERY_DAY, folder)
    answers = routes[0].lines.where(F.col("disposition") == PUBLISHED).select(*_OF_ROUTES) if routes else None
    names = broker_names(answers) if answers is not None else None
    readers = {"sends": partial(read_sends, broker_names=names), UPDATE_LINES.name: partial(read_lines, UPDATE_LINES)}
    written = _written(spark, manifests, readers, settings, days, folder)
    staged = _staged(spark, [*written, *routes])
    return StagedSends(staged[: len(written)], staged[len(written) :], answers)


def stage_snapshots(spark: SparkSession, settings: Settings, days: _Days, folder: str) -> Staged:
    """Read each file of snapshots, routes, running info and client logs once and stage every line below `folder`.

    Raises:
        InputMissingError: no such path, or no file in it.
        InputUnreadableError: a file that cannot be read to its end, that changed meanwhile, or is not a log.
        ReconciliationError: lines read and lines staged differ in number.
    """
    readers: dict[str, _Read] = {kind.name: partial(read_lines, kind) for kind in KINDS}
    readers[CLIENT_LOGS] = read_client_logs
    manifests = _manifests(spark, settings, readers)
    return Staged(_staged(spark, _written(spark, manifests, readers, settings, days, folder)))


def stage_fault_item_logs(spark: SparkSession, settings: Settings, folder: str) -> Staged:
    """Read each client log once for its lines about fault items and stage them below `folder`; without logs nothing.

    Good lines of every day stay: a client logs its id when it starts.

    Raises:
        InputMissingError: no such path, or no file in it.
        InputUnreadableError: a file that cannot be read to its end, that changed meanwhile, or is not a log.
        ReconciliationError: lines read and lines staged differ in number.
    """
    if not settings.inputs.client_logs.path:
        return Staged(())
    manifests = {FAULT_ITEM_LOGS: _files(spark, CLIENT_LOGS, settings)}
    readers = {FAULT_ITEM_LOGS: read_fault_item_logs}
    return Staged(_staged(spark, _written(spark, manifests, readers, settings, _EVERY_DAY, folder)))


def _manifests(spark: SparkSession, settings: Settings, names: Iterable[str]) -> dict[str, Listing]:
    """The files of the inputs that have a path, all of them listed before any is read."""
    return {name: _files(spark, name, settings) for name in names if getattr(settings.inputs, name).path}


def _files(spark: SparkSession, name: str, settings: Settings) -> Listing:
    source: SendsInput | FilesInput = getattr(settings.inputs, name)
    format_asked_for = source.format if isinstance(source, SendsInput) else TEXT
    manifest = list_files(
        spark,
        source.path,
        lake=settings.lake,
        kind_of=lambda file: format_of(file, format_asked_for),
    )
    if not manifest.files:
        raise InputMissingError(
            f"no file in {', '.join(source.path)} (hidden ones are not read); give a folder that holds the {name}"
        )
    return manifest


def _read_routes(
    spark: SparkSession, manifest: Listing, settings: Settings, days: _Days, row_count: Observation
) -> DataFrame:
    """Lines of topic routes, each with its answer's route; a line without a code is an answer here."""
    lines = read_lines(ROUTES, spark, manifest, settings, days, row_count)
    route = answered_route(F.coalesce("code", F.lit(ANSWER)), F.col("body"))
    return lines.withColumn("route", route).drop("code", "body")


def _written(
    spark: SparkSession,
    manifests: Mapping[str, Listing],
    readers: Mapping[str, _Read],
    settings: Settings,
    days: _Days,
    folder: str,
) -> list[_Written]:
    """The lines of those inputs that have files, staged below the folder."""

    def write(name: str, manifest: Listing, read: _Read) -> _Written:
        row_count = Observation(name)
        path = f"{folder}/{name}"
        try:
            lines = _thinned(read(spark, manifest, settings, days, row_count))
            lines.write.parquet(path)
        except (Py4JJavaError, PySparkException) as error:
            check_unchanged(spark, manifest)
            raise unreadable(error, manifest) or error from error
        check_unchanged(spark, manifest)
        return _Written(name, manifest, path, spark.read.schema(lines.schema).parquet(path), row_count)

    return [write(name, manifests[name], read) for name, read in readers.items() if name in manifests]


def _staged(spark: SparkSession, inputs: Sequence[_Written]) -> tuple[StagedInput, ...]:
    """The lines of all inputs, counted by one query; copies are searched only where it counts some."""
    counts = [
        (log_counts if each.name in _LOGS else line_counts)(each.lines).withColumn("input", F.lit(each.name))
        for each in inputs
    ]
    rows = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), counts).collect()
    return tuple(_reconciled(spark, each, [row for row in rows if row["input"] == each.name]) for each in inputs)


def _reconciled(spark: SparkSession, written: _Written, count_rows: Sequence[Row]) -> StagedInput:
    """The input with its counts; equal lines after the first are duplicates."""
    of_input = [row for row in count_rows if row["disposition"] != BLANK]
    observed = written.row_count.get
    read, staged = observed["rows_read"], sum(row["lines"] for row in of_input)
    if read != staged:
        raise ReconciliationError(
            f"{read} lines of {written.name} were read but {staged} staged; run again and report it"
        )
    if written.name in _LOGS:
        check_heads(written.lines, written.manifest, count_rows)
    counts: Counter[tuple[str, str, dt.date | None]] = Counter()
    for row in of_input:
        counts[row["disposition"], row["cluster"], row["day"]] += row["lines"] - row["copies"]
        counts[DUPLICATE, row["cluster"], row["day"]] += row["copies"]
    lines = written.lines
    if any(row["copies"] for row in count_rows):
        duplicates, path = copies(lines), f"{written.path}-copies"
        duplicates.write.parquet(path)
        lines = with_copies(lines, spark.read.schema(duplicates.schema).parquet(path))
    files = log_files(count_rows) if written.name in _LOGS else []
    if written.name == CLIENT_LOGS:
        lines = with_processes(lines, files)
    return StagedInput(written.name, lines, written.manifest, +counts, observed, tuple(files))


def _thinned(lines: DataFrame) -> DataFrame:
    """One row per line, with the columns still needed: place and disposition always, fields when it is published."""
    place = {"file", "split", "row", "cluster", "day", "disposition", "log_line"}
    needed_by = {"raw": QUARANTINED, "reason": QUARANTINED, "faults": QUARANTINED}
    return lines.drop("damage").select(
        *(
            F.col(name)
            if name in place
            else F.when(F.col("disposition") == needed_by.get(name, PUBLISHED), F.col(name)).alias(name)
            for name in lines.columns
            if name != "damage"
        )
    )
