"""Topics that each consumer group consumes, with their routes over the day."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.allocation.topic_queues import consumed
from jobs.settings.consumer_groups import GroupSettings
from jobs.tables.day import Day

_SUBJECT = ("consumer_group", "topic")
_BROKERS = "array<struct<broker_name: string, readable: int>>"


def subscriptions(connections: DataFrame, lists: DataFrame, groups: Mapping[str, GroupSettings]) -> DataFrame:
    """One row per connection and topic: `consumer_group`, `topic`, `captured_at_ms`.

    For groups without a connection the configured topics, once per answer on their members.

    Args:
        connections: frame of `connections`.
        lists: frame of `member_answers`.
        groups: the settings of groups.
    """
    connected = connections.select("consumer_group", F.explode("topics").alias("topic"), "captured_at_ms")
    configured = [(group, topic) for group, settings in groups.items() for topic in settings.topics or ()]
    if not configured:
        return connected
    topics = connections.sparkSession.createDataFrame(configured, "consumer_group string, topic string")
    without_connection = lists.select("consumer_group", "captured_at_ms").join(
        connected.select("consumer_group").distinct(), "consumer_group", "left_anti"
    )
    return connected.unionByName(without_connection.join(F.broadcast(topics), "consumer_group"))


def group_topics(subscribed: DataFrame, allocated: DataFrame, day: Day, max_staleness_ms: int) -> DataFrame:
    """One row per `consumer_group` and `topic` that it consumes, `from_ms` to `until_ms`.

    A broker keeps one subscription table per group that flips where members subscribe different topics, so a topic
    counts from the first to the last connection with it.

    Args:
        subscribed: frame of `subscriptions`.
        allocated: `consumer_group`, `topic` valid at 00:00.
        day: the day.
        max_staleness_ms: how long an answer holds at most.
    """
    before = allocated.select(*_SUBJECT, F.lit(day.start_ms).alias("captured_at_ms"))
    return (
        subscribed.unionByName(before)
        .groupBy(*_SUBJECT)
        .agg(
            F.min("captured_at_ms").alias("from_ms"),
            F.least(F.max("captured_at_ms") + max_staleness_ms, F.lit(day.end_ms)).alias("until_ms"),
        )
    )


def with_routes(topics: DataFrame, routes: DataFrame, before: DataFrame) -> DataFrame:
    """The topics with `routes` (over the day, possibly empty) and `route_before` (at 00:00, null = not known).

    Args:
        topics: frame of `group_topics`.
        routes: frame of `topic_routes`.
        before: frame of `carried_routes`.
    """

    def brokers(route: str) -> Column:
        each_broker = F.transform(consumed(F.col(route)), lambda of: F.struct(of["broker_name"], of["readable"]))
        return each_broker.cast(_BROKERS).alias("brokers")

    answer = F.struct(brokers("route"), "start_ms", "end_ms", "last_answer_ms", "trouble", "trouble_broker_name")
    of_topics = routes.groupBy("topic").agg(F.collect_list(answer).alias("routes"))
    at_midnight = before.select("topic", brokers("route").alias("route_before"))
    return (
        topics.join(of_topics, "topic", "left")
        .join(at_midnight, "topic", "left")
        .withColumn("routes", F.coalesce("routes", F.array()))
    )
