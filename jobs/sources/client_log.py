"""Client logs: lines of `rocketmq_client.log` about queues that a consumer took or gave up."""

from __future__ import annotations

import datetime as dt
import fnmatch
import re
from collections.abc import Callable, Mapping

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from jobs.settings.consumer_groups import ClientLogSettings
from jobs.settings.model import Settings
from jobs.sources.dispositions import with_disposition
from jobs.sources.files import shown_path
from jobs.sources.json_lines import PLACE, text_lines
from jobs.sources.line_faults import Rule, is_no_time, with_faults
from jobs.sources.local_files import Listing
from jobs.uri import path_on_store
from udfs.client_log import (
    QUEUE_EVENTS,
    allocated_queues,
    event_fields,
    is_damaged,
    log_event,
    ownership_message,
)
from udfs.log_layouts import (
    has_own_zone,
    head_of,
    is_of_another_logger,
    logged_at_ms,
    looks_like_an_entry,
    part_of,
)

CLIENT_LOGS = "client_logs"
OWN, OTHER_LOGGER, WITHOUT_HEAD = "OWN", "OTHER_LOGGER", "WITHOUT_HEAD"
SCHEMA = (
    "file string, split bigint, row bigint, process string, at_ms bigint, said_client_id string, event string,"
    " consumer_group string, topic string, broker_name string, queue_id int, client_id string, strategy string,"
    " queues int, clients int, instance int, popped boolean,"
    " allocated array<struct<broker_name: string, queue_id: int>>, pid string"
)
"""Columns of published lines; `event` and all that follow are null for lines that are not about ownership."""
_OF_FILES = "shown string, process string, client_version string, time_zone string, said_client_id string"
_DATE = re.compile(r"20\d\d-?[01]\d-?[0-3]\d")
_ROLLED = re.compile(r"(?:other_days/)?(rocketmq_client)(?:[-.][-.\d*]+)?\.log(?:[-.][-.\d*]+)?(?:\.gz)?$")
_DATED = re.compile(r"(?<=.)[-._]?\*[-._\d*]*(\.|$)")
_NUMBER = re.compile(r"(?:\.\d{1,3})?(?:\.gz)?$")


def read_client_logs(
    spark: SparkSession, manifest: Listing, settings: Settings, days: tuple[dt.date, dt.date], row_count: Observation
) -> DataFrame:
    """One row per line of the logs, with its disposition, and its event if it is about ownership.

    Lines without a known head, such as stack traces, are BLANK and do not count as rows. Columns: those of
    `log_entries` except `message` and `damage`, the fields of `udfs.client_log`, `allocated`, `reason`, `faults`,
    `day`, `disposition`. Equal lines are not duplicates: lines of two queues differ, and a repeated line is harmless.

    Args:
        manifest: the files.
        settings: cluster, limits, `client_logs`.
        days: first and last requested UTC day.
        row_count: gets `rows_read` when the lines are read.
    """
    with_event = log_entries(spark, manifest, settings, row_count, ownership_message).withColumn(
        "event", log_event(F.col("message"))
    )
    event, text = F.col("event"), F.col("message")
    fields = event_fields(text, event)
    allocated = allocated_queues(text, event)
    no_number = event.isin(*QUEUE_EVENTS) & fields["queue_id"].isNull()
    no_numbers = F.exists(allocated, lambda queue: queue["queue_id"].isNull())
    breaks_off = _is_entry() & F.coalesce(is_damaged(text, event), F.lit(False))
    rules = [
        *entry_rules(settings),
        ("log_line_breaks_off", breaks_off, None),
        (
            "wrong_type",
            _is_entry() & F.coalesce(no_number | no_numbers, F.lit(False)),
            F.lit("queueId is not a number"),
        ),
    ]
    typed = with_event.withColumns({**fields, "allocated": allocated})
    return with_disposition(with_faults(typed, rules, {"wrong_type": breaks_off}).drop("message"), "at_ms", *days)


def log_entries(
    spark: SparkSession,
    manifest: Listing,
    settings: Settings,
    row_count: Observation,
    message: Callable[[Column], Column],
) -> DataFrame:
    """One row per line of the logs.

    Columns: place, `raw`, `message`, `damage` (null for an entry), `cluster`, `process` (see `process_of`), `pid`
    (null where the layout writes none), `at_ms`, `said_client_id` (by settings), `log_line` (of an entry OWN, or
    OTHER_LOGGER of a logger that is not the client's; WITHOUT_HEAD; null = it continues the entry before) and
    `has_zone` (false for an entry whose zone neither its layout nor the settings say, else null).

    Args:
        spark: the session.
        manifest: the files.
        settings: cluster, limits, `client_logs`.
        row_count: gets `rows_read` when the lines are read.
        message: from any message to the message to parse, else null; not applied to a line that is too long.
    """
    of_files = spark.createDataFrame(
        [(file.name, *_of_file(file.name, settings.client_logs)) for file in manifest.files], _OF_FILES
    )
    texts = text_lines(spark, list(manifest.readable)).withColumn("head", head_of(F.col("raw")))
    is_headless = F.col("head").isNull() & looks_like_an_entry(F.col("raw"))
    damage = F.when(is_headless, WITHOUT_HEAD).when(F.col("head").isNull(), "blank")
    counted_lines = texts.withColumn("damage", damage).observe(row_count, F.count_if(_is_entry()).alias("rows_read"))
    placed = counted_lines.withColumn("shown", shown_path(F.col("file"))).join(F.broadcast(of_files), "shown", "left")
    head, is_short = F.col("head"), F.octet_length("raw") <= settings.max_line_bytes
    looked_at = placed.withColumn("message", F.when(is_short, message(part_of(head, "message"))))
    is_others = F.col("message").isNull() & is_of_another_logger(head)
    own = F.when(_is_entry(), F.when(is_others, OTHER_LOGGER).otherwise(OWN))
    return looked_at.select(
        *PLACE,
        "raw",
        "message",
        "damage",
        F.lit(settings.cluster).alias("cluster"),
        F.coalesce("process", "shown").alias("process"),
        F.nullif(part_of(head, "pid"), F.lit("")).alias("pid"),
        logged_at_ms(head, F.col("client_version"), F.col("time_zone")).alias("at_ms"),
        "said_client_id",
        F.when(F.col("damage") == WITHOUT_HEAD, WITHOUT_HEAD).otherwise(own).alias("log_line"),
        F.when(F.col("time_zone").isNull() & ~has_own_zone(head), F.lit(False)).alias("has_zone"),
    )


def _is_entry() -> Column:
    """Whether the line starts an entry."""
    return F.col("damage").isNull()


def entry_rules(settings: Settings) -> list[Rule]:
    """Rules that make a line of any log bad."""
    length = F.octet_length("raw")
    return [
        ("time_out_of_range", _is_entry() & F.coalesce(is_no_time("at_ms"), F.lit(True)), F.left("raw", F.lit(30))),
        ("line_too_long", _is_entry() & (length > settings.max_line_bytes), F.concat(length, F.lit(" bytes"))),
    ]


def process_of(file: str) -> str:
    """The log that a file belongs to by its path: the path without store, suffixes of rolling, and daily folders.

    >>> process_of("s3a://bucket/logs/host-1/other_days/rocketmq_client-2026-11-20-1.log.gz")
    '/logs/host-1/rocketmq_client.log'
    >>> process_of("/logs/2026-11-20/host-1/rocketmq_client.log.3")
    '/logs/*/host-1/rocketmq_client.log'
    >>> [process_of(f"/l/{name}") for name in ("a.log.2", "a-2026-11-20.0.log.gz", "a.out-20261120", "a-1.log")]
    ['/l/a.log', '/l/a.log', '/l/a.out', '/l/a-1.log']
    """
    folder, slash, name = _ROLLED.sub(r"\1.log", _DATE.sub("*", path_on_store(file))).rpartition("/")
    return folder + slash + _NUMBER.sub("", _DATED.sub(r"\1", name))


def _of_file(name: str, by_glob: Mapping[str, ClientLogSettings]) -> tuple[str, str | None, str | None, str | None]:
    settings = next((settings for glob, settings in by_glob.items() if _is_below(name, glob)), ClientLogSettings())
    return process_of(name), settings.client_version, settings.time_zone, settings.client_id


def _is_below(name: str, glob: str) -> bool:
    """Whether a file matches `glob` or is below a folder that does; a relative glob may start at any folder.

    >>> [_is_below("/l/a/x.log", glob) for glob in ("/l/a/x.log", "a/x.log", "/l/*/x.log", "a", "/l/a/", "b")]
    [True, True, True, True, True, False]
    """
    whole = glob.rstrip("/") if glob.startswith("/") else f"*/{glob.strip('/')}"
    return fnmatch.fnmatchcase(name, whole) or fnmatch.fnmatchcase(name, f"{whole}/*")
