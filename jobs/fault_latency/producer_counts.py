"""What a summary counts of producers: rows of `producer_days` to a few."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from udfs.version import highest_version

_ROWS = 8


@dataclass(frozen=True)
class Producer:
    """A producer that isolated brokers for long."""

    client_id: str
    producer_group: str
    client_version: str | None
    isolated_ms: int
    isolations: int
    contradictions: int


@dataclass(frozen=True)
class ProducerGroup:
    """A producer group whose clients isolated brokers, and how many of them did."""

    producer_group: str
    clients: int
    isolated_ms: int
    isolations: int


@dataclass(frozen=True)
class Contradicting:
    """A producer whose first attempts contradict the replay, and how many do."""

    client_id: str
    producer_group: str
    contradictions: int


def totals(producers: DataFrame) -> DataFrame:
    """One row over all rows of `producer_days`."""
    is_isolating = F.col("enforced") & (F.col("isolated_ms") > 0)
    return producers.agg(
        F.count_distinct("client_id", "producer_group").alias("producers"),
        F.coalesce(F.sum(F.when(F.col("enforced"), F.col("isolations"))), F.lit(0)).alias("isolations"),
        F.coalesce(F.sum(F.when(~F.col("enforced"), F.col("isolated_ms"))), F.lit(0)).alias("would_have"),
        F.count_if("switch_assumed").alias("assumed"),
        F.count_distinct(F.when(F.col("enforced"), F.struct("client_id", "producer_group"))).alias("switched_on"),
        F.count_distinct(F.when(F.col("recorded_updates") > 0, F.struct("client_id", "producer_group"))).alias(
            "recorded"
        ),
        F.count_distinct(F.when(is_isolating, F.struct("client_id", "producer_group"))).alias("isolating_producers"),
        F.count_distinct(F.when(is_isolating, F.col("producer_group"))).alias("isolating_groups"),
        F.coalesce(F.sum("contradictions"), F.lit(0)).alias("contradictions"),
    )


def worst_producers(producers: DataFrame) -> DataFrame:
    """Producers that isolated longest."""
    by_producer = (
        producers.where("enforced")
        .groupBy("client_id", "producer_group")
        .agg(
            highest_version(F.col("client_version")).alias("client_version"),
            F.sum("isolated_ms").alias("isolated_ms"),
            F.sum("isolations").alias("isolations"),
            F.sum("contradictions").alias("contradictions"),
        )
    )
    worst = by_producer.where("isolated_ms > 0").orderBy(F.desc("isolated_ms"), "client_id", "producer_group")
    return worst.limit(_ROWS)


def worst_groups(producers: DataFrame) -> DataFrame:
    """Producer groups whose clients isolated longest."""
    isolating = producers.where("enforced AND isolated_ms > 0")
    by_group = isolating.groupBy("producer_group").agg(
        F.count_distinct("client_id").alias("clients"),
        F.sum("isolated_ms").alias("isolated_ms"),
        F.sum("isolations").alias("isolations"),
    )
    return by_group.orderBy(F.desc("isolated_ms"), "producer_group").limit(_ROWS)


def contradicting(producers: DataFrame) -> DataFrame:
    """Producers whose first attempts contradict the replay, most first."""
    counts = producers.groupBy("client_id", "producer_group").agg(F.sum("contradictions").alias("contradictions"))
    most = counts.where("contradictions > 0").orderBy(F.desc("contradictions"), "client_id", "producer_group")
    return most.limit(_ROWS)
