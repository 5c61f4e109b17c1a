"""Inputs with one canonical JSON object per line: the fields of each kind, and the rules for bad lines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from jobs.settings.model import Settings
from jobs.sources.dispositions import with_disposition, with_row_hash
from jobs.sources.json_lines import PLACE, json_lines
from jobs.sources.line_faults import (
    Rule,
    controls,
    damage_rules,
    holds_control,
    is_no_time,
    is_wrong,
    with_faults,
    wrong_fields,
)
from jobs.sources.local_files import Listing

_TEXTS = (StringType(), ArrayType(StringType()))
_AS_ANSWERED = ("body", "remark")  # as servers sent them, line breaks included


@dataclass(frozen=True)
class LineKind:
    """One kind of line.

    Attributes:
        name: of the input, as settings and quarantine call it.
        instant: the field whose UTC day is the line's, epoch ms.
        fields: canonical fields besides the instant and `cluster`.
        rules: what else makes a line bad, besides its JSON and its instant.
        follows: reason of a rule → field that the rule cannot check if its value has the wrong type.
    """

    name: str
    instant: str
    fields: StructType
    rules: Callable[[], list[Rule]]
    follows: Mapping[str, str] = field(default_factory=dict)


def text_field(name: str) -> StructField:
    """A string field."""
    return StructField(name, StringType())


def read_lines(
    kind: LineKind,
    spark: SparkSession,
    manifest: Listing,
    settings: Settings,
    days: tuple[dt.date, dt.date],
    row_count: Observation,
) -> DataFrame:
    """One row per input line, with its fields and its disposition.

    Columns: `file`, `split`, `row`, `cluster`, the instant, the kind's fields, `raw`, `reason`, `faults` (null unless
    quarantined), `day` (UTC day of the instant), `row_hash`, `disposition`.

    Args:
        kind: kind of the lines.
        spark: the session.
        manifest: the files.
        settings: cluster and limits.
        days: first and last requested UTC day.
        row_count: gets `rows_read` when the lines are read.
    """
    instant = kind.instant
    head = [text_field("cluster"), StructField(instant, LongType())]
    schema = StructType([*head, *kind.fields.fields])
    lines = json_lines(spark, list(manifest.readable), schema)
    read = lines.observe(row_count, F.count_if(~F.col("damage").eqNullSafe(F.lit("blank"))).alias("rows_read"))
    typed = read.select(*PLACE, "raw", "damage", "parsed.*").drop("_corrupt_record")
    hashed = with_row_hash(typed, schema.fieldNames()).withColumn(
        "cluster", F.coalesce(F.nullif(F.trim("cluster"), F.lit("")), F.lit(settings.cluster))
    )
    names = [column.name for column in schema.fields if column.dataType in _TEXTS and column.name not in _AS_ANSWERED]
    wrong = wrong_fields({column.name: column.dataType for column in schema.fields})
    missing = f"{instant.removesuffix('_ms')}_missing"
    rules: list[Rule] = [
        *damage_rules(settings.max_line_bytes, wrong),
        (missing, F.col(instant).isNull(), None),
        ("time_out_of_range", is_no_time(instant), F.concat(F.lit(f"{instant}="), instant)),
        ("control_character", holds_control(*names), controls(*names)),
        *kind.rules(),
    ]
    of_fields = {missing: instant, **kind.follows}
    follows = {reason: is_wrong(wrong, name) for reason, name in of_fields.items() if name in wrong}
    return with_disposition(with_faults(hashed, rules, follows), instant, *days)
