"""Incidents: stretches in which many producers isolate the same broker."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.producers import PRODUCER


def broker_incidents(isolations: DataFrame, sends: DataFrame, share: float) -> DataFrame:
    """Stretches in which at least `share` of the day's producers with the switch on isolate one broker.

    Grain: `cluster`, `broker_name`, `start_ms`. Isolations that touch count as one.

    Args:
        isolations: the day's isolations; those not enforced are left out.
        sends: the day's attempts with `enforced`. A producer that only holds an isolation from the day before counts
            as one of the day's too.
        share: of the producers, between 0 and 1.
    """
    present = sends.where("enforced").select(*PRODUCER).unionByName(isolations.where("enforced").select(*PRODUCER))
    producers = present.groupBy("cluster").agg(F.count_distinct(*PRODUCER[1:]).alias("producers"))
    steps = (
        isolations.where("enforced AND end_ms > start_ms")
        .select(
            "cluster",
            "broker_name",
            F.explode(
                F.array(
                    F.struct(F.col("start_ms").alias("at_ms"), F.lit(1).alias("step")),
                    F.struct(F.col("end_ms").alias("at_ms"), F.lit(-1).alias("step")),
                )
            ).alias("move"),
        )
        .groupBy("cluster", "broker_name", "move.at_ms")
        .agg(F.sum("move.step").alias("step"))
    )
    in_time = Window.partitionBy("cluster", "broker_name").orderBy("at_ms")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    levels = steps.withColumns({"isolating": F.sum("step").over(so_far), "until_ms": F.lead("at_ms").over(in_time)})
    high = levels.join(F.broadcast(producers), "cluster").withColumn(
        "is_high", (F.col("isolating") > 0) & (F.col("isolating") >= F.col("producers") * F.lit(share))
    )
    begins = F.col("is_high") & ~F.coalesce(F.lag("is_high").over(in_time), F.lit(False))
    numbered = high.withColumn("incident", F.sum(begins.cast("int")).over(so_far)).where("is_high")
    return (
        numbered.groupBy("cluster", "broker_name", "incident")
        .agg(
            F.min("at_ms").alias("start_ms"),
            F.max("until_ms").alias("end_ms"),
            F.max("isolating").alias("peak_producers"),
            F.max("producers").alias("producers"),
        )
        .withColumn("peak_share", F.col("peak_producers") / F.col("producers"))
        .drop("incident")
    )
