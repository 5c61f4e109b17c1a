"""Effects of fault latency on the sends of a day: one row for each that is not plain, counts of the others."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.broker_health import health_bucket
from jobs.fault_latency.effects.calls import alone, calls_of_one_attempt, is_troubled
from jobs.fault_latency.keys import OWNER, PRODUCER, SENDER
from jobs.fault_latency.producers.attempts import with_owner
from jobs.fault_latency.producers.processes import process
from jobs.fault_latency.producers.rules import with_rules
from jobs.settings.model import ProducerSettings
from udfs.bucket import bucket_of
from udfs.choice import began_at_ms, is_plain

_HOUR_MS = 3_600_000


def troubled_calls(attempts: DataFrame, calls_of_several: DataFrame, slow_ms: int) -> DataFrame:
    """Sends that failed, were retried, or were slow. Grain: as `calls_of_one_attempt`.

    Args:
        attempts: every attempt of the day.
        calls_of_several: CALLS_OF_SEVERAL.
        slow_ms: an answer this late counts as slow.
    """
    alone = calls_of_one_attempt(attempts.where(~is_plain(slow_ms)), calls_of_several, slow_ms)
    return alone.unionByName(calls_of_several).where(is_troubled())


def send_calls(
    troubled: DataFrame, calls_of_several: DataFrame, choices: DataFrame, health: DataFrame, slow_ms: int
) -> DataFrame:
    """The table's rows, without day: the sends that are not plain. Grain: as `calls_of_one_attempt`.

    A send is plain if it was answered in time by its first broker while its producer isolated none of the topic's.

    Args:
        troubled: as `troubled_calls` returns them, with `event_id`.
        calls_of_several: CALLS_OF_SEVERAL.
        choices: CHOICES.
        health: as `broker_health` returns it, of the seconds of `avoiding`.
        slow_ms: an answer this late counts as slow.
    """
    avoided = avoiding(choices)
    quiet = calls_of_one_attempt(avoided, calls_of_several, slow_ms).unionByName(calls_of_several).where(~is_troubled())
    known = avoided.select(
        *PRODUCER, "row_hash", "isolated_brokers", F.col("since_ms").isNotNull().alias("went_to_isolated")
    )
    return (
        troubled.unionByName(quiet, allowMissingColumns=True)
        .join(known, [*PRODUCER, "row_hash"], "left")
        .where(is_troubled() | F.col("isolated_brokers").isNotNull())
        .withColumn("bucket", F.when(F.col("isolated_brokers").isNotNull(), health_bucket(F.col("started_ms"))))
        .join(F.broadcast(health), ["cluster", "bucket"], "left")
        .withColumn("fault_latency", _effect())
        .drop("bucket", "tried_brokers", "bad_brokers", "went_to_isolated")
        .drop("send", "by_caller", "is_replayed", "is_bad_first")
        .withColumnsRenamed({"started_ms": "start_ms", "ended_ms": "end_ms"})
    )


def without_attempt(lines: DataFrame, producers: Mapping[str, ProducerSettings]) -> DataFrame:
    """Sends that failed before they had a broker, such as without a route: rows of the table, without day.

    Grain: `PRODUCER`, `row_hash`. They are lost to their callers and touch no fault item.

    Args:
        lines: of such sends, each without a broker.
        producers: the site's settings of producers.
    """
    ruled = lines.transform(with_rules, producers).withColumn("process", process())
    start_ms = F.least(began_at_ms(), F.col("ended_at_ms"))
    no_text = F.lit(None).cast("array<string>")
    return ruled.select(
        *OWNER,
        F.col("version").alias("client_version"),
        "topic",
        "mode",
        "invoke_id",
        start_ms.alias("start_ms"),
        F.col("ended_at_ms").alias("end_ms"),
        (F.col("ended_at_ms") - start_ms).alias("total_ms"),
        F.lit(0).alias("attempts"),
        F.array().cast("array<string>").alias("broker_names"),
        "outcome",
        *(F.lit(name == "failed").alias(name) for name in ("failed", "retried", "slow")),
        no_text.alias("isolated_brokers"),
        F.lit("NO_ATTEMPT").alias("fault_latency"),
        F.lit(None).cast("string").alias("event_id"),
        "row_hash",
    )


def plain_calls(
    sends: DataFrame,
    sends_per_process: DataFrame,
    calls_of_several: DataFrame,
    choices: DataFrame,
    slow_ms: int,
) -> DataFrame:
    """The table's rows, without day: plain sends, counted by the hour in which they ended.

    Grain: `PRODUCER`, `topic`, `mode`, `enforced`, `fault_latency`, `hour`.

    Args:
        sends: the published attempts of the day.
        sends_per_process: SENDS_PER_PROCESS.
        calls_of_several: CALLS_OF_SEVERAL.
        choices: CHOICES.
        slow_ms: an answer this late counts as slow.
    """
    avoided = avoiding(choices).select("row_hash")
    hour = (bucket_of(F.col("ended_at_ms"), _HOUR_MS) % 24).cast("int").alias("hour")
    of_one = (
        alone(sends.where(is_plain(slow_ms)).withColumn("process", process()), calls_of_several)
        .join(avoided, "row_hash", "left_anti")
        .groupBy(*SENDER, hour)
        .agg(F.count("*").alias("calls"))
        .transform(with_owner, sends_per_process)
        .withColumn("is_replayed", F.col("not_replayed").isNull())
    )
    of_several = (
        calls_of_several.where(~is_troubled())
        .join(avoided, "row_hash", "left_anti")
        .withColumnRenamed("ended_ms", "ended_at_ms")
        .select("*", hour, F.lit(1).cast("bigint").alias("calls"))
    )
    columns = (*PRODUCER, "topic", "mode", "enforced", "hour", "calls", "is_replayed", "by_caller")
    counted = of_one.select(*columns).unionByName(of_several.select(*columns))
    effect = _effect_without_isolation().alias("fault_latency")
    return counted.groupBy(*PRODUCER, "topic", "mode", "enforced", "hour", effect).agg(F.sum("calls").alias("calls"))


def avoiding(choices: DataFrame) -> DataFrame:
    """The attempts whose producer held a broker of the topic isolated."""
    return choices.where(F.size("isolated_brokers") > 0)


def _effect() -> Column:
    """`fault_latency` of a send: spared or cost, judged by the attempts of others in the same second."""
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
