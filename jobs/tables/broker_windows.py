"""`broker_windows`: sends and isolation of one broker in one minute."""

from jobs.tables.table import BROKER_NAME, CLUSTER, EVENT_DATE, LONG, Table, column, instant, required

BROKER_WINDOWS = Table(
    name="broker_windows",
    grain="one broker in one minute of ended_at_ms with sends or isolation",
    keys=("cluster", "broker_name", "window_start_ms"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        BROKER_NAME,
        *instant("window_start", "start of the minute"),
        required("sends", LONG, "attempts that ended in the minute"),
        required("failures", LONG, "of those, attempts that ended in an exception"),
        column("latency_p50_ms", LONG, "exact median latency of answered sync and async sends, ms; null = none"),
        column("latency_p95_ms", LONG, "exact 95th percentile, ms; null = none"),
        column("latency_p99_ms", LONG, "exact 99th percentile, ms; null = none"),
        column("latency_max_ms", LONG, "highest latency of answered sync and async sends, ms; null = none"),
        required("producers", LONG, "producers with an attempt in the minute"),
        required("isolating_producers", LONG, "producers to which the broker was not available (switch on)"),
        required("isolated_ms", LONG, "producer-milliseconds of isolation in the minute (switch on)"),
    ),
    checks={
        "failures_within_sends": "failures <= sends",
        "has_something": "sends > 0 OR isolated_ms > 0",
    },
)
