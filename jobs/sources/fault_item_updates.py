"""Fault item updates: what a producer's client itself decided, as the recorder writes it."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, LongType, StructField, StructType

from jobs.settings.send_fields import LATEST_MS
from jobs.sources.line_faults import Rule, is_blank
from jobs.sources.line_kinds import LineKind, text_field
from udfs.recorded import OPS, UPDATE


def _rules() -> list[Rule]:
    op, not_available, available_at = F.col("op"), F.col("not_available_ms"), F.col("available_at_ms")
    is_update = op == UPDATE
    return [
        ("client_id_missing", is_blank("client_id"), None),
        ("broker_missing", is_blank("broker_name"), None),
        ("op_unknown", ~F.coalesce(op.isin(*OPS), F.lit(False)), _shown("op")),
        (
            "not_available_out_of_range",
            is_update & ~F.coalesce(not_available.between(0, LATEST_MS), F.lit(False)),
            _shown("not_available_ms"),
        ),
        (
            "available_at_out_of_range",
            ~available_at.between(0, LATEST_MS),
            _shown("available_at_ms"),
        ),
    ]


def _shown(name: str) -> Column:
    return F.concat(F.lit(f"{name}="), F.coalesce(F.col(name).cast("string"), F.lit("null")))


UPDATE_LINES = LineKind(
    "fault_item_updates",
    "at_ms",
    StructType(
        [
            text_field("client_id"),
            text_field("producer_group"),
            text_field("process_id"),
            text_field("broker_name"),
            text_field("op"),
            StructField("current_latency_ms", LongType()),
            StructField("not_available_ms", LongType()),
            StructField("reachable", BooleanType()),
            StructField("available_at_ms", LongType()),
            text_field("thread"),
            StructField("seq", LongType()),
        ]
    ),
    _rules,
    follows={"not_available_out_of_range": "not_available_ms", "available_at_out_of_range": "available_at_ms"},
)
