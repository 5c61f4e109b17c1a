"""Lines of send attempts: read, parsed under an explicit schema, and validated.

Every line gets a disposition and keeps its place in the file, so that the pass that stages them can be counted:
rows read = published + quarantined + exact duplicates + lines of other days + lines of other clusters.
"""

from __future__ import annotations

import datetime as dt
from functools import reduce

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from jobs.settings.model import Settings
from jobs.settings.send_fields import LATEST_MS, LONGEST_LATENCY_MS
from jobs.sources.csv_lines import CSV_DAMAGE
from jobs.sources.dispositions import with_disposition, with_row_hash
from jobs.sources.doubtful_times import times_without_zone
from jobs.sources.json_lines import PLACE, holds_byte
from jobs.sources.line_faults import (
    Rule,
    controls,
    damage_rules,
    holds_control,
    is_blank,
    is_no_time,
    is_wrong,
    no_time,
    with_faults,
    wrong_fields,
)
from jobs.sources.local_files import Listing
from jobs.sources.matched_lines import MISMATCH
from jobs.sources.send_fields import FIELDS, in_canonical_unit, meant
from jobs.sources.send_formats import read_by_format
from udfs.async_tries import CALL, TRY
from udfs.attempt_times import times_contradict
from udfs.broker_address import one_form
from udfs.outcome import is_answer, is_known_outcome
from udfs.version import is_version
from udfs.written_time import lacks_zone

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
_TIMES_OF_ATTEMPT = ("started_at_ms", "submitted_at_ms", "ended_at_ms", "latency_ms")


def read_sends(
    spark: SparkSession,
    manifest: Listing,
    settings: Settings,
    days: tuple[dt.date, dt.date],
    row_count: Observation,
    *,
    broker_names: DataFrame | None = None,
) -> DataFrame:
    """One row per input line, with its typed fields and its disposition.

    A good line without a broker is of a send that failed before it had one: a call without an attempt.
    Blank lines have the disposition BLANK and are not counted. Columns: the canonical fields; `file`, `split`, `row`
    (its place: see `line_numbers`); `raw`, `reason`, `faults` (null unless quarantined); `day` (UTC day of
    `ended_at_ms`; null when the line has none); `row_hash`; `disposition`.

    Args:
        manifest: the files.
        settings: mapping of fields, cluster, limits.
        days: first and last requested UTC day.
        row_count: gets `rows_read` when the lines are read; `without_zone`, the lines with a time for which
            nobody says a zone; `last_ended_ms`, the latest end.
        broker_names: broker_addr, in its one form, → routed_broker_name, for lines without a name; None = no routes.

    Raises:
        SettingsError: the mapping names columns that cannot be read as configured.
    """
    lines = read_by_format(spark, manifest, settings.inputs.sends)
    typed = _typed(lines, settings).observe(
        row_count,
        F.count_if(~F.col("damage").eqNullSafe(F.lit("blank"))).alias("rows_read"),
        F.count_if("without_zone").alias("without_zone"),
        F.max(F.when(F.col("ended_at_ms") < LATEST_MS, F.col("ended_at_ms"))).alias("last_ended_ms"),
    )
    validated = _with_broker_name(typed.drop("without_zone"), broker_names).transform(_validated, settings)
    return validated.transform(with_disposition, "ended_at_ms", *days)


def _typed(lines: DataFrame, settings: Settings) -> DataFrame:
    sends_input = settings.inputs.sends
    columns = {name: in_canonical_unit(F.col(name), name, sends_input) for name in FIELDS}
    without_zone = reduce(Column.__or__, map(lacks_zone, map(F.col, times_without_zone(sends_input))), F.lit(False))
    lost = reduce(
        Column.__or__,
        (F.col(name).isNotNull() & columns[name].isNull() for name in sends_input.fields),
        F.lit(False),
    )
    typed = lines.select(
        *PLACE,
        "raw",
        F.coalesce("damage", F.when(lost, "wrong_type")).alias("damage"),
        "damage_detail",
        without_zone.alias("without_zone"),
        *(column.alias(name) for name, column in columns.items()),
    )
    return with_row_hash(typed, tuple(FIELDS)).withColumns(
        {
            "cluster": F.coalesce(F.nullif(F.trim("cluster"), F.lit("")), F.lit(settings.cluster)),
            "ended_at_ms": F.coalesce("ended_at_ms", F.try_add("started_at_ms", "latency_ms")),
        }
    )


def _with_broker_name(typed: DataFrame, broker_names: DataFrame | None) -> DataFrame:
    """One row per line, with the broker's name: by its address where the line has none."""
    with_name = typed.withColumn("broker_name", F.when(F.trim("broker_name") != "", F.col("broker_name")))
    if broker_names is None:
        return with_name
    by_form = broker_names.withColumnRenamed("broker_addr", "form")
    address = F.when(F.col("broker_name").isNull(), one_form(F.col("broker_addr")))
    resolved = with_name.join(F.broadcast(by_form), address == F.col("form"), "left").drop("form")
    return resolved.withColumn("broker_name", F.coalesce("broker_name", "routed_broker_name")).drop(
        "routed_broker_name"
    )


def _validated(typed: DataFrame, settings: Settings) -> DataFrame:
    """One row per line, with `reason`, the first rule it breaks, and `faults`, all; null when it breaks none."""
    # JSON escapes them, so only a line with a backslash holds one; but the cluster may come from
    # settings and the broker from routes.
    may_hold_control = holds_byte(F.col("raw"), b"\\") | holds_byte(F.col("raw"), b"\x7f")
    control = holds_control("cluster", "broker_name") | (may_hold_control & holds_control(*_IDENTIFIERS))
    sends_input = settings.inputs.sends
    of_lines = {name: kind for name, kind in FIELDS.items() if sends_input.source_of(name).constant is None}
    wrong = wrong_fields(
        of_lines,
        lambda name: sends_input.source_of(name).column,
        lambda name, text: meant(name, text, sends_input),
    )
    no_times = reduce(Column.__or__, (is_no_time(name) for name in _TIMES))
    # A call without an attempt: no route, no time left.
    is_failure = is_known_outcome(F.col("outcome")) & ~is_answer(F.col("outcome"))
    failed_before_a_broker = is_blank("broker_addr") & F.coalesce(is_failure, F.lit(False))
    no_latency = ~F.col("latency_ms").between(0, LONGEST_LATENCY_MS)
    rules: list[Rule] = [
        *damage_rules(settings.max_line_bytes, wrong),
        *((reason, F.col("damage") == reason, F.col("damage_detail")) for reason in (*CSV_DAMAGE, MISMATCH)),
        ("client_id_missing", is_blank("client_id"), None),
        ("broker_missing", is_blank("broker_name") & is_blank("broker_addr") & ~failed_before_a_broker, None),
        ("ended_at_missing", F.col("ended_at_ms").isNull(), None),
        ("latency_missing", F.col("latency_ms").isNull(), None),
        ("outcome_missing", is_blank("outcome"), None),
        (
            "time_out_of_range",
            no_times,
            F.concat_ws(", ", *(F.when(is_no_time(name), no_time(name)) for name in _TIMES)),
        ),
        ("latency_out_of_range", no_latency, F.concat(F.lit("latency_ms="), "latency_ms")),
        (
            "times_contradict",
            times_contradict(*(F.col(name) for name in _TIMES_OF_ATTEMPT)),
            F.concat_ws(", ", *(F.concat(F.lit(f"{name}="), name) for name in _TIMES_OF_ATTEMPT)),
        ),
        ("outcome_unknown", ~is_known_outcome(F.col("outcome")), F.concat(F.lit("outcome="), "outcome")),
        ("mode_unknown", ~F.col("mode").isin("SYNC", "ASYNC", "ONEWAY"), F.concat(F.lit("mode="), "mode")),
        (
            "queue_chosen_by_unknown",
            ~F.col("queue_chosen_by").isin("CLIENT", "CALLER"),
            F.concat(F.lit("queue_chosen_by="), "queue_chosen_by"),
        ),
        (
            "one_line_per_unknown",
            ~F.col("one_line_per").isin(TRY, CALL),
            F.concat(F.lit("one_line_per="), "one_line_per"),
        ),
        (
            "client_version_unknown",
            ~is_version(F.col("client_version")),
            F.concat(F.lit("client_version="), "client_version"),
        ),
        ("control_character", control, controls(*_IDENTIFIERS)),
        (
            "broker_unresolved",
            is_blank("broker_name") & ~failed_before_a_broker,
            F.concat(F.lit("broker_addr="), "broker_addr"),
        ),
    ]
    no_sum = is_wrong(wrong, "started_at_ms") | (is_wrong(wrong, "latency_ms") & F.col("started_at_ms").isNotNull())
    follows = {
        "ended_at_missing": is_wrong(wrong, "ended_at_ms") | no_sum,
        "latency_missing": is_wrong(wrong, "latency_ms"),
        "times_contradict": F.coalesce(no_times, F.lit(False)) | no_latency,
        "outcome_unknown": is_blank("outcome"),
        "broker_unresolved": is_blank("broker_addr"),
    }
    of_input = F.lit(CALL if sends_input.one_line_per == "call" else None)
    return (
        with_faults(typed, rules, follows)
        .drop("damage_detail")
        .withColumn("mode", F.coalesce("mode", F.lit("SYNC")))
        .withColumn("producer_group", F.coalesce("producer_group", F.lit("")))
        .withColumn("one_line_per", F.coalesce("one_line_per", of_input))
    )
