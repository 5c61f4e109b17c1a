"""SENT_WHILE_ISOLATED: attempts at a broker that was not available to their producer, and why they went there."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.fault_latency.effects.choices import has_other_available
from jobs.fault_latency.findings.finding import clock_text, count_text, finding
from jobs.fault_latency.keys import OWNER, PRODUCER
from jobs.kinds import FindingCause, FindingKind, Severity
from udfs.outcome import is_answer

_WHY = {
    FindingCause.SWITCH_OFF: "its switch is off, so nothing is avoided",
    FindingCause.CALLER_CHOSE_QUEUE: "the caller chose the queue",
    FindingCause.ONLY_BROKER: "the topic has no other broker",
    FindingCause.ALL_ISOLATED: "every broker of the topic was isolated, and the fallback sends anyway",
    FindingCause.RETRY_TO_LAST_BROKER: "up to 4.7.1 a retry takes the broker that just failed, or the fallback",
    FindingCause.RETRY_AVOIDS_LAST_BROKER: "a retry avoids the broker that just failed, and the others were isolated",
    FindingCause.UNEXPLAINED: "another broker was available; the replay, the switch or the version may be wrong here",
}


def sent_while_isolated(choices: DataFrame, attempts: DataFrame) -> DataFrame:
    """One finding per producer, broker, isolation and cause.

    Args:
        choices: CHOICES.
        attempts: ATTEMPTS.
    """
    against = choices.where("is_surely_isolated").transform(_with_tried_before, attempts).withColumn("cause", _cause())
    per_isolation = against.groupBy(*OWNER, "topic", "broker_name", "since_ms", "cause").agg(
        F.min("chosen_at_ms").alias("start_ms"),
        (F.max("chosen_at_ms") + 1).alias("end_ms"),
        F.count("*").alias("sends"),
        F.count_if(~is_answer(F.col("outcome"))).alias("failures"),
    )
    doubtful = (F.col("cause") == FindingCause.UNEXPLAINED) | (
        F.col("cause").isin(FindingCause.ALL_ISOLATED, FindingCause.RETRY_TO_LAST_BROKER) & (F.col("failures") > 0)
    )
    why = F.coalesce(*(F.when(F.col("cause") == cause, F.lit(words)) for cause, words in _WHY.items()))
    return finding(
        per_isolation,
        FindingKind.SENT_WHILE_ISOLATED,
        F.when(doubtful, Severity.WARNING).otherwise(Severity.INFO),
        F.col("cause"),
        F.col("client_id"),
        " sent ",
        count_text(F.col("sends"), "attempt"),
        " to ",
        F.col("broker_name"),
        ", ",
        F.col("failures"),
        " in vain, which it ",
        F.when(F.col("enforced"), "held as not available since ").otherwise("would have isolated since "),
        clock_text(F.col("since_ms")),
        ": ",
        why,
    )


def _with_tried_before(choices: DataFrame, attempts: DataFrame) -> DataFrame:
    """With `tried_before`: where the attempt before it of the same send went; null = no retry, or not in the log.

    One broker, or two where a client's hook fired twice. Looked up for retries with one available broker alone; what is
    retried was not SEND_OK.
    """
    send = [*OWNER, "invoke_id"]
    retries = choices.where("attempt > 1 AND available = 1").select(*PRODUCER, "invoke_id").distinct()
    before = (
        attempts.where(F.col("outcome") != "SEND_OK")
        .join(retries, [*PRODUCER, "invoke_id"], "left_semi")
        .groupBy(*send, (F.col("attempt") + 1).alias("attempt"))
        .agg(F.collect_set("broker_name").alias("tried_before"))
    )
    return choices.join(before, [*send, "attempt"], "left")


def _cause() -> Column:
    is_retry = F.col("attempt") > 1
    # MQFaultStrategy.selectOneMessageQueue: the last broker has no say from 4.8.0 to 5.1.0.
    avoids_last = (F.col("profile") != "P2") & F.array_contains("tried_before", F.col("only_available"))
    return (
        F.when(~F.col("enforced"), FindingCause.SWITCH_OFF)
        .when(F.col("by_caller"), FindingCause.CALLER_CHOSE_QUEUE)
        .when(F.col("hosts") <= 1, FindingCause.ONLY_BROKER)
        .when(~has_other_available(), FindingCause.ALL_ISOLATED)
        .when(is_retry & (F.col("profile") == "P1"), FindingCause.RETRY_TO_LAST_BROKER)
        .when(is_retry & avoids_last, FindingCause.RETRY_AVOIDS_LAST_BROKER)
        .otherwise(FindingCause.UNEXPLAINED)
    )
