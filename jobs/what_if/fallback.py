"""Stretches in which a policy would have isolated every broker that a process could choose from."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.what_if.isolations import PROCESS

_GROUP = ("event_date", *PROCESS, "rule")


def all_isolated(isolated: DataFrame, brokers: DataFrame) -> DataFrame:
    """When nothing was left to choose: the client then sends to an isolated broker all the same.

    Grain: `event_date`, `PROCESS`, `rule`, `broker_name`, `start_ms`: the stretch once per broker of the process.
    `begins` is false when it stood at 00:00 UTC.

    Args:
        isolated: isolations cut at midnight.
        brokers: the brokers that each process could choose from.
    """
    own = isolated.join(brokers, ["event_date", *PROCESS, "broker_name"], "left_semi")
    number = brokers.groupBy("event_date", *PROCESS).agg(F.count("*").alias("brokers"))
    at_all = own.groupBy(*_GROUP).agg(F.count_distinct("broker_name").alias("isolated_brokers"))
    total = at_all.join(number, ["event_date", *PROCESS]).where("isolated_brokers = brokers").drop("isolated_brokers")
    changes = own.join(total, list(_GROUP)).select(
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
    # At the same millisecond an end comes before a start: what only touches does not overlap.
    in_order = Window.partitionBy(*_GROUP).orderBy("moment.at_ms", "moment.begins", "broker_name")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    stretches = (
        changes.withColumns(
            {
                "isolated_now": F.sum("moment.change").over(so_far),
                "start_ms": F.col("moment.at_ms"),
                "begins": F.col("moment.begins"),
                "end_ms": F.lead("moment.at_ms").over(in_order),
            }
        )
        .where("isolated_now = brokers AND end_ms > start_ms")
        .select(*_GROUP, "start_ms", "end_ms", "begins")
    )
    return stretches.join(brokers, ["event_date", *PROCESS])
