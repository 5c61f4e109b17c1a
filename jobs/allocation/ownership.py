"""Ownership of queues over time: as consumers answered, and as their logs say."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.allocation.answer_intervals import answer_intervals, lasting
from jobs.allocation.process_logs import process_logs, silences_of_clients
from jobs.intervals.coalesce import coalesce_equal
from jobs.spark.materialize import Materialize
from jobs.tables.day import Day

_CLIENT = ("consumer_group", "client_id")
_QUEUE = ("consumer_group", "topic", "broker_name", "queue_id", "popped")
_QUEUES = "array<struct<topic: string, broker_name: string, queue_id: int, popped: boolean>>"


@dataclass(frozen=True)
class Ownership:
    """Queues that consumers owned, and when that is known.

    Attributes:
        holdings: the table's rows, without day and cluster.
        known: when what a client holds is known: `consumer_group`, `client_id`, `source`, `known_from_ms`,
            `known_until_ms`, `ended` (the client was gone after it).
        refused: `consumer_group`, `topic`, `broker_name`, `queue_id`, `at_ms`, `event` (LOCK_FAILED, OFFSET_UNKNOWN):
            queues that a client could not take.
        silences: as `silences_of_clients` returns them.
    """

    holdings: DataFrame
    known: DataFrame
    refused: DataFrame
    silences: DataFrame


def ownership(
    answers: DataFrame,
    log_lines: DataFrame,
    opening: DataFrame,
    day: Day,
    max_staleness_ms: int,
    materialize: Materialize,
) -> Ownership:
    """Ownership by both sources, side by side.

    Args:
        answers: as `running_info` returns them.
        log_lines: published lines of the input `client_logs`.
        opening: rows of the table valid at 00:00.
        day: what to publish; intervals are cut at its ends.
        max_staleness_ms: how long an answer holds when no later one of its client comes.
        materialize: for frames that several others read.
    """
    answered = materialize(
        "answered", _answered_queues(answers, opening.where("source = 'RUNNING_INFO'"), day, max_staleness_ms)
    )
    logs = process_logs(log_lines, opening, day, materialize)
    no_time = F.lit(None).cast("bigint")
    holdings = (
        answered.transform(_by_queue)
        .withColumns({"source": F.lit("RUNNING_INFO"), "process": F.lit(None).cast("string")})
        .where("end_ms > start_ms")
        .unionByName(logs.holdings.withColumns({"source": F.lit("CLIENT_LOG"), "last_answer_ms": no_time}))
    )
    known_by_log = logs.lifetimes.where("lived_from_ms IS NOT NULL AND lived_until_ms > lived_from_ms").select(
        *_CLIENT,
        F.lit("CLIENT_LOG").alias("source"),
        F.col("lived_from_ms").alias("known_from_ms"),
        F.col("lived_until_ms").alias("known_until_ms"),
        "ended",
    )
    known_by_answers = answered.select(
        *_CLIENT,
        F.lit("RUNNING_INFO").alias("source"),
        F.col("start_ms").alias("known_from_ms"),
        F.col("end_ms").alias("known_until_ms"),
        F.lit(False).alias("ended"),
    )
    return Ownership(
        materialize("holdings", holdings),
        materialize("known", known_by_log.unionByName(known_by_answers)),
        logs.refused,
        silences_of_clients(logs),
    )


def _answered_queues(answers: DataFrame, opening: DataFrame, day: Day, max_staleness_ms: int) -> DataFrame:
    """Intervals of equal answers per client, value `held`: its queues, maybe none."""
    queue = F.struct("topic", "broker_name", "queue_id", "popped")
    before = opening.groupBy(*_CLIENT).agg(
        F.array_sort(F.collect_list(queue)).cast(_QUEUES).alias("held"), F.max("last_answer_ms").alias("last_answer_ms")
    )
    answered = answers.select(*_CLIENT, "captured_at_ms", F.when(F.col("is_answer"), F.col("queues")).alias("queues"))
    shown = F.transform(
        "queues",
        lambda each: F.struct(
            each["topic"].alias("topic"),
            each["broker_name"].alias("broker_name"),
            each["queue_id"].alias("queue_id"),
            each["popped"].alias("popped"),
        ),
    )
    queues_held = answered.withColumn("held", F.array_sort(shown).cast(_QUEUES))
    return lasting(answer_intervals(queues_held, list(_CLIENT), "held", day, before, max_staleness_ms))


def _by_queue(answered: DataFrame) -> DataFrame:
    each = answered.select(*_CLIENT, "start_ms", "end_ms", "last_answer_ms", F.explode("held"))
    by_queue = each.select("*", "col.*").drop("col").distinct()
    return coalesce_equal(by_queue, (*_QUEUE, "client_id"), (), [F.max("last_answer_ms").alias("last_answer_ms")])
