"""`run_log`: what ran, over what, with which result. Append only."""

from pyspark.sql.types import ArrayType, StructType

from jobs.tables.table import CLUSTER, EVENT_DATE, INSTANT, LONG, TEXT, Table, column, required

LOG_FILE = (
    StructType()
    .add("file", TEXT)
    .add("entries", LONG)
    .add("other_loggers", LONG)
    .add("events", LONG)
    .add("zone_assumed", LONG)
    .add("without_head", LONG)
)
RUN_LOG = Table(
    name="run_log",
    version=2,
    grain="one event of a run and day: it started, succeeded or failed",
    keys=("run_id", "flow", "event_date", "cluster", "status"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("run_id", TEXT, "id of the run"),
        required(
            "command",
            TEXT,
            "command of the run; `recompute` for a day recomputed from the lake's sends, `cascade` for one after"
            " it whose start changed",
        ),
        required("flow", TEXT, "FAULT_LATENCY, ALLOCATION or VERIFY"),
        required("status", TEXT, "STARTED, SUCCEEDED or FAILED"),
        required("logged_at", INSTANT, "when the event was logged, UTC, by a clock that may have been set back"),
        column("rows_read", LONG, "input lines read; null until the run has counted"),
        column("rows_published", LONG, "lines that the tables are based on"),
        column("rows_quarantined", LONG, "lines in quarantine"),
        column("rows_duplicate", LONG, "exact duplicates dropped"),
        column("rows_other_day", LONG, "lines of other days, of any cluster"),
        column("rows_other_cluster", LONG, "lines of the day, or bad ones without a day, counted for other clusters"),
        column("started_from", TEXT, "closing state the day started from: PREVIOUS_DAY or EMPTY"),
        column("opening_state", TEXT, "hash of what the day started from"),
        column("closing_state", TEXT, "hash of the state at the end of the day"),
        column("table_versions", TEXT, "JSON: table to the Delta version this run committed"),
        column(
            "settings_hash",
            TEXT,
            "hash of the settings that the flow's rows depend on, without paths, date, owners, retention and Spark's",
        ),
        column("code_version", TEXT, "version of faultline"),
        column("message", TEXT, "FAILED: why; STARTED: whose lock it took over or broke; null = neither"),
        column(
            "input_settings_hash",
            TEXT,
            "hash of the settings by which the day's lines were read, kept by a recompute; null = not known",
        ),
        required("event_seq", LONG, "rises with each event, independent of the clock"),
        column(
            "client_logs",
            ArrayType(LOG_FILE, containsNull=False),
            "each client log with good entries of the day: their number, how many are of loggers that are not the"
            " client's, how many say something that the flow reads, and of how many nothing says the time zone (UTC is"
            " assumed); lines of the file, of any day, that look like entries in no known layout; null = no log read",
        ),
    ),
    closed_lists={
        "flow": ("FAULT_LATENCY", "ALLOCATION", "VERIFY"),
        "status": ("STARTED", "SUCCEEDED", "FAILED"),
        "started_from": ("PREVIOUS_DAY", "EMPTY"),
    },
)
