"""Topic routes over the day: readable and writable queues, and changes."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.allocation.answer_intervals import INTERVAL, answer_intervals
from jobs.kinds import GroupKind
from jobs.sources.topic_route import is_ordered, is_static, order_numbers, unreadable_order
from jobs.tables.day import Day

_READ, _WRITE = 4, 2  # PermName.PERM_READ, PERM_WRITE
_SHAPE = "array<struct<broker_name: string, readable: int, writable: int, has_master: boolean>>"
_ANSWER = f"struct<route: {_SHAPE}, trouble: string, trouble_broker_name: string>"
_ROUND_MS = 1_000  # a collector asks all name servers within this time


def topic_routes(answers: DataFrame, day: Day, opening: DataFrame, max_staleness_ms: int) -> DataFrame:
    """Intervals of equal routes: `topic`, `route`, `trouble`, `start_ms`, `end_ms`, `last_answer_ms`, `unanswered`.

    `route` has per broker with queues the number to consume from (`topicRouteData2TopicSubscribeInfo`) and to send to
    (`topicRouteData2TopicPublishInfo`: a master, write permission; an order topic's own numbers win, also those of a
    broker that is gone). Static topics are left out: what they share are logical queues.

    `trouble` is null, or the kind of finding that an answer is, with `trouble_broker_name`: where name servers
    disagree, `route` is null, as it depends on whom a client asks; where an order topic's numbers cannot be read, it
    is the route of before, which clients keep.

    Args:
        answers: frame of `route_answers`.
        day: the day.
        opening: `topic`, `route`, `last_answer_ms` of the day before.
        max_staleness_ms: how long an answer holds at most.
    """
    route = F.col("route")
    unread = unreadable_order(route)
    shaped = F.struct(
        F.when(unread.isNull(), _shaped(route)).cast(_SHAPE).alias("route"),
        F.when(unread.isNotNull(), GroupKind.ORDER_CONF_UNREADABLE).alias("trouble"),
        unread.alias("trouble_broker_name"),
    )
    is_usable = route.isNotNull() & ~is_static(route)
    asked = answers.select("captured_at_ms", "topic", F.when(is_usable, shaped.cast(_ANSWER)).alias("answer"))
    before = opening.select(
        "topic",
        F.struct("route", F.lit(None).alias("trouble"), F.lit(None).alias("trouble_broker_name"))
        .cast(_ANSWER)
        .alias("answer"),
        "last_answer_ms",
    )
    agreed = _by_round(asked, max_staleness_ms)
    held = _with_route_of_before(agreed, before)
    intervals = answer_intervals(held, ["topic"], "answer", day, before, max_staleness_ms)
    return intervals.select("topic", "answer.*", "start_ms", "end_ms", "last_answer_ms", "unanswered")


def _by_round(asked: DataFrame, max_staleness_ms: int) -> DataFrame:
    """One row per topic and round of the collector: the `answer`, or that name servers disagree.

    They do where answers within a second differ, and where answers alternate: each is that of two before, four times
    in a row. A collector that asks one name server every second or faster has no rounds.

    Args:
        asked: `captured_at_ms`, `topic`, `answer`.
        max_staleness_ms: an alternation takes no longer.
    """
    in_time = Window.partitionBy("topic").orderBy("captured_at_ms", "answer")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_apart = F.col("captured_at_ms") - F.lag("captured_at_ms").over(in_time) > _ROUND_MS
    of_round = Window.partitionBy("topic", "round")
    first_ms, last_ms = (of("captured_at_ms").over(of_round) for of in (F.min, F.max))
    rounds = (
        asked.withColumn("is_apart", is_apart)
        .withColumn("round", F.count_if("is_apart").over(so_far))
        .withColumn("at_ms", F.when(last_ms - first_ms <= _ROUND_MS, first_ms).otherwise(F.col("captured_at_ms")))
        .groupBy("topic", F.col("at_ms").alias("captured_at_ms"))
        .agg(F.array_sort(F.collect_set("answer")).alias("answers"))
    )
    in_rounds = Window.partitionBy("topic").orderBy("captured_at_ms")
    earlier = [F.lag("answers", places).over(in_rounds) for places in (1, 2, 3)]
    alternates = (
        (F.col("answers") == earlier[1])
        & (earlier[0] == earlier[2])
        & (F.col("answers") != earlier[0])
        & (F.least(F.size("answers"), F.size(earlier[0])) > 0)
        & (F.col("captured_at_ms") - F.lag("captured_at_ms", 3).over(in_rounds) <= max_staleness_ms)
    )
    flagged = rounds.withColumn("alternates", F.coalesce(alternates, F.lit(False)))
    following = F.greatest("alternates", *(F.lead("alternates", n).over(in_rounds) for n in (1, 2, 3)))
    disagree = F.lit(f"{GroupKind.NAME_SERVERS_DISAGREE}")
    contradiction = F.struct(F.lit(None).alias("route"), disagree.alias("trouble"), F.lit(None).alias("broker_name"))
    return flagged.select(
        "topic",
        "captured_at_ms",
        F.when((F.size("answers") > 1) | following, contradiction.cast(_ANSWER))
        .otherwise(F.get("answers", F.lit(0)))
        .alias("answer"),
    )


def _with_route_of_before(rounds: DataFrame, before: DataFrame) -> DataFrame:
    """Answers that clients cannot read get the route of the last readable one."""
    opening = before.select("topic", F.col("last_answer_ms").alias("captured_at_ms"), "answer", F.lit(0).alias("place"))
    in_time = Window.partitionBy("topic").orderBy("captured_at_ms", "place")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    kept = F.last("answer.route", ignorenulls=True).over(so_far)
    is_unread = F.col("answer.trouble") == GroupKind.ORDER_CONF_UNREADABLE
    answer = F.when(is_unread, F.col("answer").withField("route", kept)).otherwise(F.col("answer"))
    return (
        rounds.withColumn("place", F.lit(1)).unionByName(opening).withColumn("answer", answer).where("place = 1")
    ).drop("place")


def _shaped(route: Column) -> Column:
    masters = F.transform(
        F.filter(route["brokerDatas"], lambda broker: F.map_contains_key(broker["brokerAddrs"], F.lit("0"))),
        lambda broker: broker["brokerName"],
    )
    ordered = order_numbers(route)

    def queues_of(data: Column) -> Column:
        # Java's numbers default to 0 where the JSON has none.
        perm, read, write = (F.coalesce(data[field], F.lit(0)) for field in ("perm", "readQueueNums", "writeQueueNums"))
        name = data["brokerName"]
        has_master = F.coalesce(F.array_contains(masters, name), F.lit(False))
        plain = F.when(has_master & (perm.bitwiseAND(_WRITE) != 0), write).otherwise(0)
        return F.struct(
            name.alias("broker_name"),
            F.when(perm.bitwiseAND(_READ) != 0, read).otherwise(0).alias("readable"),
            F.when(is_ordered(route), _most(ordered, name)).otherwise(plain).alias("writable"),
            has_master.alias("has_master"),
        )

    names = F.transform(route["queueDatas"], lambda data: data["brokerName"])
    gone = F.filter(ordered, lambda of: ~F.array_contains(names, of["broker_name"]))
    of_gone = F.transform(
        F.array_distinct(F.transform(gone, lambda of: of["broker_name"])),
        lambda name: F.struct(
            name.alias("broker_name"),
            F.lit(0).alias("readable"),
            _most(ordered, name).alias("writable"),
            F.lit(False).alias("has_master"),
        ),
    )
    per_broker = F.array_sort(F.concat(F.transform(route["queueDatas"], queues_of), of_gone))
    return F.filter(per_broker, lambda of: (of["readable"] > 0) | (of["writable"] > 0)).cast(_SHAPE)


def _most(ordered: Column, broker_name: Column) -> Column:
    """The broker's queues in `orderTopicConf`: the maximum if listed twice, 0 if not listed."""
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


def consumed(route: Column) -> Column:
    """Brokers of the route itself, without those that only `orderTopicConf` lists."""
    return F.filter(route, lambda of: of["has_master"] | (of["readable"] > 0))


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
    pairs = (
        routes.where("route IS NOT NULL")
        .select(
            "topic",
            F.col("start_ms").alias("changed_at_ms"),
            F.lag("route").over(in_time).alias("before"),
            F.col("route").alias("after"),
        )
        .where("before IS NOT NULL")
    )
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
