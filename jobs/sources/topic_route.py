"""Topic routes by the name server: the brokers and queues of a topic, and the addresses of brokers."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.sources.broker_addresses import with_other_port
from jobs.tables.day import Day
from udfs.broker_address import VIP_PORT_BELOW, one_form

_BODY = (
    "brokerDatas ARRAY<STRUCT<brokerName: STRING, cluster: STRING, brokerAddrs: MAP<STRING, STRING>>>,"
    " queueDatas ARRAY<STRUCT<brokerName: STRING, perm: INT, readQueueNums: INT, writeQueueNums: INT>>,"
    " orderTopicConf STRING, topicQueueMappingByBroker MAP<STRING, STRING>"
)

MOST_QUEUES = 65_536
"""No real topic has more on one broker; a larger number would create as many rows."""

ANSWER, _NO_SUCH_TOPIC = 0, 17  # ResponseCode.SUCCESS, TOPIC_NOT_EXIST
_LENIENT = {"allowUnquotedFieldNames": "true"}  # older clients get numeric keys without quotes


def route_answers(lines: DataFrame) -> DataFrame:
    """One row per line: `captured_at_ms`, `topic`, `route` (`answered_route`).

    Args:
        lines: published lines of the input `routes`.
    """
    return lines.select("captured_at_ms", "topic", answered_route(F.col("code"), F.col("body")).alias("route"))


def answered_route(code: Column, body: Column) -> Column:
    """The route of an answer: empty = the topic does not exist, null = nothing is known.

    Code 0 is an answer; 17 means that the topic does not exist; with any other code nothing is known, nor from an
    answer with more than `MOST_QUEUES` queues of a broker. The body is strict JSON for new clients; older ones are
    answered with unquoted numeric keys.
    """
    answer = F.from_json(body, _BODY, _LENIENT)
    no_topic = F.from_json(F.lit('{"brokerDatas":[],"queueDatas":[]}'), _BODY)
    is_answer = (code == ANSWER) & answer["queueDatas"].isNotNull() & ~has_too_many_queues(answer)
    return F.when(code == _NO_SUCH_TOPIC, no_topic).when(is_answer, answer)


def has_too_many_queues(route: Column) -> Column:
    """Whether a broker has more than `MOST_QUEUES` queues in the route; null without queues."""
    return F.exists(
        route["queueDatas"],
        lambda of: F.coalesce(F.greatest(of["readQueueNums"], of["writeQueueNums"]) > MOST_QUEUES, F.lit(False)),
    )


def is_static(route: Column) -> Column:
    """Whether the topic is static (5.0.0 and later), whose logical queues are not read."""
    return F.coalesce(F.size(route["topicQueueMappingByBroker"]) > 0, F.lit(False))


def is_ordered(route: Column) -> Column:
    """Whether the topic has an `orderTopicConf`, whose numbers count for producers instead of the brokers' own."""
    return F.coalesce(F.length(route["orderTopicConf"]) > 0, F.lit(False))


def order_numbers(route: Column) -> Column:
    """`orderTopicConf` (`broker:number;…`): array of `broker_name`, `queues`, in its order.

    `queues` is null where clients cannot read it (`unreadable_order`), or read more than `MOST_QUEUES`. Empty for
    another topic.
    """

    def numbers_of(part: Column) -> Column:
        number = _order_number(part)
        return F.struct(_order_broker(part).alias("broker_name"), F.when(number <= MOST_QUEUES, number).alias("queues"))

    return F.transform(_order_parts(route), numbers_of)


def unreadable_order(route: Column) -> Column:
    """The broker at which `orderTopicConf` cannot be read, "" = a part that names none; null where all of it can.

    A client splits it as Java does and parses the text after a part's first colon. Where that fails so does its whole
    update of the route: it keeps the one before (`MQClientInstance.topicRouteData2TopicPublishInfo`, 4.0.0 to 5.3.3).
    """
    unread = F.filter(_order_parts(route), lambda part: _order_number(part).isNull())
    return _order_broker(F.get(unread, F.lit(0)))


def _order_parts(route: Column) -> Column:
    text = F.regexp_replace(F.coalesce(route["orderTopicConf"], F.lit("")), ";+$", "")
    return F.when(text == "", F.array().cast("array<string>")).otherwise(F.split(text, ";"))


def _order_broker(part: Column) -> Column:
    return F.split_part(part, F.lit(":"), F.lit(1))


def _order_number(part: Column) -> Column:
    """What Java's `Integer.parseInt` makes of it; null where it throws."""
    return F.nullif(F.regexp_extract(part, r"^[^:]*:([+-]?[0-9]+)(?::.*)?$", 1), F.lit("")).try_cast("int")


def broker_names(routes: DataFrame) -> DataFrame:
    """One row per `broker_addr`, in its one form: `routed_broker_name`, the name that the latest answer gives it.

    The VIP port of each broker is one too, unless another has it.
    """
    brokers = routes.select("captured_at_ms", "topic", F.explode("route.brokerDatas").alias("broker"))
    addresses = brokers.select(
        "captured_at_ms",
        "topic",
        F.col("broker.brokerName").alias("routed_broker_name"),
        F.explode("broker.brokerAddrs").alias("broker_id", "broker_addr"),
    ).withColumn("broker_addr", one_form(F.col("broker_addr")))
    latest = (
        Window.partitionBy("broker_addr")
        .orderBy(F.desc("captured_at_ms"), "topic", "routed_broker_name", "broker_id")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return (
        addresses.withColumn("place", F.row_number().over(latest))
        .where("place = 1")
        .select("broker_addr", "routed_broker_name")
        .transform(with_other_port, -VIP_PORT_BELOW)
    )


def topic_brokers(routes: DataFrame, day: Day, *, only_own: bool) -> DataFrame:
    """One row per interval of equal answers, topic and broker.

    Columns of `topic_brokers` without its day. An answer holds until the topic's next one; consecutive equal answers
    are one interval; the last of the day holds until 24:00.

    Args:
        routes: frame of `route_answers`.
        day: the day and cluster; answers captured on other days are left out.
        only_own: leave out brokers that the route places in another cluster.
    """
    of_day = routes.where(
        (F.col("captured_at_ms") >= day.start_ms) & (F.col("captured_at_ms") < day.end_ms) & F.col("route").isNotNull()
    )
    masters = F.transform(
        F.filter("route.brokerDatas", lambda broker: F.map_contains_key(broker["brokerAddrs"], F.lit("0"))),
        lambda broker: broker["brokerName"],
    )
    own = F.transform(
        F.filter("route.brokerDatas", lambda broker: F.coalesce(broker["cluster"] == day.cluster, F.lit(True))),
        lambda broker: broker["brokerName"],
    )
    is_own = F.lit(not only_own)
    hosts = F.array_sort(
        F.transform(
            F.filter(
                "route.queueDatas",
                lambda queues: (
                    queues["brokerName"].isNotNull() & (is_own | F.array_contains(own, queues["brokerName"]))
                ),
            ),
            lambda queues: F.struct(
                queues["brokerName"].alias("broker_name"),
                F.coalesce(queues["perm"], F.lit(0)).alias("perm"),
                F.coalesce(queues["readQueueNums"], F.lit(0)).alias("read_queue_nums"),
                F.coalesce(queues["writeQueueNums"], F.lit(0)).alias("write_queue_nums"),
                F.coalesce(F.array_contains(masters, queues["brokerName"]), F.lit(False)).alias("has_master"),
            ),
        )
    )
    return changes(of_day.withColumn("hosts", hosts), "hosts").select(
        F.lit(day.cluster).alias("cluster"),
        "topic",
        F.col("captured_at_ms").alias("start_ms"),
        F.coalesce("until_ms", F.lit(day.end_ms)).alias("end_ms"),
        F.inline("answer.hosts"),
    )


def changes(routes: DataFrame, content: str) -> DataFrame:
    """One row per topic and run of equal answers.

    Columns: `topic`, `captured_at_ms` of the first of them, `answer` (struct of the content alone), `before` (null =
    the topic's first), `until_ms` (null = the last).

    Args:
        routes: answers of one cluster; of those of one topic and instant the least counts.
        content: the column that is compared.
    """
    answers = routes.groupBy("topic", "captured_at_ms").agg(F.min(F.struct(content)).alias("answer"))
    in_time = Window.partitionBy("topic").orderBy("captured_at_ms")
    changed = answers.withColumn("before", F.lag("answer").over(in_time)).where(
        ~F.col("answer").eqNullSafe(F.col("before"))
    )
    return changed.withColumn("until_ms", F.lead("captured_at_ms").over(in_time))
