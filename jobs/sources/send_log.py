"""Lines of send attempts: read, parsed under an explicit schema, and judged.

Every line gets a disposition and keeps where it stood, so that the pass that stages them can be counted:
rows read = published + quarantined + exact duplicates + lines of other days.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from jobs.settings import FieldSource, Settings
from jobs.sources.files import Manifest
from jobs.sources.send_fields import FIELDS, check_mapping, in_canonical_unit, source_of
from jobs.sources.send_formats import PLACE, read_by_format
from udfs.outcome import is_known_outcome
from udfs.version import version_number

PUBLISHED, QUARANTINED, DUPLICATE, OTHER_DAY = "PUBLISHED", "QUARANTINED", "DUPLICATE", "OTHER_DAY"
BLANK = "BLANK"  # no row of the input: kept only because later lines are numbered past it
_RAW_CHARACTERS = 1_000
_DETAIL_CHARACTERS = 200
_DAY_MS = 86_400_000
_EARLIEST_MS = 1_420_070_400_000  # 2015-01-01
_LATEST_MS = 4_102_444_800_000  # 2100-01-01
_LONGEST_LATENCY_MS = _DAY_MS
_IDENTIFIERS = (
    "cluster",
    "client_id",
    "producer_group",
    "process_id",
    "topic",
    "broker_name",
    "broker_addr",
    "client_version",
    "client_language",
    "result_broker_name",
    "outcome",
    "cause",
    "msg_id",
    "thread",
)
_TIMES = ("ended_at_ms", "started_at_ms", "submitted_at_ms")


def read_sends(
    spark: SparkSession,
    manifest: Manifest,
    settings: Settings,
    broker_names: DataFrame | None,
    days: tuple[dt.date, dt.date],
    counted: Observation,
) -> DataFrame:
    """Every line of the files with its typed fields and its disposition.

    Grain: one input line (blank ones with disposition BLANK; they are not counted). Columns: the canonical
    fields; `file`, `split`, `row`
    (where it stood: see `line_numbers`); `raw`, `reason`, `detail` (null unless quarantined); `day` (UTC day
    of `ended_at_ms`; null when the line tells none); `row_hash`; `disposition`.

    Args:
        manifest: the files.
        settings: mapping of fields, cluster, limits.
        broker_names: broker_addr → routed_broker_name, for lines without a broker name; None = no routes.
        days: first and last UTC day that are asked for.
        counted: gets `rows_read`, counted where the lines are read.

    Raises:
        SettingsError: the mapping names unknown fields or columns that cannot be read as asked.
    """
    sends_input = settings.inputs.sends
    check_mapping(sends_input.fields)
    lines = read_by_format(spark, manifest, sends_input)
    read = lines.observe(counted, F.count_if(~F.col("damage").eqNullSafe(F.lit("blank"))).alias("rows_read"))
    typed = _with_broker_name(_typed(read, settings), broker_names)
    judged = typed.transform(_judged, settings)
    return judged.transform(_with_disposition, *days)


def line_numbers(staged: DataFrame) -> DataFrame:
    """`file`, `split` → `first_row`, `lines_before`: what turns a row's place into a line number.

    Args:
        staged: every line, blank ones too, with `file`, `split` and `row`.
    """
    splits = staged.groupBy("file", "split").agg(F.min("row").alias("first_row"), F.max("row").alias("last_row"))
    earlier = Window.partitionBy("file").orderBy("split").rowsBetween(Window.unboundedPreceding, -1)
    length = F.col("last_row") - F.col("first_row") + 1
    return splits.select(
        "file", "split", "first_row", F.coalesce(F.sum(length).over(earlier), F.lit(0)).alias("lines_before")
    )


def _typed(lines: DataFrame, settings: Settings) -> DataFrame:
    mapping = settings.inputs.sends.fields
    columns = {name: in_canonical_unit(F.col(f"fields.{name}"), name, mapping) for name in FIELDS}
    lost = reduce(
        Column.__or__, (F.col(f"fields.{name}").isNotNull() & columns[name].isNull() for name in mapping), F.lit(False)
    )
    typed = lines.select(
        *PLACE,
        "raw",
        F.coalesce("damage", F.when(lost, "wrong_type")).alias("damage"),
        *(column.alias(name) for name, column in columns.items()),
    )
    null_mask = reduce(
        Column.__add__, (F.col(name).isNull().cast("bigint") * (1 << place) for place, name in enumerate(FIELDS))
    )
    return typed.withColumns(
        {
            "row_hash": F.xxhash64(null_mask, *FIELDS),
            "second_hash": F.xxhash64(F.lit(7919), null_mask, *FIELDS),
            "cluster": F.coalesce(F.nullif(F.trim("cluster"), F.lit("")), F.lit(settings.cluster)),
            "ended_at_ms": F.coalesce("ended_at_ms", F.try_add("started_at_ms", "latency_ms")),
        }
    )


def _with_broker_name(typed: DataFrame, broker_names: DataFrame | None) -> DataFrame:
    """With the broker's name, told by its address where the line has none."""
    named = typed.withColumn("broker_name", F.when(F.trim("broker_name") != "", F.col("broker_name")))
    if broker_names is None:
        return named
    known = named.join(F.broadcast(broker_names), "broker_addr", "left")
    return known.withColumn("broker_name", F.coalesce("broker_name", "routed_broker_name")).drop("routed_broker_name")


def _judged(typed: DataFrame, settings: Settings) -> DataFrame:
    """With `reason` and `detail`: the first rule a line breaks, null when it breaks none."""
    control = reduce(Column.__or__, (F.col(name).rlike(r"[\x00-\x1f\x7f]") for name in _IDENTIFIERS))
    rules: list[tuple[str, Column, Column | None]] = [
        (
            "line_too_long",
            F.octet_length("raw") > settings.max_line_bytes,
            F.concat(F.octet_length("raw"), F.lit(" bytes")),
        ),
        ("invalid_utf8", F.col("damage") == "invalid_utf8", None),
        ("not_json", F.col("damage") == "not_json", None),
        ("not_an_object", F.col("damage") == "not_an_object", None),
        ("wrong_type", F.col("damage") == "wrong_type", _wrong_fields(settings.inputs.sends.fields)),
        ("client_id_missing", _is_blank("client_id"), None),
        ("broker_missing", _is_blank("broker_name") & _is_blank("broker_addr"), None),
        ("ended_at_missing", F.col("ended_at_ms").isNull(), None),
        ("latency_missing", F.col("latency_ms").isNull(), None),
        ("outcome_missing", _is_blank("outcome"), None),
        (
            "time_out_of_range",
            reduce(Column.__or__, (_is_no_time(name) for name in _TIMES)),
            F.coalesce(*(F.when(_is_no_time(name), _no_time(name)) for name in _TIMES)),
        ),
        (
            "latency_out_of_range",
            ~F.col("latency_ms").between(0, _LONGEST_LATENCY_MS),
            F.concat(F.lit("latency_ms="), "latency_ms"),
        ),
        ("outcome_unknown", ~is_known_outcome(F.col("outcome")), F.concat(F.lit("outcome="), "outcome")),
        ("mode_unknown", ~F.col("mode").isin("SYNC", "ASYNC", "ONEWAY"), F.concat(F.lit("mode="), "mode")),
        (
            "queue_chosen_by_unknown",
            ~F.col("queue_chosen_by").isin("CLIENT", "CALLER"),
            F.concat(F.lit("queue_chosen_by="), "queue_chosen_by"),
        ),
        (
            "client_version_unknown",
            F.col("client_version").isNotNull() & version_number(F.col("client_version")).isNull(),
            F.concat(F.lit("client_version="), "client_version"),
        ),
        ("control_character", control, None),
        ("broker_unresolved", _is_blank("broker_name"), F.concat(F.lit("broker_addr="), "broker_addr")),
    ]
    reason = F.coalesce(*(F.when(condition, F.lit(name)) for name, condition, _ in rules))
    detail = F.coalesce(*(F.when(F.col("reason") == name, text) for name, _, text in rules if text is not None))
    return (
        typed.withColumn("reason", reason)
        .withColumn("detail", F.when(F.col("reason").isNotNull(), F.left(detail, F.lit(_DETAIL_CHARACTERS))))
        .withColumn("raw", F.when(F.col("reason").isNotNull(), _printable(F.left("raw", F.lit(_RAW_CHARACTERS)))))
        .withColumn("mode", F.coalesce("mode", F.lit("SYNC")))
        .withColumn("producer_group", F.coalesce("producer_group", F.lit("")))
    )


def _is_blank(name: str) -> Column:
    return F.coalesce(F.trim(name) == "", F.lit(True))


def _is_no_time(name: str) -> Column:
    return ~F.col(name).between(_EARLIEST_MS, _LATEST_MS)


def _no_time(name: str) -> Column:
    text = F.concat(F.lit(f"{name}="), F.col(name))
    in_seconds = F.col(name).between(_EARLIEST_MS // 1000, _LATEST_MS // 1000)
    return F.when(in_seconds, F.concat(text, F.lit(' looks like seconds; map it with unit = "s"'))).otherwise(text)


def _wrong_fields(mapping: Mapping[str, FieldSource]) -> Column:
    """Names and texts of the fields whose value is there but has the wrong type."""
    texts = F.from_json("raw", "map<string,string>")
    wrong = [
        F.when(F.col(name).isNull(), F.concat(F.lit(f"{name}="), texts[source_of(name, mapping).column]))
        for name in FIELDS
        if not isinstance(FIELDS[name], StringType)
    ]
    return F.concat_ws(", ", *wrong)


def _printable(text: Column) -> Column:
    return F.regexp_replace(F.make_valid_utf8(text), r"[\x00-\x08\x0b-\x1f\x7f]", "\ufffd")


def _with_disposition(judged: DataFrame, first_day: dt.date, last_day: dt.date) -> DataFrame:
    """With `day` and `disposition`; of equal lines the first in file order stays, the others are duplicates."""
    in_range = F.col("ended_at_ms").between(_EARLIEST_MS, _LATEST_MS)
    day = F.when(
        in_range, F.date_from_unix_date(F.call_function("div", F.col("ended_at_ms"), F.lit(_DAY_MS)).cast("int"))
    )
    dated = judged.withColumn("day", day)
    alone = F.when(F.col("reason").isNotNull(), F.xxhash64(*PLACE))  # bad lines are never duplicates; spread them
    copies = Window.partitionBy("row_hash", F.coalesce(alone, "second_hash")).orderBy(*PLACE)
    copy = F.row_number().over(copies.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    other_day = ~F.col("day").between(F.lit(first_day), F.lit(last_day))
    disposition = (
        F.when(F.col("damage") == "blank", BLANK)
        .when(other_day, OTHER_DAY)
        .when(F.col("reason").isNotNull(), QUARANTINED)
        .when(copy > 1, DUPLICATE)
        .otherwise(PUBLISHED)
    )
    return dated.withColumn("disposition", disposition).drop("second_hash")
