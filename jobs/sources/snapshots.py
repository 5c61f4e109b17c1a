"""Snapshots of consumer groups, topic routes and running consumers: one canonical JSON object per line.

A line's `code` says what its answer is worth: 0 an answer; 206 (consumers), and 1 with the remark of it, that the
broker does not know the group; 17 (routes) that the topic does not exist; null or any other that nothing is known.
Only a line that breaks the format is bad: an answer that failed is a fact.
"""

from __future__ import annotations

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType

from jobs.sources.line_faults import Rule, is_blank
from jobs.sources.line_kinds import LineKind, text_field
from jobs.sources.running_info import has_no_queue
from jobs.sources.topic_route import MOST_QUEUES, has_too_many_queues
from udfs.object_keys import standard_json

_INSTANT = "captured_at_ms"
_ROUTE = "queueDatas ARRAY<STRUCT<brokerName: STRING, readQueueNums: INT, writeQueueNums: INT>>"


def _route_rules() -> list[Rule]:
    route = F.from_json("body", _ROUTE, {"allowUnquotedFieldNames": "true"})
    nameless = F.exists(route["queueDatas"], lambda of: F.coalesce(F.trim(of["brokerName"]) == "", F.lit(True)))
    negative = F.exists(route["queueDatas"], lambda of: (of["readQueueNums"] < 0) | (of["writeQueueNums"] < 0))
    is_answer = F.col("code") == 0
    return [
        ("topic_missing", is_blank("topic"), None),
        ("body_not_json", is_answer & route["queueDatas"].isNull(), F.lit("no topic route in body")),
        ("broker_missing", is_answer & nameless, F.lit("queues without a broker name in body")),
        ("queue_number_negative", is_answer & negative, None),
        ("wrong_type", is_answer & has_too_many_queues(route), F.lit(f"more than {MOST_QUEUES} queues of a broker")),
    ]


def _consumer_rules() -> list[Rule]:
    connections = F.get_json_object("body", "$.connectionSet")
    return [
        ("consumer_group_missing", is_blank("consumer_group"), None),
        ("broker_missing", is_blank("broker_name"), None),
        (
            "body_not_json",
            (F.col("code") == 0) & F.col("client_ids").isNull() & connections.isNull(),
            F.lit("neither client_ids nor a consumer connection in body"),
        ),
    ]


def _running_info_rules() -> list[Rule]:
    properties = F.get_json_object(standard_json(F.col("body")), "$.properties")
    return [
        ("consumer_group_missing", is_blank("consumer_group"), None),
        ("client_id_missing", is_blank("client_id"), None),
        ("body_not_json", (F.col("code") == 0) & properties.isNull(), F.lit("no consumer running info in body")),
        ("wrong_type", (F.col("code") == 0) & has_no_queue(F.col("body")), F.lit("an invalid queue in body")),
    ]


ROUTES = LineKind(
    "routes",
    _INSTANT,
    StructType([text_field("topic"), StructField("code", IntegerType()), text_field("body")]),
    _route_rules,
)
CONSUMERS = LineKind(
    "consumers",
    _INSTANT,
    StructType(
        [
            text_field("consumer_group"),
            text_field("broker_name"),
            text_field("broker_addr"),
            StructField("code", IntegerType()),
            text_field("remark"),
            StructField("client_ids", ArrayType(StringType())),
            text_field("body"),
        ]
    ),
    _consumer_rules,
    follows={"body_not_json": "client_ids"},
)
RUNNING_INFO = LineKind(
    "running_info",
    _INSTANT,
    StructType(
        [text_field("consumer_group"), text_field("client_id"), StructField("code", IntegerType()), text_field("body")]
    ),
    _running_info_rules,
)
KINDS = (CONSUMERS, ROUTES, RUNNING_INFO)
