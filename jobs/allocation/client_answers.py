"""Clients of each consumer group, by running info and connections: versions, subscriptions and process queues."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.allocation.answer_intervals import answer_intervals, lasting
from jobs.tables.day import Day
from udfs.mq_version import release_of

_CLIENT = ("consumer_group", "client_id")
_QUEUES = "array<struct<topic: string, broker_name: string, queue_id: int, popped: boolean, dropped: boolean>>"


def connected_clients(connections: DataFrame) -> DataFrame:
    """One row per `consumer_group` and `client_id`: its `message_model`, `client_version` and `language`.

    Args:
        connections: frame of `connections`.
    """
    return (
        connections.select("consumer_group", "message_model", F.explode("clients").alias("client"))
        .where("client.client_id IS NOT NULL")
        .groupBy("consumer_group", F.col("client.client_id").alias("client_id"))
        .agg(
            F.max("message_model").alias("message_model"),
            release_of(F.max("client.version")).alias("client_version"),
            F.max("client.language").alias("language"),
        )
    )


def mixed_languages(connections: DataFrame) -> DataFrame:
    """First and last connection that shows members of several languages: `consumer_group`, `first_ms`, `last_ms`.

    Args:
        connections: frame of `connections`.
    """
    languages = F.array_distinct(F.transform("clients", lambda client: client["language"]))
    mixed = connections.where(F.size(languages) > 1).groupBy("consumer_group")
    return mixed.agg(F.min("captured_at_ms").alias("first_ms"), F.max("captured_at_ms").alias("last_ms"))


def subscribed_topics(answers: DataFrame, day: Day, max_staleness_ms: int) -> DataFrame:
    """Intervals of equal answers per client: its `topics`.

    Args:
        answers: frame of `running_info`.
        day: the day.
        max_staleness_ms: how long an answer holds at most.
    """
    topics = answers.select(*_CLIENT, "captured_at_ms", F.when(F.col("is_answer"), F.col("topics")).alias("topics"))
    nothing = topics.select(*_CLIENT, "topics", F.col("captured_at_ms").alias("last_answer_ms")).limit(0)
    intervals = answer_intervals(topics, _CLIENT, "topics", day, nothing, max_staleness_ms)
    return intervals.select(*_CLIENT, "topics", "start_ms", "end_ms")


def process_queues(answers: DataFrame, opening: DataFrame, day: Day, max_staleness_ms: int) -> DataFrame:
    """Intervals of equal answers per client: its `queues`, possibly empty.

    Args:
        answers: frame of `running_info`.
        opening: rows of `queue_ownership` valid at 00:00.
        day: the day.
        max_staleness_ms: how long an answer holds at most.
    """
    queue = F.struct("topic", "broker_name", "queue_id", "popped", F.lit(False).alias("dropped"))
    before = (
        opening.where("source = 'RUNNING_INFO'")
        .groupBy(*_CLIENT)
        .agg(
            F.array_sort(F.collect_list(queue)).cast(_QUEUES).alias("queues"),
            F.max("last_answer_ms").alias("last_answer_ms"),
        )
    )
    queues = F.when(F.col("is_answer"), F.col("queues").cast(_QUEUES)).alias("queues")
    answered = answers.select(*_CLIENT, "captured_at_ms", queues)
    return lasting(answer_intervals(answered, _CLIENT, "queues", day, before, max_staleness_ms)).drop("unanswered")


def usual_gaps(answers: DataFrame) -> DataFrame:
    """One row per client: `gap_ms`, the median time between two of its answers, null = it answered once.

    Args:
        answers: frame of `running_info`.
    """
    in_time = Window.partitionBy(*_CLIENT).orderBy("captured_at_ms")
    gap = F.col("captured_at_ms") - F.lag("captured_at_ms").over(in_time)
    gaps = answers.where("is_answer").withColumn("gap_ms", gap).groupBy(*_CLIENT)
    return gaps.agg(F.expr("percentile(gap_ms, 0.5)").cast("bigint").alias("gap_ms"))


def logged_strategies(log_lines: DataFrame) -> DataFrame:
    """One row per `consumer_group` and `client_id`: the `strategy` in its last result of the day.

    Args:
        log_lines: published lines of the input `client_logs`.
    """
    results = log_lines.where("event = 'ALLOCATED' AND strategy IS NOT NULL AND client_id IS NOT NULL")
    in_time = F.struct("at_ms", "file", "split", "row")
    return results.groupBy(*_CLIENT).agg(F.max_by("strategy", in_time).alias("strategy"))
