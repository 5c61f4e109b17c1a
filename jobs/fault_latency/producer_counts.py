"""What a summary counts of producers: rows of `producer_days` to a few."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_ROWS = 8


def totals(producers: DataFrame) -> DataFrame:
    """One row over all rows of `producer_days`."""
    return producers.agg(
        F.count_distinct("client_id", "producer_group").alias("producers"),
        F.coalesce(F.sum(F.when(F.col("enforced"), F.col("isolations"))), F.lit(0)).alias("isolations"),
        F.coalesce(F.sum(F.when(~F.col("enforced"), F.col("isolated_ms"))), F.lit(0)).alias("would_have"),
        F.count_if("switch_assumed").alias("assumed"),
        F.coalesce(F.sum("contradictions"), F.lit(0)).alias("contradictions"),
    )


def worst_producers(producers: DataFrame) -> DataFrame:
    """Producers that isolated longest."""
    by_producer = (
        producers.where("enforced")
        .groupBy("client_id", "producer_group")
        .agg(
            F.max("client_version").alias("client_version"),
            F.sum("isolated_ms").alias("isolated_ms"),
            F.sum("isolations").alias("isolations"),
            F.sum("contradictions").alias("contradictions"),
        )
    )
    worst = by_producer.where("isolated_ms > 0").orderBy(F.desc("isolated_ms"), "client_id", "producer_group")
    return worst.limit(_ROWS)


def contradicting(producers: DataFrame) -> DataFrame:
    """Producers whose first attempts contradict the replay, most first."""
    counts = producers.groupBy("client_id", "producer_group").agg(F.sum("contradictions").alias("contradictions"))
    most = counts.where("contradictions > 0").orderBy(F.desc("contradictions"), "client_id", "producer_group")
    return most.limit(_ROWS)
