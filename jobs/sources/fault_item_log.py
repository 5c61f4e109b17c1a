"""Client logs for `faultline verify`: what a producer's client wrote about its fault items (5.1.4 and later)."""

from __future__ import annotations

import datetime as dt

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from jobs.settings.model import Settings
from jobs.sources.client_log import entry_rules, log_entries
from jobs.sources.dispositions import with_disposition
from jobs.sources.line_faults import with_faults
from jobs.sources.local_files import Listing
from udfs.fault_item_log import fault_item_event, fault_item_fields, fault_item_message, is_broken_off

FAULT_ITEM_LOGS = "fault_item_logs"
SCHEMA = (
    "file string, split bigint, row bigint, cluster string, process string, at_ms bigint, said_client_id string,"
    " event string, broker_name string, not_available_ms bigint, client_id string, client_version string, day date"
)
"""Columns of published lines; from `event` on null for lines that are not about fault items."""


def read_fault_item_logs(
    spark: SparkSession, manifest: Listing, settings: Settings, days: tuple[dt.date, dt.date], row_count: Observation
) -> DataFrame:
    """One row per line of the logs, with its disposition, and its event if it is about a fault item.

    Columns: `file`, `split`, `row`, `cluster`, `process` (see `client_log.process_of`), `at_ms`, `said_client_id` (by
    settings), `event` and the fields of `udfs.fault_item_log`, `raw`, `reason`, `faults`, `day`, `disposition`. What a
    line means for the second flow is ignored. Equal lines are not duplicates: several producers of a process
    write the same.

    Args:
        spark: the session.
        manifest: the files.
        settings: cluster, limits, `client_logs`.
        days: first and last requested UTC day.
        row_count: gets `rows_read` when the lines are read.
    """
    with_event = log_entries(spark, manifest, settings, row_count, fault_item_message).withColumn(
        "event", fault_item_event(F.col("message"))
    )
    fields = fault_item_fields(F.col("message"), F.col("event"))
    rules = [
        *entry_rules(settings),
        ("log_line_breaks_off", F.coalesce(is_broken_off(F.col("message"), F.col("event")), F.lit(False)), None),
    ]
    typed = with_event.withColumns(fields)
    return with_disposition(with_faults(typed, rules, {}).drop("message"), "at_ms", *days)
