"""Topic routes over the day: queues to consume from and to send to, and what changed."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.allocation.answer_intervals import INTERVAL, answer_intervals
from jobs.sources.topic_route import is_static, order_numbers
from jobs.tables.day import Day

_READ, _WRITE = 4, 2  # PermName.PERM_READ, PERM_WRITE
_SHAPE = "array<struct<broker_name: string, readable: int, writable: int, has_master: boolean>>"


def topic_routes(answers: DataFrame, day: Day, opening: DataFrame, max_staleness_ms: int) -> DataFrame:
    """Intervals of equal routes: `topic`, `route`, `start_ms`, `end_ms`, `last_answer_ms`, `unanswered`.

    `route` has, per broker with queues, the number to consume from (`topicRouteData2TopicSubscribeInfo`) and to send to
    (`topicRouteData2TopicPublishInfo`: a master, write permission; an order topic's own numbers win). Static topics are
    left out: they share logical queues.

    Args:
        answers: frame of `route_answers`.
        day: the day.
        opening: `topic`, `route`, `last_answer_ms` of the day before.
        max_staleness_ms: how long an answer holds at most.
    """
    is_usable = F.col("route").isNotNull() & ~is_static(F.col("route"))
    shaped = answers.withColumn("route", F.when(is_usable, _shaped(F.col("route"))))
    return answer_intervals(shaped, ["topic"], "route", day, opening, max_staleness_ms)


def _shaped(route: Column) -> Column:
    masters = F.transform(
        F.filter(route["brokerDatas"], lambda broker: F.map_contains_key(broker["brokerAddrs"], F.lit("0"))),
        lambda broker: broker["brokerName"],
    )
    is_ordered = F.coalesce(F.length(route["orderTopicConf"]) > 0, F.lit(False))
    ordered = order_numbers(route)

    def queues_of(data: Column) -> Column:
        # Java's numbers are 0 where the JSON has none.
        perm, read, write = (F.coalesce(data[each], F.lit(0)) for each in ("perm", "readQueueNums", "writeQueueNums"))
        name = data["brokerName"]
        has_master = F.coalesce(F.array_contains(masters, name), F.lit(False))
        plain = F.when(has_master & (perm.bitwiseAND(_WRITE) != 0), write).otherwise(0)
        return F.struct(
            name.alias("broker_name"),
            F.when(perm.bitwiseAND(_READ) != 0, read).otherwise(0).alias("readable"),
            F.when(is_ordered, _most(ordered, name)).otherwise(plain).alias("writable"),
            has_master.alias("has_master"),
        )

    per_broker = F.array_sort(F.transform(route["queueDatas"], queues_of))
    return F.filter(per_broker, lambda of: (of["readable"] > 0) | (of["writable"] > 0)).cast(_SHAPE)


def _most(ordered: Column, broker_name: Column) -> Column:
    """The broker's queues in `orderTopicConf`: the most if listed twice, none if not at all."""
    own = F.filter(ordered, lambda of: of["broker_name"] == broker_name)
    return F.coalesce(F.array_max(F.transform(own, lambda of: of["queues"])), F.lit(0))


def carried_routes(topic_queues: DataFrame) -> DataFrame:
    """One row per `topic`: `route` and `last_answer_ms` behind rows of the table.

    Args:
        topic_queues: rows of one moment: at most one interval per topic.
    """
    of_broker = topic_queues.groupBy("topic", "last_answer_ms", "broker_name").agg(
        F.count_if("readable").cast("int").alias("readable"),
        F.count_if("writable").cast("int").alias("writable"),
        F.first("has_master").alias("has_master"),
    )
    shape = F.struct("broker_name", "readable", "writable", "has_master")
    return of_broker.groupBy("topic", "last_answer_ms").agg(
        F.array_sort(F.collect_list(shape)).cast(_SHAPE).alias("route")
    )


def brokers(route: Column) -> Column:
    """Brokers that a client may ask for its group's members (`MQClientInstance.findBrokerAddrByTopic`)."""
    return F.transform(route, lambda of: of["broker_name"])


def readable_queues(route: Column) -> Column:
    """Array of (`broker_name`, `queue_id`) that consumers share."""
    return F.flatten(
        F.transform(
            route,
            lambda of: F.transform(
                F.when(of["readable"] > 0, F.sequence(F.lit(0), of["readable"] - 1)).otherwise(
                    F.array().cast("array<int>")
                ),
                lambda queue_id: F.struct(of["broker_name"].alias("broker_name"), queue_id.alias("queue_id")),
            ),
        )
    )


def topic_queues(routes: DataFrame) -> DataFrame:
    """Rows of the table `topic_queues`, without day and cluster."""
    of = routes.select("topic", "start_ms", "end_ms", "last_answer_ms", F.explode("route").alias("of"))
    most = F.greatest("of.readable", "of.writable")
    numbered = of.select(
        "topic",
        "start_ms",
        "end_ms",
        "last_answer_ms",
        "of",
        F.explode(F.sequence(F.lit(0), most - 1)).alias("queue_id"),
    )
    readable, writable = F.col("queue_id") < F.col("of.readable"), F.col("queue_id") < F.col("of.writable")
    return numbered.select(
        "topic",
        "start_ms",
        "end_ms",
        "last_answer_ms",
        "of.broker_name",
        "queue_id",
        readable.alias("readable"),
        writable.alias("writable"),
        "of.has_master",
        F.when(writable & ~readable, "UNREAD").when(readable & ~writable, "IDLE").otherwise("NONE").alias("finding"),
    )


def route_changes(routes: DataFrame) -> DataFrame:
    """Rows of the table `route_changes`, without day and cluster: each broker whose queues changed."""
    in_time = Window.partitionBy("topic").orderBy(*INTERVAL)
    pairs = routes.select(
        "topic",
        F.col("start_ms").alias("changed_at_ms"),
        F.lag("route").over(in_time).alias("before"),
        F.col("route").alias("after"),
    ).where("before IS NOT NULL")
    names = F.array_union(
        F.transform("before", lambda of: of["broker_name"]), F.transform("after", lambda of: of["broker_name"])
    )
    by_broker = pairs.withColumn("broker_name", F.explode(names))

    def of_broker(side: str) -> Column:
        return F.try_element_at(F.filter(side, lambda of: of["broker_name"] == F.col("broker_name")), F.lit(1))

    compared = by_broker.withColumns({"before": of_broker("before"), "after": of_broker("after")})
    change = F.when(F.col("before").isNull(), "ADDED").when(F.col("after").isNull(), "REMOVED").otherwise("CHANGED")
    queues_before, queues_after = (F.col(side).dropFields("has_master") for side in ("before", "after"))
    return compared.where(~queues_before.eqNullSafe(queues_after)).select(
        "topic",
        "changed_at_ms",
        "broker_name",
        change.alias("change"),
        F.col("before.readable").alias("readable_before"),
        F.col("after.readable").alias("readable_after"),
        F.col("before.writable").alias("writable_before"),
        F.col("after.writable").alias("writable_after"),
    )
