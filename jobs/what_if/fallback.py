"""Intervals in which a policy would have isolated every broker that a process could choose from."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.what_if.isolations import PROCESS

_GROUP = ("event_date", *PROCESS, "rule")


def all_isolated(isolated: DataFrame, brokers: DataFrame) -> DataFrame:
    """One row per interval without a choice and broker of the process: the client then sends to an isolated broker.

    Grain: `event_date`, `PROCESS`, `rule`, `broker_name`, `start_ms`. `begins` is false when it lasted at 00:00 UTC
    already.

    Args:
        isolated: isolations cut at midnight.
        brokers: the brokers that each process could choose from.
    """
    moments = (
        isolated.join(brokers, ["event_date", *PROCESS])
        .where(F.array_contains("brokers", F.col("broker_name")))
        .select(
            *_GROUP,
            "broker_name",
            "brokers",
            F.explode(
                F.array(
                    F.struct(F.col("start_ms").alias("at_ms"), "begins", F.lit(1).alias("change")),
                    F.struct(F.col("end_ms").alias("at_ms"), F.lit(False).alias("begins"), F.lit(-1).alias("change")),
                )
            ).alias("moment"),
        )
        .select(*_GROUP, "broker_name", "brokers", "moment.*")
    )
    # At the same millisecond an end comes before a start: what only touches does not overlap.
    in_order = Window.partitionBy(*_GROUP).orderBy("at_ms", "begins", "broker_name")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        moments.withColumns({"isolated_now": F.sum("change").over(so_far), "end_ms": F.lead("at_ms").over(in_order)})
        .where((F.col("isolated_now") == F.size("brokers")) & (F.col("end_ms") > F.col("at_ms")))
        .select(
            *_GROUP, F.col("at_ms").alias("start_ms"), "end_ms", "begins", F.explode("brokers").alias("broker_name")
        )
    )
