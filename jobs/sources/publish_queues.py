"""Queues that producers send to over time, in the order that a queue selector gets."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.sources.topic_route import changes, is_ordered, is_static, order_numbers, unreadable_order
from jobs.tables.day import Day
from udfs.fault_window import FAR_MS

PUBLISH_QUEUES = (
    "cluster string, topic string,"
    " spans array<struct<from_ms: bigint, until_ms: bigint, queues: array<struct<broker_name: string, queue_id: int>>>>"
)
_QUEUES = "array<struct<broker_name: string, queue_id: int>>"
_WRITE_BIT = 2  # PermName.PERM_WRITE


def publish_queues(routes: DataFrame, day: Day, *, only_own: bool) -> DataFrame:
    """PUBLISH_QUEUES: one small row per `cluster` and `topic`, with its lists of queues over the day.

    `spans` in order of time: equal answers in a row are one, and one that clients cannot read changes nothing. The
    day's first answer counts from the beginning, its last one without end. No queues = no such topic, or nowhere to
    send to; `queues` is null for a static topic (5.0.0 and later), whose logical queues are not read.

    Args:
        routes: frame of `route_answers`.
        day: the day and cluster; answers captured on other days are left out.
        only_own: leave out brokers that the route places in another cluster, and answers without any other broker.
    """
    own = F.transform(
        F.filter("route.brokerDatas", lambda broker: F.coalesce(broker["cluster"] == day.cluster, F.lit(True))),
        lambda broker: broker["brokerName"],
    )
    queues = publishable(F.col("route"))
    is_foreign = (F.size("route.brokerDatas") > 0) & (F.size(own) == 0)
    of_day = routes.where(
        (F.col("captured_at_ms") >= day.start_ms)
        & (F.col("captured_at_ms") < day.end_ms)
        & F.col("route").isNotNull()
        & unreadable_order(F.col("route")).isNull()
        & ~(F.lit(only_own) & is_foreign)
    ).withColumn(
        "queues", F.filter(queues, lambda queue: F.array_contains(own, queue["broker_name"])) if only_own else queues
    )
    since = F.when(F.col("before").isNull(), F.lit(0).cast("bigint")).otherwise(F.col("captured_at_ms"))
    until = F.coalesce("until_ms", F.lit(FAR_MS))
    spans = changes(of_day, "queues").select(
        "topic", F.struct(since.alias("from_ms"), until.alias("until_ms"), "answer.queues").alias("span")
    )
    return spans.groupBy(F.lit(day.cluster).alias("cluster"), "topic").agg(
        F.array_sort(F.collect_list("span")).alias("spans")
    )


def publishable(route: Column) -> Column:
    """Array of (`broker_name`, `queue_id`) as `topicRouteData2TopicPublishInfo` lists them; null for a static topic.

    An order topic's own numbers win, in their own order. Else the brokers by name: those with a master and write
    permission, each with its write queues.
    """
    ordered = F.transform(order_numbers(route), lambda of: _numbered(of["broker_name"], of["queues"]))
    masters = F.transform(
        F.filter(route["brokerDatas"], lambda broker: F.map_contains_key(broker["brokerAddrs"], F.lit("0"))),
        lambda broker: broker["brokerName"],
    )
    masters_to_write = F.filter(
        F.array_sort(route["queueDatas"]),
        lambda data: (data["perm"].bitwiseAND(_WRITE_BIT) != 0) & F.array_contains(masters, data["brokerName"]),
    )
    plain = F.transform(masters_to_write, lambda data: _numbered(data["brokerName"], data["writeQueueNums"]))
    lists = F.when(is_ordered(route), ordered).when(~is_static(route) | route["orderTopicConf"].isNotNull(), plain)
    return F.flatten(lists).cast(_QUEUES)


def _numbered(broker_name: Column, queues: Column) -> Column:
    """The broker's queues from 0 on; none for null."""
    numbers = F.when(queues > 0, F.sequence(F.lit(0), queues - 1)).otherwise(F.array().cast("array<int>"))
    return F.transform(numbers, lambda queue_id: F.struct(broker_name.alias("broker_name"), queue_id.alias("queue_id")))
