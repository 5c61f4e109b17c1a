"""What fault latency did to the sends of a day: those that are not plain one by one, the others counted."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.broker_health import health_bucket
from jobs.fault_latency.effects.calls import calls_of_one_attempt, is_troubled
from jobs.fault_latency.producers.attempts import WithOwner
from jobs.fault_latency.producers.rules import PRODUCER
from jobs.fault_latency.producers.sender_hours import HOUR_MS
from udfs.bucket import bucket_of
from udfs.choice import is_plain


def send_calls(
    sends: DataFrame,
    with_owner: WithOwner,
    calls_of_several: DataFrame,
    choices: DataFrame,
    health: DataFrame,
    slow_ms: int,
) -> DataFrame:
    """The table's rows, without day: the sends that are not plain. Grain: as `calls_of_one_attempt`.

    A send is plain if it was answered in time by its first broker while its producer isolated none of the topic's.

    Args:
        sends: the day's attempts.
        with_owner: looks up rules and process of attempts.
        calls_of_several: as `calls_of_several_attempts` returns them.
        choices: as `choices.choices` returns them.
        health: as `health.broker_health` returns it.
        slow_ms: an answer this late counts as slow.
    """
    avoiding = _avoiding(choices)
    troubled = calls_of_one_attempt(sends.where(~is_plain(slow_ms)).transform(with_owner), calls_of_several, slow_ms)
    # Of the others only those that avoided a broker are looked at, which are among the choices.
    quiet = calls_of_one_attempt(avoiding, calls_of_several, slow_ms).where(~is_troubled())
    known = avoiding.select(
        *PRODUCER, "row_hash", "isolated_brokers", F.col("since_ms").isNotNull().alias("went_to_isolated")
    )
    return (
        troubled.unionByName(calls_of_several.drop("plain_alone"))
        .unionByName(quiet)
        .join(known, [*PRODUCER, "row_hash"], "left")
        .where(is_troubled() | F.col("isolated_brokers").isNotNull())
        .withColumn("bucket", F.when(F.col("isolated_brokers").isNotNull(), health_bucket(F.col("started_ms"))))
        .join(F.broadcast(health), ["cluster", "bucket"], "left")
        .withColumn("fault_latency", _effect())
        .drop("bucket", "tried_brokers", "bad_brokers", "went_to_isolated")
        .drop("send", "by_caller", "is_replayed", "is_bad_first")
        .withColumnsRenamed({"started_ms": "start_ms", "ended_ms": "end_ms"})
    )


def plain_calls(
    hours: DataFrame,
    with_owner: WithOwner,
    calls_of_several: DataFrame,
    choices: DataFrame,
    slow_ms: int,
) -> DataFrame:
    """The table's rows, without day: plain sends, counted by the hour in which they ended.

    Grain: `PRODUCER`, `topic`, `mode`, `enforced`, `fault_latency`, `hour`. Counted are the attempts that would be
    plain as sends of their own; off these come the attempts of sends of several, and those that avoided a broker, so
    that not every attempt has to be looked up among either.

    Args:
        hours: the day's attempts counted, as `sender_hours` returns them.
        with_owner: looks up the rules of senders.
        calls_of_several: as for `send_calls`; so are the others.
    """
    avoiding = _avoiding(choices)
    not_several = calls_of_several.select(*PRODUCER, "enforced", F.inline("plain_alone"))
    several = calls_of_several.join(avoiding.select(*PRODUCER, "row_hash"), [*PRODUCER, "row_hash"], "left_anti")
    alone_avoiding = calls_of_one_attempt(avoiding, calls_of_several, slow_ms).where(~is_troubled())
    of_hours = hours.transform(with_owner).withColumns(
        {"ended_ms": F.col("hour") * HOUR_MS, "is_replayed": F.col("not_replayed").isNull()}
    )
    counts = [
        calls.groupBy(
            *PRODUCER,
            "topic",
            "mode",
            "enforced",
            _effect_without_isolation().alias("fault_latency"),
            (bucket_of(F.col("ended_ms"), HOUR_MS) % 24).cast("int").alias("hour"),
        ).agg(F.sum(number).alias("calls"))
        for calls, number in (
            (of_hours, F.col("plain")),
            (not_several.withColumnRenamed("ended_at_ms", "ended_ms"), F.lit(-1)),
            (several.where(~is_troubled()), F.lit(1)),
            (alone_avoiding, F.lit(-1)),
        )
    ]
    total = reduce(DataFrame.unionByName, counts)
    keys = [name for name in total.columns if name != "calls"]
    return total.groupBy(*keys).agg(F.sum("calls").alias("calls")).where("calls > 0")


def _avoiding(choices: DataFrame) -> DataFrame:
    """The attempts whose producer held a broker of the topic isolated."""
    return choices.where(F.size("isolated_brokers") > 0)


def _effect() -> Column:
    """`fault_latency` of a send: what it was spared, or what it cost, by how others fared in the same second."""
    bad = F.col("failed") | F.col("slow")
    others_bad, others_known = (
        F.coalesce(F.arrays_overlap("isolated_brokers", brokers), F.lit(False))
        for brokers in ("bad_brokers", "tried_brokers")
    )
    to_isolated, off = F.col("went_to_isolated"), ~F.col("enforced")
    return (
        F.when(
            ~F.col("is_replayed") | F.col("by_caller") | F.col("isolated_brokers").isNull(), _effect_without_isolation()
        )
        .when(off & to_isolated & F.col("is_bad_first"), "WOULD_HAVE_SPARED")
        .when(off & to_isolated, "WOULD_HAVE_COST")
        .when(off, "NO_DIFFERENCE")
        .when(to_isolated, "SENT_TO_ISOLATED")
        .when(others_bad & ~bad, "SPARED")
        .when(others_bad, "NO_DIFFERENCE")
        .when(~others_known, "UNKNOWN")
        .when(bad, "COST")
        .otherwise("NO_DIFFERENCE")
    )


def _effect_without_isolation() -> Column:
    """`fault_latency` of a send whose producer isolated no broker, or did not choose by it."""
    return (
        F.when(~F.col("is_replayed"), "NOT_REPLAYED")
        .when(F.col("by_caller"), "CALLER_CHOSE_QUEUE")
        .otherwise("NONE_ISOLATED")
    )
