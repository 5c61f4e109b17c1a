"""Attempts counted by sender and broker: few rows that stand for many attempts."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.keys import SENDER
from jobs.fault_latency.producers.processes import SEVERAL_PROCESSES, is_shared, place_of, process, seq_order
from jobs.fault_latency.producers.rules import with_rules
from jobs.settings.model import ProducerSettings
from udfs.broker_address import one_form
from udfs.choice import began_at_ms
from udfs.outcome import is_answer, may_write


def sends_per_process(sends: DataFrame, producers: Mapping[str, ProducerSettings]) -> DataFrame:
    """SENDS_PER_PROCESS: the day's attempts counted by `SENDER`, with their rules.

    A producer whose `seq` falls again and again is not replayed: several processes wrote its lines.
    """
    shared = F.when(is_shared(), SEVERAL_PROCESSES)
    ended_ms = F.col("ended_at_ms")
    submitted_ms = F.coalesce("submitted_at_ms", ended_ms)
    written = (F.col("mode") == "ASYNC") | may_write(F.col("outcome"))
    return (
        sends.groupBy(*SENDER)
        .agg(
            F.count("*").alias("sends"),
            F.count_if(~is_answer(F.col("outcome"))).alias("failures"),
            F.min(began_at_ms()).alias("first_began_ms"),
            F.max(ended_ms).alias("last_ended_ms"),
            F.min(F.when(written, F.least(submitted_ms, ended_ms))).alias("first_write_ms"),
            F.max(F.when(written, F.greatest(submitted_ms, ended_ms))).alias("last_write_ms"),
            F.min("seq").alias("first_seq"),
            F.max("seq").alias("last_seq"),
        )
        .transform(with_rules, producers)
        .withColumn("process", process())
        .withColumn("place", place_of(F.col("process")))
        .join(F.broadcast(seq_order(sends)), "place", "left")
        .withColumn("seq_falls", F.coalesce("seq_falls", F.lit(0)))
        .withColumn("clock_fell", F.coalesce("clock_fell", F.lit(False)))
        .withColumn("not_replayed", F.coalesce("not_replayed", shared))
    )


def broker_names(sends_per_process: DataFrame) -> DataFrame:
    """One row per `cluster` and `broker_addr`, in its one form: the `name` that most attempts of the day give it.

    `spellings`: the address as lines write it.

    Args:
        sends_per_process: SENDS_PER_PROCESS.
    """
    addressed = sends_per_process.where("broker_addr IS NOT NULL")
    uses = addressed.groupBy("cluster", one_form(F.col("broker_addr")).alias("form"), "broker_name").agg(
        F.sum("sends").alias("sends"), F.collect_set("broker_addr").alias("spellings")
    )
    most = F.max_by("broker_name", F.struct("sends", F.hash("broker_name"), "broker_name"))
    spellings = F.array_distinct(F.flatten(F.collect_list("spellings")))
    return uses.groupBy("cluster", F.col("form").alias("broker_addr")).agg(
        most.alias("name"), spellings.alias("spellings")
    )
