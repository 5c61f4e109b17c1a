"""Incidents: intervals in which many producers isolate the same broker, who noticed, and what it cost."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.effects.calls import MINUTE_MS, minute_of
from jobs.fault_latency.keys import PRODUCER
from jobs.intervals.coalesce import coalesce_equal, coalesce_overlapping
from jobs.intervals.concurrent_counts import concurrent_counts

_NAMED = 20
_ONSET_MS = 60_000
_BROKER = ("cluster", "broker_name")


def broker_incidents(isolations: DataFrame, sends_per_process: DataFrame, calls: DataFrame, share: float) -> DataFrame:
    """INCIDENTS: intervals in which at least `share` of the active producers with the switch on isolate one broker.

    Isolations that touch count as one, and count up to the last sign of life of their process. A producer is active
    from the minute of its first attempt of the day, or 00:00 for what it carried over midnight, to that of its last.

    Args:
        isolations: ISOLATIONS; those not enforced are left out.
        sends_per_process: SENDS_PER_PROCESS.
        calls: every send of the day, as `all_calls` returns them.
        share: of the producers, between 0 and 1.
    """
    isolated = isolations.withColumn("end_ms", F.col("counted_until_ms")).where("enforced AND end_ms > start_ms")
    active = _active(isolated, sends_per_process)
    noticed = _noticed(_incidents(isolated, active, share), isolated)
    minutes = F.broadcast(_minutes(noticed).select("minute").distinct())
    ended_then = calls.withColumn("minute", minute_of("ended_ms")).join(minutes, "minute", "left_semi")
    cost = noticed.join(_cost(noticed, ended_then), [*_BROKER, "start_ms"], "left")
    counts = {name: F.coalesce(name, F.lit(0)) for name in ("sends", "lost", "retried", "slowed")}
    no_producer = F.array().cast("array<struct<client_id: string, producer_group: string>>")
    others = F.array_sort(F.array_except(F.coalesce("senders", no_producer), "noticed_by"))
    return (
        cost.withColumns({**counts, "others": others})
        .withColumns(
            {
                "never_noticed": F.size("others").cast("bigint"),
                "never_noticed_client_ids": F.slice(F.array_distinct("others.client_id"), 1, _NAMED),
            }
        )
        .drop("others", "senders", "noticed_by", "cost_from_ms")
    )


def is_minor(min_ms: int, min_lost: int) -> Column:
    """Whether an incident is shorter, and cost fewer sends, lost, retried or slowed, than one worth waking up for."""
    cost = F.col("lost") + F.col("retried") + F.col("slowed")
    return (F.col("end_ms") - F.col("start_ms") < F.lit(min_ms)) & (cost < F.lit(min_lost))


def _active(isolated: DataFrame, sends_per_process: DataFrame) -> DataFrame:
    """One row per producer with the switch on: `active_from_ms`, `active_until_ms`."""
    sending = sends_per_process.where("enforced").select(
        *PRODUCER, F.col("first_began_ms").alias("from_ms"), F.col("last_ended_ms").alias("until_ms")
    )
    holding = isolated.select(*PRODUCER, F.col("start_ms").alias("from_ms"), F.col("end_ms").alias("until_ms"))
    return (
        sending.unionByName(holding)
        .groupBy(*PRODUCER)
        .agg(F.min("from_ms").alias("from_ms"), F.max("until_ms").alias("until_ms"))
        .select(
            *PRODUCER,
            (F.col("from_ms") - F.col("from_ms") % MINUTE_MS).alias("active_from_ms"),
            (F.col("until_ms") + MINUTE_MS - F.col("until_ms") % MINUTE_MS).alias("active_until_ms"),
        )
        .where("active_until_ms > active_from_ms")
    )


def _incidents(isolated: DataFrame, active: DataFrame, share: float) -> DataFrame:
    """One row per interval of enough producers: one of which two processes isolate the broker counts once."""
    isolating = coalesce_overlapping(isolated, (*PRODUCER, "broker_name")).select(
        *_BROKER,
        "start_ms",
        "end_ms",
        F.lit(1).alias("isolating"),
        F.lit(0).alias("active"),
    )
    living = active.join(isolated.select(*_BROKER).distinct(), "cluster").select(
        *_BROKER,
        F.col("active_from_ms").alias("start_ms"),
        F.col("active_until_ms").alias("end_ms"),
        F.lit(0).alias("isolating"),
        F.lit(1).alias("active"),
    )
    counts = concurrent_counts(isolating.unionByName(living), _BROKER, ("isolating", "active"))
    share_of_active = F.try_divide("isolating", "active")  # a quotient: 0.55 * 100 > 55 in floating point
    is_high = (F.col("isolating") > 0) & (share_of_active >= F.lit(share))
    level = F.struct(share_of_active.alias("share"), "isolating", "active")
    runs = coalesce_equal(counts.withColumn("is_high", is_high), _BROKER, ("is_high",), [F.max(level).alias("peak")])
    return runs.where("is_high").select(
        *_BROKER,
        "start_ms",
        "end_ms",
        F.col("peak.isolating").alias("peak_producers"),
        F.col("peak.active").alias("producers"),
        F.col("peak.share").alias("peak_share"),
    )


def _noticed(incidents: DataFrame, isolated: DataFrame) -> DataFrame:
    """One row per incident, with who isolated the broker, from the first to the last to begin.

    A producer that began more than a minute before, or before the incident before it was over, had isolated it already
    and does not count as the first, unless all of them had. Adds `cost_from_ms`: the first to notice, but no time
    before the incident where all of them had isolated it already.
    """
    in_time = Window.partitionBy(*_BROKER).orderBy("start_ms")
    onset = F.greatest(F.lag("end_ms").over(in_time), F.col("start_ms") - _ONSET_MS)
    began = isolated.select(
        *_BROKER,
        F.col("start_ms").alias("began_ms"),
        F.col("end_ms").alias("ended_ms"),
        "client_id",
        _producer().alias("producer"),
    )
    incident = (*incidents.columns, "onset_ms")
    per_producer = (
        incidents.withColumn("onset_ms", onset)
        .join(began, list(_BROKER))
        .where("began_ms < end_ms AND ended_ms > start_ms")
        .groupBy(*incident, "client_id", "producer")
        .agg(F.min(F.struct(F.col("began_ms") < F.col("onset_ms"), "began_ms")).alias("noticed"))
    )
    order, first_ms = F.struct("noticed", "producer"), F.col("first_noticed_ms")
    newly = F.col("noticed.began_ms") >= F.col("onset_ms")
    return (
        per_producer.groupBy(*incident)
        .agg(
            F.count("*").alias("isolating_producers"),
            F.min("noticed")["began_ms"].alias("first_noticed_ms"),
            F.coalesce(F.max(F.when(newly, F.col("noticed.began_ms"))), F.max("noticed.began_ms")).alias(
                "last_noticed_ms"
            ),
            F.min_by("client_id", order).alias("first_producer"),
            F.coalesce(F.max_by("client_id", F.when(newly, order)), F.max_by("client_id", order)).alias(
                "last_producer"
            ),
            F.collect_set("producer").alias("noticed_by"),
        )
        .withColumn("cost_from_ms", F.when(first_ms >= F.col("onset_ms"), first_ms).otherwise(F.col("start_ms")))
        .drop("onset_ms")
    )


def _cost(noticed: DataFrame, calls: DataFrame) -> DataFrame:
    """One row per incident: the sends that tried the broker while it was noticed, and who made them.

    Joined by broker and minute, so that the cost follows the sends near an incident.
    """
    tried = calls.select(
        "cluster",
        F.explode(F.array_distinct("broker_names")).alias("broker_name"),
        minute_of("ended_ms").alias("minute"),
        "ended_ms",
        "failed",
        "retried",
        "slow",
        F.when(F.expr("enforced AND NOT (is_replayed AND by_caller)"), _producer()).alias("sender"),
    )
    return (
        tried.join(F.broadcast(_minutes(noticed)), [*_BROKER, "minute"])
        .where("ended_ms >= cost_from_ms AND ended_ms < end_ms")
        .groupBy(*_BROKER, "start_ms")
        .agg(
            F.count("*").alias("sends"),
            F.count_if("failed").alias("lost"),
            F.count_if(~F.col("failed") & F.col("retried")).alias("retried"),
            F.count_if(~F.col("failed") & ~F.col("retried") & F.col("slow")).alias("slowed"),
            F.collect_set("sender").alias("senders"),
        )
    )


def _minutes(noticed: DataFrame) -> DataFrame:
    """One row per incident and minute of the time that it was noticed."""
    minutes = F.sequence(minute_of("cost_from_ms"), minute_of("end_ms"))
    return noticed.select(*_BROKER, "start_ms", "end_ms", "cost_from_ms", F.explode(minutes).alias("minute"))


def _producer() -> Column:
    return F.struct("client_id", "producer_group")
