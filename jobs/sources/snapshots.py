"""Snapshots of consumer groups, topic routes and running consumers: one canonical JSON object per line.

A line's `code` says what its answer is worth: 0 an answer; 1 and 206 (consumers) that the broker knows no such
group; 17 (routes) that there is no such topic; null or any other that nothing is known. Only a line that breaks
the format is bad: an answer that failed is a fact.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType, StructField, StructType

from jobs.settings.model import Settings
from jobs.sources.dispositions import with_disposition, with_row_hash
from jobs.sources.files import Manifest
from jobs.sources.json_lines import PLACE, json_lines
from jobs.sources.line_faults import (
    Rule,
    controls,
    damage_rules,
    holds_control,
    is_blank,
    is_no_time,
    is_wrong,
    with_faults,
    wrong_fields,
)
from jobs.sources.running_info import has_no_queue
from jobs.sources.topic_route import MOST_QUEUES, has_too_many_queues
from udfs.object_keys import standard_json

_TEXTS = (StringType(), ArrayType(StringType()))
_ROUTE = "queueDatas ARRAY<STRUCT<brokerName: STRING, readQueueNums: INT, writeQueueNums: INT>>"


@dataclass(frozen=True)
class SnapshotKind:
    """One kind of snapshot line.

    Attributes:
        name: of the input, as settings and quarantine call it.
        fields: canonical fields besides `captured_at_ms` and `cluster`.
        rules: what makes a line bad beyond its JSON.
    """

    name: str
    fields: StructType
    rules: Callable[[], list[Rule]]


def _text(name: str) -> StructField:
    return StructField(name, StringType())


def _route_rules() -> list[Rule]:
    options = {"allowUnquotedFieldNames": "true"}
    route = F.from_json("body", _ROUTE, options)
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
        ("wrong_type", (F.col("code") == 0) & has_no_queue(F.col("body")), F.lit("a queue that is none in body")),
    ]


ROUTES = SnapshotKind(
    "routes", StructType([_text("topic"), StructField("code", IntegerType()), _text("body")]), _route_rules
)
CONSUMERS = SnapshotKind(
    "consumers",
    StructType(
        [
            _text("consumer_group"),
            _text("broker_name"),
            _text("broker_addr"),
            StructField("code", IntegerType()),
            StructField("client_ids", ArrayType(StringType())),
            _text("body"),
        ]
    ),
    _consumer_rules,
)
RUNNING_INFO = SnapshotKind(
    "running_info",
    StructType([_text("consumer_group"), _text("client_id"), StructField("code", IntegerType()), _text("body")]),
    _running_info_rules,
)
KINDS = (CONSUMERS, ROUTES, RUNNING_INFO)


def read_snapshots(
    spark: SparkSession,
    kind: SnapshotKind,
    manifest: Manifest,
    settings: Settings,
    days: tuple[dt.date, dt.date],
    counted: Observation,
) -> DataFrame:
    """One row per input line, with its fields and its disposition.

    Columns: `file`, `split`, `row`, `cluster`, `captured_at_ms`, the kind's fields, `raw`, `reason`, `faults` (null
    unless quarantined), `day` (UTC day of `captured_at_ms`), `row_hash`, `disposition`.

    Args:
        kind: what the lines are.
        manifest: the files.
        settings: cluster and limits.
        days: first and last requested UTC day.
        counted: gets `rows_read`, counted where the lines are read.
    """
    head = [StructField("cluster", StringType()), StructField("captured_at_ms", LongType())]
    schema = StructType([*head, *kind.fields.fields])
    lines = json_lines(spark, manifest.readable_paths, schema, manifest.bytes_read)
    read = lines.observe(counted, F.count_if(~F.col("damage").eqNullSafe(F.lit("blank"))).alias("rows_read"))
    typed = read.select(*PLACE, "raw", "damage", "parsed.*").drop("_corrupt_record")
    hashed = with_row_hash(typed, schema.fieldNames()).withColumn(
        "cluster", F.coalesce(F.nullif(F.trim("cluster"), F.lit("")), F.lit(settings.cluster))
    )
    names = [each.name for each in schema.fields if each.dataType in _TEXTS and each.name != "body"]
    wrong = wrong_fields({each.name: each.dataType for each in schema.fields})
    rules: list[Rule] = [
        *damage_rules(settings.max_line_bytes, wrong),
        ("captured_at_missing", F.col("captured_at_ms").isNull(), None),
        ("time_out_of_range", is_no_time("captured_at_ms"), F.concat(F.lit("captured_at_ms="), "captured_at_ms")),
        ("control_character", holds_control(*names), controls(*names)),
        *kind.rules(),
    ]
    of_fields = {"captured_at_missing": "captured_at_ms", "body_not_json": "client_ids"}
    follows = {reason: is_wrong(wrong, name) for reason, name in of_fields.items() if name in wrong}
    return with_disposition(with_faults(hashed, rules, follows), "captured_at_ms", *days)
