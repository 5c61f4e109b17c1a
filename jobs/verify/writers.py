"""Writers: producers with a recorder, and client logs with the clients that write into them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.kinds import Source

WRITER = ("source", "writer", "producer_group")
"""Who wrote: the client id of a recorded producer and its group, or a log, which says no group."""


def recorded_producers(updates: DataFrame) -> DataFrame:
    """One row per producer with a record: `WRITER`, `client_id`, `log_version` (null).

    Args:
        updates: rows of `fault_item_updates` of the day.
    """
    return updates.select(
        F.lit(Source.RECORDED).alias("source"),
        F.col("client_id").alias("writer"),
        "producer_group",
        "client_id",
        F.lit(None).cast("string").alias("log_version"),
    ).distinct()


def clients_of_logs(log_lines: DataFrame) -> DataFrame:
    """One row per client log and client of its process: `WRITER`, `client_id` (null = it names none), `log_version`.

    Settings of a log take precedence over its content.

    Args:
        log_lines: good lines of client logs, of any day: a client logs its id when it starts.
    """
    lines = log_lines.where("event IS NOT NULL").withColumnRenamed("process", "writer")
    named = F.coalesce("said_client_id", F.when(F.col("event") == "INSTANCE", F.col("client_id")))
    clients = (
        lines.groupBy("writer", named.alias("client_id"))
        .agg(F.max("client_version").alias("log_version"))
        .where("client_id IS NOT NULL")
    )
    return (
        lines.select("writer")
        .distinct()
        .join(clients, "writer", "left")
        .select(
            F.lit(Source.CLIENT_LOG).alias("source"),
            "writer",
            F.lit("").alias("producer_group"),
            "client_id",
            "log_version",
        )
    )
