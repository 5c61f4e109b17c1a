"""Running info: a consumer's own answer about its strategy, subscriptions and process queues."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from udfs.object_keys import KEY_SEPARATOR, standard_json

_ANSWER = 0
_BODY = (
    "properties MAP<STRING, STRING>, subscriptionSet ARRAY<STRUCT<topic: STRING>>,"
    " mqTable MAP<STRING, STRUCT<droped: BOOLEAN>>, mqPopTable MAP<STRING, STRUCT<droped: BOOLEAN>>"
)
_QUEUES = "array<struct<topic: string, broker_name: string, queue_id: int, popped: boolean, dropped: boolean>>"
_STRATEGIES = {
    "AllocateMessageQueueAveragely": "AVG",
    "AllocateMessageQueueAveragelyByCircle": "AVG_BY_CIRCLE",
    "AllocateMessageQueueByConfig": "CONFIG",
    "AllocateMessageQueueByMachineRoom": "MACHINE_ROOM",
    "AllocateMachineRoomNearby": "MACHINE_ROOM_NEARBY",
    "AllocateMessageQueueConsistentHash": "CONSISTENT_HASH",
}


def running_info(lines: DataFrame) -> DataFrame:
    """One row per line, with the answer of the consumer.

    Columns: `captured_at_ms`, `consumer_group`, `client_id`; `is_answer` (code 0 and a body that parses; all that
    follows is null without); `strategy_class` (our name of the strategy's class, else the class's own simple name;
    without its parameters and the inner one of MACHINE_ROOM_NEARBY); `client_rebalance` (null before 5.0);
    `consume_orderly`; `message_model`; `client_version` (`4.9.8`); `topics` (subscribed ones, sorted; the retry topic
    too); `queues` (array of `topic`, `broker_name`, `queue_id`, `popped`, `dropped`, sorted; a dropped one is still
    there and no longer worked on; null of a lite or plain pull consumer without any, as only lite ones from 5.1.1 on
    name them).

    Args:
        lines: `captured_at_ms`, `consumer_group`, `client_id`, `code`, `body`.
    """
    parsed = lines.select(
        "captured_at_ms",
        "consumer_group",
        "client_id",
        F.when(F.col("code") == _ANSWER, F.from_json(standard_json(F.col("body")), _BODY)).alias("info"),
    )
    # Other bodies have neither key; `ConsumerRunningInfo` always writes both.
    is_answer = F.col("info.properties").isNotNull() & F.col("info.mqTable").isNotNull()
    parsed = parsed.withColumn("is_answer", is_answer).withColumn("info", F.when(F.col("is_answer"), F.col("info")))
    properties = F.col("info.properties")
    # DefaultLitePullConsumerImpl.consumerRunningInfo before 5.1.1, DefaultMQPullConsumerImpl's in every version.
    is_pulling = F.coalesce(properties["PROP_CONSUME_TYPE"] == "CONSUME_ACTIVELY", F.lit(False))
    shows_none = is_pulling & (F.size("info.mqTable") == 0)
    return parsed.select(
        "captured_at_ms",
        "consumer_group",
        "client_id",
        "is_answer",
        _strategy(properties["allocateMessageQueueStrategy"]).alias("strategy_class"),
        _flag(properties["clientRebalance"]).alias("client_rebalance"),
        _flag(properties["PROP_CONSUMEORDERLY"]).alias("consume_orderly"),
        properties["messageModel"].alias("message_model"),
        _version(properties["PROP_CLIENT_VERSION"]).alias("client_version"),
        F.array_sort(F.transform("info.subscriptionSet", lambda of: of["topic"])).alias("topics"),
        F.when(~shows_none, _queues(F.col("info.mqTable"), F.col("info.mqPopTable"))).alias("queues"),
    )


def has_no_queue(body: Column) -> Column:
    """Whether a key in the queue tables is not a queue (broker, number and topic); false without queues."""
    tables = F.from_json(standard_json(body), "mqTable MAP<STRING, STRING>, mqPopTable MAP<STRING, STRING>")

    def is_none(key: Column) -> Column:
        parts = F.split(key, KEY_SEPARATOR)
        return (F.size(parts) != 3) | F.get(parts, 1).try_cast("int").isNull()

    odd = (F.exists(F.map_keys(tables[name]), is_none) for name in ("mqTable", "mqPopTable"))
    pulled, popped = (F.coalesce(flag, F.lit(False)) for flag in odd)
    return pulled | popped


def _strategy(of_object: Column) -> Column:
    """`a.b.AllocateMessageQueueAveragely@1f` → `AVG`; an inner or anonymous class keeps its `$`."""
    simple = F.regexp_extract(of_object, r"^(?:.*\.)?([^.@]+)(?:@.*)?$", 1)
    known = F.create_map(*(F.lit(text) for pair in _STRATEGIES.items() for text in pair))
    return F.coalesce(known[simple], F.nullif(simple, F.lit("")))


def _flag(text: Column) -> Column:
    return F.when(text == "true", F.lit(True)).when(text == "false", F.lit(False))


def _version(description: Column) -> Column:
    """`V4_9_8` → `4.9.8`; a snapshot counts as its release; null for anything else."""
    release = F.regexp_extract(description, r"^V(\d+_\d+_\d+)", 1)
    return F.nullif(F.translate(release, "_", "."), F.lit(""))


def _queues(pulled: Column, popped: Column) -> Column:
    """The process queues of both tables."""

    def entries(table: Column, *, are_popped: bool) -> Column:
        return F.transform(F.map_entries(table), lambda entry: queue(entry, are_popped=are_popped))

    def queue(entry: Column, *, are_popped: bool) -> Column:
        parts = F.split(entry["key"], KEY_SEPARATOR)
        return F.struct(
            F.get(parts, 2).alias("topic"),
            F.get(parts, 0).alias("broker_name"),
            F.get(parts, 1).try_cast("int").alias("queue_id"),
            F.lit(are_popped).alias("popped"),
            F.coalesce(entry["value"]["droped"], F.lit(False)).alias("dropped"),
        )

    # There is no pop table before 5.0.
    of_pop = F.coalesce(entries(popped, are_popped=True), F.array().cast(_QUEUES))
    return F.array_sort(F.concat(entries(pulled, are_popped=False), of_pop)).cast(_QUEUES)


def latest_answers(answers: DataFrame) -> DataFrame:
    """One row per `consumer_group` and `client_id`: how the client allocates, by its latest answer.

    Columns: `strategy`, `client_version`, `client_rebalance`, `consume_orderly`, `message_model`.

    Args:
        answers: frame of `running_info`.
    """
    names = ("client_version", "client_rebalance", "consume_orderly", "message_model")
    of = F.struct(F.col("strategy_class").alias("strategy"), *names)
    order = F.struct("captured_at_ms", F.to_json(of))
    latest = answers.where("is_answer").groupBy("consumer_group", "client_id").agg(F.max_by(of, order).alias("of"))
    return latest.select("consumer_group", "client_id", "of.*")
