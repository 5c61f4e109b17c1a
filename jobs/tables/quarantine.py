"""`quarantine`: input lines that could not be used, each with where and why."""

from pyspark.sql.types import ArrayType

from jobs.tables.table import CLUSTER, EVENT_DATE, LONG, TEXT, Table, column, required

LINE_REASONS = (
    "line_too_long",
    "invalid_utf8",
    "not_json",
    "not_an_object",
    "csv_open_quote",
    "wrong_column_count",
    "pattern_mismatch",
    "wrong_type",
)
"""What is wrong with the line as a whole; the other reasons are of its fields."""
SEND_REASONS = (
    *LINE_REASONS,
    "client_id_missing",
    "broker_missing",
    "ended_at_missing",
    "latency_missing",
    "outcome_missing",
    "time_out_of_range",
    "latency_out_of_range",
    "times_contradict",
    "outcome_unknown",
    "mode_unknown",
    "queue_chosen_by_unknown",
    "one_line_per_unknown",
    "client_version_unknown",
    "control_character",
    "broker_unresolved",
)
SNAPSHOT_REASONS = (
    "captured_at_missing",
    "consumer_group_missing",
    "topic_missing",
    "body_not_json",
    "queue_number_negative",
    "log_line_breaks_off",
)

UPDATE_REASONS = ("at_missing", "op_unknown", "not_available_out_of_range", "available_at_out_of_range")

QUARANTINE = Table(
    name="quarantine",
    grain="one rejected input line, under its own day if it has one, else under the day that was run",
    keys=("cluster", "source", "file", "line", "event_date"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("source", TEXT, "kind of input, as in `inputs` of the settings"),
        required("file", TEXT, "file with the line"),
        required("line", LONG, "line from 1, in CSV the record's first; in Parquet the record's number"),
        required("reason", TEXT, "why it was rejected"),
        column("reasons", ArrayType(TEXT, False), "all broken rules in order; `reason` is the first"),
        column("detail", TEXT, "fields and values of the reasons, and the allowed values; null = nothing to add"),
        column("raw", TEXT, "the line, at most its first 1,000 characters"),
        required("run_id", TEXT, "run that rejected it"),
    ),
    checks={"reason_is_the_first": "reasons IS NULL OR (size(reasons) > 0 AND get(reasons, 0) = reason)"},
    closed_lists={
        "reason": (*SEND_REASONS, *UPDATE_REASONS, *SNAPSHOT_REASONS),
        "reasons": (*SEND_REASONS, *UPDATE_REASONS, *SNAPSHOT_REASONS),
        "source": (
            *("sends", "fault_item_updates", "consumers", "routes", "running_info", "client_logs", "fault_item_logs"),
        ),
    },
)
