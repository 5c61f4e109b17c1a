"""Intervals in which a policy would have isolated every broker that a process could choose from."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.keys import PROCESS
from jobs.intervals.concurrent_counts import concurrent_counts

_GROUP = ("event_date", *PROCESS, "policy")


def all_isolated(isolated: DataFrame, brokers: DataFrame) -> DataFrame:
    """One row per interval without a choice and broker of the process: the client then sends to an isolated broker.

    Grain: `event_date`, `PROCESS`, `policy`, `broker_name`, `start_ms`. `begins` is false when it lasted at 00:00 UTC
    already.

    Args:
        isolated: isolations cut at midnight; those of one broker and policy do not overlap.
        brokers: as `brokers_of_process` returns them.
    """
    keys = (*_GROUP, "brokers")
    of_choices = (
        isolated.join(brokers, ["event_date", *PROCESS])
        .where(F.array_contains("brokers", F.col("broker_name")))
        .select(
            *keys, "start_ms", "end_ms", F.lit(1).alias("isolations"), F.col("begins").cast("int").alias("begun_today")
        )
    )
    counts = concurrent_counts(of_choices, keys, ("isolations", "begun_today"))
    # After 00:00 such an interval starts with an isolation that begins; at 00:00 all of its isolations start.
    return counts.where(F.col("isolations") == F.size("brokers")).select(
        *_GROUP,
        "start_ms",
        "end_ms",
        (F.col("begun_today") > 0).alias("begins"),
        F.explode("brokers").alias("broker_name"),
    )
