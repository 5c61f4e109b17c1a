"""Answers of a broker about a consumer group: its member list, and the consumer connection with its subscriptions."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_CONNECTION = (
    "connectionSet ARRAY<STRUCT<clientId: STRING, language: STRING, version: INT>>, messageModel STRING,"
    " subscriptionTable MAP<STRING, STRUCT<topic: STRING>>"
)
_ANSWER = 0
_NO_SUCH_GROUP = (1, 206)  # ResponseCode.SYSTEM_ERROR of the id list, CONSUMER_NOT_ONLINE of the connection


def member_answers(consumers: DataFrame) -> DataFrame:
    """One row per line: `captured_at_ms`, `consumer_group`, `broker_name`, `client_ids`.

    `client_ids` is sorted and keeps duplicates (one entry per connection, `ConsumerGroupInfo.getAllClientId`); empty
    where the broker does not know the group; null where nothing is known.

    Args:
        consumers: published lines of the input `consumers`.
    """
    connection = F.from_json("body", _CONNECTION)
    client_ids = F.coalesce("client_ids", F.transform(connection["connectionSet"], lambda each: each["clientId"]))
    return consumers.select(
        "captured_at_ms",
        "consumer_group",
        "broker_name",
        F.when(F.col("code") == _ANSWER, F.array_sort(F.filter(client_ids, lambda each: each.isNotNull())))
        .when(F.col("code").isin(*_NO_SUCH_GROUP), F.array().cast("array<string>"))
        .alias("client_ids"),
    )


def connections(consumers: DataFrame) -> DataFrame:
    """One row per consumer connection in an answer.

    Columns: `captured_at_ms`, `consumer_group`, `broker_name`, `message_model`, `topics`, `clients` (array of
    `client_id`, `language`, `version` = `MQVersion`'s ordinal).
    """
    connection = F.from_json("body", _CONNECTION)
    members = connection["connectionSet"]
    answers = consumers.where((F.col("code") == _ANSWER) & F.col("body").isNotNull())
    return answers.select(
        "captured_at_ms",
        "consumer_group",
        "broker_name",
        connection["messageModel"].alias("message_model"),
        F.map_keys(connection["subscriptionTable"]).alias("topics"),
        F.transform(
            members,
            lambda each: F.struct(
                each["clientId"].alias("client_id"),
                each["language"].alias("language"),
                each["version"].alias("version"),
            ),
        ).alias("clients"),
    )
