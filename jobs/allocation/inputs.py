"""Inputs of the strategies: per group, topic and view, intervals of unchanged members, queues and strategy."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.allocation.answer_intervals import INTERVAL, answer_intervals
from jobs.allocation.topic_queues import brokers, readable_queues
from jobs.intervals.coalesce import coalesce_equal
from jobs.intervals.split import covering_join, split_at_boundaries
from jobs.settings.consumer_groups import GroupSettings
from jobs.tables.day import Day
from udfs.strategy import POP, RETRY_TOPIC

SUBJECT = ("consumer_group", "topic")
VIEW = (*SUBJECT, "view_broker_name")
_MEMBER = ("consumer_group", "broker_name")


def group_members(answers: DataFrame, day: Day, opening: DataFrame, max_staleness_ms: int) -> DataFrame:
    """Intervals of equal member lists per group and broker, as `answer_intervals` returns them: value `client_ids`.

    Args:
        answers: as `member_answers` returns them.
        day: the day.
        opening: `consumer_group`, `broker_name`, `client_ids`, `last_answer_ms` of the day before.
        max_staleness_ms: how long an answer holds at most.
    """
    return answer_intervals(answers, list(_MEMBER), "client_ids", day, opening, max_staleness_ms)


def with_configured_topics(
    subscriptions: DataFrame, lists: DataFrame, groups: Mapping[str, GroupSettings]
) -> DataFrame:
    """The subscriptions, and the configured topics of groups without any connection, once per answer on their members.

    Args:
        subscriptions: `consumer_group`, `topic`, `captured_at_ms`, one row per connection and topic.
        lists: as `member_answers` returns them.
        groups: the settings of groups.
    """
    configured = [(group, topic) for group, settings in groups.items() for topic in settings.topics or ()]
    if not configured:
        return subscriptions
    topics = subscriptions.sparkSession.createDataFrame(configured, "consumer_group string, topic string")
    without_connection = lists.select("consumer_group", "captured_at_ms").join(
        subscriptions.select("consumer_group").distinct(), "consumer_group", "left_anti"
    )
    return subscriptions.unionByName(without_connection.join(F.broadcast(topics), "consumer_group"))


def group_topics(subscriptions: DataFrame, opening: DataFrame, day: Day, max_staleness_ms: int) -> DataFrame:
    """One row per `consumer_group` and `topic` that it consumes, `from_ms` to `until_ms`.

    A broker keeps one subscription table per group that flips where members subscribe different topics, so a topic
    counts from the first to the last connection that names it.

    Args:
        subscriptions: `consumer_group`, `topic`, `captured_at_ms`, one row per connection and topic.
        opening: `consumer_group`, `topic` valid at 00:00.
        day: the day.
        max_staleness_ms: how long an answer holds at most.
    """
    before = opening.select(*SUBJECT, F.lit(day.start_ms).alias("captured_at_ms"))
    return (
        subscriptions.select(*SUBJECT, "captured_at_ms")
        .unionByName(before)
        .groupBy(*SUBJECT)
        .agg(
            F.min("captured_at_ms").alias("from_ms"),
            F.least(F.max("captured_at_ms") + max_staleness_ms, F.lit(day.end_ms)).alias("until_ms"),
        )
    )


def allocation_inputs(topics: DataFrame, routes: DataFrame, members: DataFrame, strategies: DataFrame) -> DataFrame:
    """Intervals of unchanged inputs of a strategy.

    Grain: `consumer_group`, `topic`, `view_broker_name`, `start_ms`. Columns: `queues` (array of `broker_name`,
    `queue_id`, to consume from), `client_ids` (sorted, duplicates kept), `views` (number of different member lists),
    `view_broker_name` (null where the brokers of the topic agree), and those of `group_strategies`.

    A client asks a random broker of the topic for the members. A broker that knows no such group answers with an
    error, on which the client changes nothing: such a view allocates nothing while another broker knows the group.

    Args:
        topics: as `group_topics` returns them.
        routes: as `topic_routes` returns them.
        members: as `group_members` returns them.
        strategies: as `group_strategies` returns them.
    """
    consumed = topics.join(routes, "topic").where("end_ms > from_ms AND start_ms < until_ms")
    routed = consumed.select(
        *SUBJECT,
        F.greatest("start_ms", "from_ms").alias("start_ms"),
        F.least("end_ms", "until_ms").alias("end_ms"),
        "route",
    )
    member_lists = members.select("consumer_group", "broker_name", "client_ids", *INTERVAL)
    of_members = member_lists.join(topics.select(*SUBJECT), "consumer_group").select(*SUBJECT, *INTERVAL)
    parts = split_at_boundaries(routed.select(*SUBJECT, *INTERVAL).unionByName(of_members), SUBJECT)
    with_route = covering_join(parts, routed, SUBJECT).drop(*INTERVAL)
    by_route = (
        covering_join(with_route, member_lists, ("consumer_group",))
        .where(F.array_contains(brokers(F.col("route")), F.col("broker_name")))
        .groupBy(*SUBJECT, "from_ms")
        .agg(
            F.first("until_ms").alias("end_ms"),
            F.first("route").alias("route"),
            F.array_sort(F.collect_set(F.struct("client_ids", "broker_name"))).alias("member_lists"),
        )
        .withColumnRenamed("from_ms", "start_ms")
    )
    lists = F.array_distinct(F.transform("member_lists", lambda each: each["client_ids"]))
    with_members = F.filter("member_lists", lambda each: F.size(each["client_ids"]) > 0)
    one_for_all = F.slice("member_lists", 1, 1)
    no_broker = F.lit(None).cast("string")
    views = F.when(
        (F.size(lists) == 1),
        F.transform(one_for_all, lambda each: F.struct(each["client_ids"].alias("ids"), no_broker.alias("view"))),
    ).otherwise(
        F.transform(
            with_members, lambda each: F.struct(each["client_ids"].alias("ids"), each["broker_name"].alias("view"))
        )
    )
    by_view = by_route.select(
        *SUBJECT,
        *INTERVAL,
        readable_queues(F.col("route")).alias("queues"),
        F.size(lists).alias("views"),
        F.explode(views).alias("of"),
    ).select(
        *SUBJECT,
        *INTERVAL,
        "queues",
        "views",
        F.col("of.ids").alias("client_ids"),
        F.col("of.view").alias("view_broker_name"),
    )
    inputs = coalesce_equal(by_view, VIEW, ("queues", "client_ids", "views")).join(
        F.broadcast(strategies), "consumer_group"
    )
    # Of a retry topic the broker assigns whole queues, whatever the mode.
    of_retries = F.col("topic").startswith(RETRY_TOPIC)
    by_mode = of_retries & (F.col("undetermined") == "REQUEST_MODE_UNKNOWN")
    return inputs.withColumns(
        {
            "strategy": F.when(of_retries, F.regexp_replace("strategy", f"^{POP}", "")).otherwise(F.col("strategy")),
            "undetermined": F.when(by_mode, F.lit(None).cast("string")).otherwise(F.col("undetermined")),
        }
    )
