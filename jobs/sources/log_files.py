"""Entries read from each client log file, and which files are parts of one log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from jobs.errors import InputUnreadableError
from jobs.sources.client_log import OTHER_LOGGER, WITHOUT_HEAD
from jobs.sources.dispositions import BLANK, PUBLISHED, line_numbers
from jobs.sources.files import shown_path
from jobs.sources.json_lines import text_lines
from jobs.sources.local_files import Listing
from jobs.tables.day import Day
from udfs.client_log import NAMING
from udfs.log_layouts import head_of, looks_like_an_entry

_SHOWN = 120
_OVERLAP_MS = 10_000  # some appenders write late, so a part may end after the next one starts


@dataclass(frozen=True)
class LogFile:
    """The good entries of one file on one day.

    Attributes:
        file: its path.
        process: the log that it is a part of.
        of: the UTC day and the configured cluster.
        entries: lines with a known head.
        other_loggers: entries of other loggers than the client's.
        events: entries about what a client did, not only its id.
        zone_assumed: entries with no time zone in layout or settings; UTC is assumed.
        without_head: lines of the file, on any day, that look like entries but have no known head.
        first_ms: the first entry.
        last_ms: the last one.
        client_ids: ids of clients that wrote it.
    """

    file: str
    process: str
    of: Day
    entries: int
    other_loggers: int
    events: int
    zone_assumed: int
    without_head: int
    first_ms: int
    last_ms: int
    client_ids: frozenset[str]


def log_counts(lines: DataFrame) -> DataFrame:
    """One row per disposition, cluster, day and file: `lines`, `copies` (0), and the columns that `log_files` reads.

    Args:
        lines: staged lines of logs; lines without a head are BLANK.
    """
    counted = lines.where((F.col("disposition") != BLANK) | (F.col("log_line") == WITHOUT_HEAD))
    by = ("disposition", "cluster", "day", shown_path(F.col("file")).alias("shown"), "process")
    return counted.groupBy(*by).agg(
        F.count("*").alias("lines"),
        F.lit(0).cast("bigint").alias("copies"),
        F.count_if(F.col("log_line") == OTHER_LOGGER).alias("other_loggers"),
        F.count_if(~F.col("event").isin(*NAMING)).alias("events"),
        F.count("has_zone").alias("zone_assumed"),
        F.min("at_ms").alias("first_ms"),
        F.max("at_ms").alias("last_ms"),
        F.collect_set("client_id").alias("client_ids"),
    )


def log_files(counted: Sequence[Row]) -> list[LogFile]:
    """Log files by file and day.

    Args:
        counted: rows of `log_counts`.
    """
    headless = Counter[str]()
    for row in counted:
        headless[row["shown"]] += row["lines"] if row["disposition"] == BLANK else 0
    read = [
        LogFile(
            row["shown"],
            row["process"],
            Day(row["day"], row["cluster"]),
            row["lines"],
            row["other_loggers"],
            row["events"],
            row["zone_assumed"],
            headless[row["shown"]],
            row["first_ms"],
            row["last_ms"],
            frozenset(row["client_ids"]),
        )
        for row in counted
        if row["disposition"] == PUBLISHED
    ]
    return in_parts(read)


def in_parts(files: Sequence[LogFile]) -> list[LogFile]:
    """The files with the log that each is a part of: a part starts when another ends, and both contain a client id.

    Names of parts may differ. Without a common client id, names must be equal apart from suffixes of rolling. Files
    written at the same time belong to different processes, even if their names match.

    >>> import datetime as dt
    >>> def part(file, first_ms, last_ms, *client_ids, process="p"):
    ...     of = Day(dt.date(2026, 11, 21), "main")
    ...     return LogFile(file, process, of, 1, 0, 1, 0, 0, first_ms, last_ms, frozenset(client_ids))
    >>> files = [part("a", 0, 50_000, "x"), part("b", 50_000, 99_000, "x", process="q"), part("c", 0, 99_000, "y")]
    >>> [(file.file, file.process) for file in in_parts(files)]
    [('a', 'q'), ('b', 'q'), ('c', 'p')]
    """
    logs: list[list[LogFile]] = []
    for file in sorted(files, key=lambda file: (file.of.date, file.first_ms, file.last_ms, file.file)):
        before = [log for log in logs if log[-1].of == file.of and log[-1].last_ms <= file.first_ms + _OVERLAP_MS]
        same_client = (log for log in before if any(part.client_ids & file.client_ids for part in log))
        same_name = (log for log in before if log[-1].process == file.process)
        log = next((log for candidates in (same_client, same_name) for log in candidates), None)
        if log is None:
            logs.append([file])
        else:
            log.append(file)
    names: set[tuple[Day, str]] = set()
    return [part for log in logs for part in _named(log, names)]


def _named(log: Sequence[LogFile], names: set[tuple[Day, str]]) -> list[LogFile]:
    """Name of a log: its file name, or its whole path if another log of the day has the same file name."""
    last = log[-1]
    name = last.file if (last.of, last.process) in names else last.process
    names.add((last.of, name))
    return [replace(part, process=name) for part in log]


def with_processes(lines: DataFrame, files: Sequence[LogFile]) -> DataFrame:
    """The staged lines, with the `process` of good lines from `files`."""
    rows = [(file.file, file.of.date, file.process) for file in files]
    named = lines.sparkSession.createDataFrame(rows, "shown string, day date, log string")
    joined = lines.withColumn("shown", shown_path(F.col("file"))).join(F.broadcast(named), ["shown", "day"], "left")
    return joined.withColumn("process", F.coalesce("log", "process")).drop("shown", "log").select(*lines.columns)


def check_heads(lines: DataFrame, manifest: Listing, counted: Sequence[Row]) -> None:
    """Refuse a file whose lines all, or mostly, have no known head.

    Args:
        lines: all lines of the logs.
        manifest: the files.
        counted: rows of `log_counts`.

    Raises:
        InputUnreadableError: with the file and an example line.
    """
    entries, headless = Counter[str](), Counter[str]()
    for row in counted:
        (headless if row["disposition"] == BLANK else entries)[row["shown"]] += row["lines"]
    for path, file in manifest.readable.items():
        if not entries[file.name] or headless[file.name] > entries[file.name]:
            raise InputUnreadableError(_unknown_head(lines.sparkSession, path, file.name, entries, headless))


def _unknown_head(spark: SparkSession, path: str, name: str, entries: Counter[str], headless: Counter[str]) -> str:
    lines = text_lines(spark, [path])
    is_unknown = looks_like_an_entry(F.col("raw")) & head_of(F.col("raw")).isNull()
    candidates = (
        lines.where(is_unknown if headless[name] else F.col("raw").rlike(r"\S")).orderBy("split", "row").limit(1)
    )
    numbered = candidates.join(line_numbers(lines), ["file", "split"])
    number = F.col("lines_before") + F.col("row") - F.col("first_row") + 1
    first = numbered.select(number.alias("line"), F.left("raw", F.lit(_SHOWN)).alias("raw")).first()
    example = f": line {first['line']} is {first['raw']!r}" if first else ""
    how_many = (
        "holds no line of a client log"
        if not entries[name]
        else (
            f"is not a client log: {headless[name]:,} of {headless[name] + entries[name]:,} entries have no known head"
        )
    )
    return (
        f"{name} {how_many}{example}; an entry begins with date, time and level, such as 2026-11-21 00:43:37,370 INFO"
        " (docs/snapshots.md); name the logs by a glob, such as /logs/*/rocketmq_client*.log*"
    )
