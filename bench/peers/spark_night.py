"""`python -m bench.peers.spark_night SENDS OUT`: gz JSON lines of a day → Delta, the Spark job one writes first.

Windows over every send; on the days of bench/sends.py it gives the rows that Faultline gives. The session is the
plain one of a single machine, with the Delta jars that Faultline keeps.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from jobs.spark.delta_jars import delta_jars

_TYPES = {
    "queue_id": "int",
    "attempt": "int",
    "response_code": "int",
    "invoke_id": "bigint",
    "started_at_ms": "bigint",
    "ended_at_ms": "bigint",
    "latency_ms": "bigint",
    "submitted_at_ms": "bigint",
    "seq": "bigint",
    "fault_latency_enabled": "boolean",
    "detector_enabled": "boolean",
}
_TEXTS = (
    "client_id producer_group process_id cluster topic broker_name broker_addr client_version client_language mode"
    " result_broker_name outcome cause error msg_id thread queue_chosen_by order_key"
)
_SCHEMA = ", ".join(f"{name} {_TYPES.get(name, 'string')}" for name in (*_TEXTS.split(), *_TYPES))
_ITEM = ("cluster", "client_id", "producer_group", "broker_name")
_KEYS = ("cluster", "broker_name", "window_start_ms")
_MINUTE_MS, _DAY_MS = 60_000, 86_400_000
_LADDERS = {
    True: ((15_000, 30_000), (5_000, 10_000), (3_000, 6_000), (1_800, 5_000), (550, 2_000)),
    False: ((15_000, 600_000), (3_000, 180_000), (2_000, 120_000), (1_000, 60_000), (550, 30_000)),
}
"""Whether the latest end stays (5.3.3) → latency and isolation, highest first."""


def main(sends: str, out: str) -> None:
    """Read the folder of sends, write the three tables as Delta."""
    spark = _session()
    read = spark.read.schema(_SCHEMA).json(f"{sends}/*.jsonl.gz")
    ended_on = F.to_date(F.timestamp_millis("ended_at_ms"))
    dated = read.withColumns({"cluster": F.coalesce("cluster", F.lit("main")), "event_date": ended_on})
    dated.write.format("delta").partitionBy("event_date").save(f"{out}/sends")
    published = spark.read.format("delta").load(f"{out}/sends")
    isolations(published).write.format("delta").save(f"{out}/isolation_intervals")
    held = spark.read.format("delta").load(f"{out}/isolation_intervals")
    broker_windows(published, held).write.format("delta").save(f"{out}/broker_windows")
    spark.stop()


def isolations(sends: DataFrame) -> DataFrame:
    """One row per isolation."""
    latest_stays = F.col("client_version") >= "5.1.4"
    failure_ms = F.when(latest_stays, 10_000).otherwise(30_000)
    counted_ms = F.when(F.col("outcome") == "SEND_OK", F.col("latency_ms")).otherwise(failure_ms)
    isolated_ms = F.when(latest_stays, _rung(counted_ms, latest_stays=True)).otherwise(
        _rung(counted_ms, latest_stays=False)
    )
    in_order = Window.partitionBy(*_ITEM).orderBy("ended_at_ms", "seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    written_until = F.col("at_ms") + F.col("isolated_ms")
    latest = F.max(F.when(F.col("isolated_ms") > 0, written_until).otherwise(0)).over(so_far)
    is_isolated = F.col("until_ms") > F.col("at_ms")
    was_isolated = F.coalesce(F.lag("until_ms").over(in_order) > F.col("at_ms"), F.lit(False))
    states = (
        sends.withColumns({"at_ms": F.col("ended_at_ms"), "isolated_ms": isolated_ms, "latest_stays": latest_stays})
        .withColumn("until_ms", F.when(F.col("latest_stays"), latest).otherwise(written_until))
        .withColumns({"next_at_ms": F.lead("at_ms").over(in_order), "opens": (is_isolated & ~was_isolated).cast("int")})
        .withColumn("isolation", F.sum("opens").over(so_far))
    )
    midnight = (F.floor(F.min("at_ms") / _DAY_MS) + 1) * _DAY_MS
    stretches = (
        states.where(is_isolated)
        .groupBy(*_ITEM, "isolation")
        .agg(
            F.min("at_ms").alias("start_ms"),
            F.max(F.least("until_ms", "next_at_ms")).alias("end_ms"),
            F.max_by("until_ms", F.struct("at_ms", "seq")).alias("last_until_ms"),
            midnight.alias("midnight_ms"),
        )
    )
    ended_by = (
        F.when(F.col("end_ms") > F.col("midnight_ms"), "DAY_END")
        .when(F.col("last_until_ms") > F.col("end_ms"), "CLEARED")
        .otherwise("EXPIRED")
    )
    cut = F.least("end_ms", "midnight_ms").alias("end_ms")
    return stretches.select(*_ITEM, "start_ms", cut, ended_by.alias("ended_by"), F.lit(True).alias("enforced"))


def broker_windows(sends: DataFrame, held: DataFrame) -> DataFrame:
    """One row per broker and minute."""
    answered = F.when(F.col("outcome") == "SEND_OK", F.col("latency_ms"))
    minute = F.col("ended_at_ms") - F.col("ended_at_ms") % _MINUTE_MS
    attempts = (
        sends.withColumns({"window_start_ms": minute, "answered_ms": answered})
        .groupBy(*_KEYS)
        .agg(
            F.count("*").alias("sends"),
            F.count_if(F.col("outcome") != "SEND_OK").alias("failures"),
            *(
                F.expr(f"percentile_disc(0.{share}) WITHIN GROUP (ORDER BY answered_ms)").alias(f"latency_p{share}_ms")
                for share in (50, 95, 99)
            ),
            F.max("answered_ms").alias("latency_max_ms"),
            F.count_distinct("client_id", "producer_group").alias("producers"),
        )
    )
    first = F.col("start_ms") - F.col("start_ms") % _MINUTE_MS
    starts = F.explode(F.sequence(first, F.col("end_ms") - 1, F.lit(_MINUTE_MS).cast("bigint")))
    overlap = F.least("end_ms", F.col("window_start_ms") + _MINUTE_MS) - F.greatest("start_ms", "window_start_ms")
    isolated = (
        held.withColumn("window_start_ms", starts)
        .groupBy(*_KEYS)
        .agg(
            F.sum(overlap).alias("isolated_ms"),
            F.count_distinct("client_id", "producer_group").alias("isolating_producers"),
        )
    )
    counts = ("sends", "failures", "producers", "isolating_producers", "isolated_ms")
    return attempts.join(isolated, list(_KEYS), "full").fillna(0, list(counts))


def _rung(counted_ms: Column, *, latest_stays: bool) -> Column:
    rungs = (F.when(counted_ms >= floor, isolation) for floor, isolation in _LADDERS[latest_stays])
    return F.coalesce(*rungs, F.lit(0))


def _session() -> SparkSession:
    return (
        SparkSession.builder.master("local[*]")
        .config("spark.driver.memory", "4g")
        .config("spark.jars", ",".join(map(str, delta_jars())))
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()), str(Path(sys.argv[2]).resolve()))
