"""Events: what was wrong at a broker or at several at once, who avoided them for how long, and what it cost."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.effects.troubles import (
    bad_attempts,
    sent_minutes,
    together,
    troubles,
    until_answered,
    without_few_slow,
)
from jobs.fault_latency.keys import PRODUCER
from jobs.fault_latency.producers.processes import producer
from jobs.fault_latency.replayed_day import Replayed
from jobs.kinds import FindingKind, Severity
from jobs.settings.model import Settings
from jobs.tables.day import Day

INSTANTS = ("bad_from_ms", "last_bad_ms", "bad_until_ms", "avoided_from_ms", "avoided_until_ms")
_MANY = 10
_LATE_WRITE_MS = 1_000
"""An attempt ends before its producer writes the fault item: in the lab up to some ms."""
_ANY_BROKER = ""
_EVENT = ("cluster", "event_id")
_CALL = (*PRODUCER, "row_hash")


def events(items: Replayed, day: Day, settings: Settings) -> DataFrame:
    """EVENTS: troubles of brokers and of the cluster.

    Args:
        items: the day's replay.
        day: the day and cluster.
        settings: what counts as slow, and which slow attempts make an event.
    """
    slow_ms, minutes = settings.slow_ms, sent_minutes(items.sends, settings.slow_ms)
    bad = without_few_slow(
        bad_attempts(items.attempts, slow_ms, day.start_ms),
        minutes,
        settings.event_slow_producers,
        settings.event_slow_share,
    )
    alone = until_answered(troubles(bad, settings.event_gap_ms), items.sends, minutes, slow_ms)
    return together(alone).withColumn("event_id", _event_id())


def with_midnight(events: DataFrame, open_before: DataFrame, day: Day, gap_ms: int) -> DataFrame:
    """With `continued_from_previous_day` and `continues_next_day`.

    Args:
        events: EVENTS.
        open_before: rows of the table of the day before that were not over at 24:00.
        day: the day and cluster.
        gap_ms: setting `event_gap_ms`.
    """
    ends_before = open_before.select(
        "cluster", F.explode("brokers").alias("broker_name"), F.col("last_bad_ms").alias("before_ms")
    )
    continued = (
        _at_brokers(events)
        .join(ends_before, ["cluster", "broker_name"])
        .where(F.col("bad_from_ms") - F.col("before_ms") < gap_ms)
        .select(*_EVENT, F.lit(True).alias("continued_from_previous_day"))
        .distinct()
    )
    is_open = F.col("bad_until_ms").isNull() & (F.col("last_bad_ms") + gap_ms > day.end_ms)
    return events.join(continued, list(_EVENT), "left").withColumns(
        {
            "continued_from_previous_day": F.coalesce("continued_from_previous_day", F.lit(False)),
            "continues_next_day": is_open,
        }
    )


def with_avoidance(events: DataFrame, isolations: DataFrame) -> DataFrame:
    """With how many of the producers that sent to an event's brokers avoided them meanwhile, from when until when.

    Args:
        events: EVENTS.
        isolations: ISOLATIONS; those not enforced are left out.
    """
    senders = events.select(*_EVENT, F.explode("sent_by").alias("producer"))
    avoiding = (
        isolations_meanwhile(events, isolations)
        .withColumn("producer", producer())
        .join(senders.hint("merge"), [*_EVENT, "producer"], "left_semi")  # Spark takes them for few, and broadcasts
        .groupBy(*_EVENT)
        .agg(
            F.count_distinct("producer").alias("avoiding_producers"),
            F.min("start_ms").alias("avoided_from_ms"),
            F.max(F.least("counted_until_ms", "next_bad_ms")).alias("avoided_until_ms"),
        )
    )
    after_ms = F.col("avoided_until_ms") - F.col("bad_until_ms")
    return events.join(avoiding, list(_EVENT), "left").withColumns(
        {
            "avoiding_producers": F.coalesce("avoiding_producers", F.lit(0)),
            "avoided_after_ms": F.when(after_ms.isNotNull(), F.greatest(after_ms, F.lit(0))),
        }
    )


def isolations_meanwhile(events: DataFrame, isolations: DataFrame) -> DataFrame:
    """Isolations with the switch on of an event's brokers that began before it was over and lasted into it.

    Grain: an isolation and an event; `next_bad_ms`, when the broker's next event begins (null = none).

    Args:
        events: EVENTS.
        isolations: ISOLATIONS.
    """
    next_bad_ms = F.lead("bad_from_ms").over(Window.partitionBy("cluster", "broker_name").orderBy("bad_from_ms"))
    spans = _at_brokers(events).withColumn("next_bad_ms", next_bad_ms)
    return (
        isolations.where("enforced AND counted_until_ms > start_ms")
        .join(F.broadcast(spans), ["cluster", "broker_name"])
        .where(F.col("start_ms") <= F.col("last_bad_ms") + _LATE_WRITE_MS)
        .where("counted_until_ms > bad_from_ms")
    )


def with_event(calls: DataFrame, events: DataFrame) -> DataFrame:
    """With `event_id`, the event at the first of its brokers that had one meanwhile; null = none.

    Args:
        calls: as `troubled_calls` returns them.
        events: EVENTS.
    """
    met = (
        calls.select(*_CALL, "started_ms", "ended_ms", F.posexplode("broker_names").alias("place", "broker_name"))
        .join(F.broadcast(_at_brokers(events)), ["cluster", "broker_name"])
        .where("started_ms <= last_bad_ms AND ended_ms >= bad_from_ms")
        .groupBy(*_CALL)
        .agg(F.min_by("event_id", F.struct("place", "bad_from_ms", "event_id")).alias("event_id"))
    )
    return calls.join(met, list(_CALL), "left")


def with_cost(events: DataFrame, calls: DataFrame) -> DataFrame:
    """With the sends lost, saved by a retry, and slow, and the severity that follows from them.

    Args:
        events: EVENTS.
        calls: as `troubled_calls` returns them, with `event_id`.
    """
    failed, retried, slow = F.col("failed"), F.col("retried"), F.col("slow")
    cost = (
        calls.where("event_id IS NOT NULL")
        .groupBy(*_EVENT)
        .agg(
            F.count_if(failed).alias("lost_sends"),
            F.count_if(~failed & retried).alias("saved_sends"),
            F.count_if(~failed & ~retried & slow).alias("slow_sends"),
        )
    )
    counts = {name: F.coalesce(name, F.lit(0)) for name in ("lost_sends", "saved_sends", "slow_sends")}
    return events.join(cost, list(_EVENT), "left").withColumns(counts).withColumn("severity", _severity())


def of_event(findings: DataFrame, events: DataFrame, gap_ms: int) -> DataFrame:
    """With `event_id`: the last event at one of a finding's brokers that began before it and reaches into it.

    A collateral isolation is of a healthy broker: it follows from an event at another one. Most findings are of one
    broker, so they are joined with the events of that broker alone, not with those of the day.

    Args:
        findings: rows of the table, without day.
        events: as `with_avoidance` returns them.
        gap_ms: so long after its last bad attempt an event still explains what happens.
    """
    over_ms = F.greatest("avoided_until_ms", "bad_until_ms", F.col("last_bad_ms") + gap_ms)
    event = F.struct("bad_from_ms", "event_id", over_ms.alias("over_ms"), "event_broker")
    of_place = (
        events.withColumn("event_broker", F.explode("brokers"))
        .withColumn("place", F.explode(F.array("event_broker", F.lit(_ANY_BROKER))))
        .groupBy("cluster", "place")
        .agg(F.array_sort(F.collect_list(event)).alias("events"))
    )
    is_collateral = F.col("kind") == FindingKind.COLLATERAL_ISOLATION
    brokers = F.coalesce("brokers", F.array("broker_name"))
    place = F.when(F.col("brokers").isNull() & ~is_collateral, F.col("broker_name")).otherwise(_ANY_BROKER)
    meanwhile = F.filter(
        "events",
        lambda event: (event["bad_from_ms"] <= F.col("end_ms")) & (event["over_ms"] >= F.col("start_ms")),
    )
    own = F.filter("meanwhile", lambda event: F.array_contains(brokers, event["event_broker"]))
    begun = F.filter("candidates", lambda event: event["bad_from_ms"] <= F.col("start_ms"))
    latest = F.when(F.size(begun) > 0, F.element_at(begun, -1)).otherwise(F.get("candidates", F.lit(0)))
    return (
        findings.withColumn("place", place)
        .join(F.broadcast(of_place), ["cluster", "place"], "left")
        .withColumn("meanwhile", meanwhile)
        .withColumn("candidates", F.when(is_collateral & (F.size(own) == 0), F.col("meanwhile")).otherwise(own))
        .withColumn("event_id", latest["event_id"])
        .drop("place", "events", "meanwhile", "candidates")
    )


def _at_brokers(events: DataFrame) -> DataFrame:
    """One row per event and broker."""
    instants = ("bad_from_ms", "last_bad_ms", "bad_until_ms")
    return events.select(*_EVENT, F.explode("brokers").alias("broker_name"), *instants)


def _event_id() -> Column:
    """Its UTC time of day and six digits that differ between events of one second."""
    of_row = F.hex(F.xxhash64("brokers", "bad_from_ms"))
    clock = F.date_format(F.timestamp_millis("bad_from_ms"), "HHmmss")
    return F.concat_ws("-", clock, F.lower(F.right(F.lpad(of_row, 16, "0"), F.lit(6))))


def _severity() -> Column:
    """CRITICAL from ten lost sends on, WARNING from one, or ten that were saved or slow.

    Fewer are not worth waking anybody up.
    """
    slight = F.col("saved_sends") + F.col("slow_sends")
    return (
        F.when(F.col("lost_sends") >= _MANY, Severity.CRITICAL)
        .when((F.col("lost_sends") > 0) | (slight >= _MANY), Severity.WARNING)
        .otherwise(Severity.INFO)
    )
