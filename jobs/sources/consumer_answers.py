"""Answers of a broker about a consumer group: its member list, and the consumer connection with its subscriptions."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_CONNECTION = (
    "connectionSet ARRAY<STRUCT<clientId: STRING, language: STRING, version: INT>>, messageModel STRING,"
    " subscriptionTable MAP<STRING, STRUCT<topic: STRING>>"
)
_ANSWER, _SYSTEM_ERROR, _CONSUMER_NOT_ONLINE = 0, 1, 206  # ResponseCode
_NO_CONSUMER = "no consumer for this group"
"""Remark of SYSTEM_ERROR when the id list is empty (`ConsumerManageProcessor`, 4.0.0 to 5.3.3)."""


def member_answers(consumers: DataFrame) -> DataFrame:
    """One row per line: `captured_at_ms`, `consumer_group`, `broker_name`, `client_ids`, `has_answer`, `is_silent`.

    `client_ids` is sorted and keeps duplicates (one entry per connection, `ConsumerGroupInfo.getAllClientId`); empty
    where the broker knows no such group; null without `has_answer`: the broker refused, or `is_silent`: it did not
    answer. Brokers also return SYSTEM_ERROR when a permission is missing, so it counts only with its remark.

    Args:
        consumers: published lines of the input `consumers`.
    """
    connection = F.from_json("body", _CONNECTION)
    client_ids = F.coalesce("client_ids", F.transform(connection["connectionSet"], lambda member: member["clientId"]))
    says_none = (F.col("code") == _SYSTEM_ERROR) & F.startswith("remark", F.lit(_NO_CONSUMER))
    is_empty = F.coalesce((F.col("code") == _CONSUMER_NOT_ONLINE) | says_none, F.lit(False))
    is_list = F.coalesce(F.col("code") == _ANSWER, F.lit(False))
    return consumers.select(
        "captured_at_ms",
        "consumer_group",
        "broker_name",
        F.when(is_list, F.array_sort(F.filter(client_ids, lambda client_id: client_id.isNotNull())))
        .when(is_empty, F.array().cast("array<string>"))
        .alias("client_ids"),
        (is_list | is_empty).alias("has_answer"),
        F.col("code").isNull().alias("is_silent"),
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
            lambda member: F.struct(
                member["clientId"].alias("client_id"),
                member["language"].alias("language"),
                member["version"].alias("version"),
            ),
        ).alias("clients"),
    )
