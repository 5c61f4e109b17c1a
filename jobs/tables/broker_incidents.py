"""`broker_incidents`: intervals in which many producers isolate the same broker, who noticed, and what it cost."""

from pyspark.sql.types import ArrayType, DoubleType

from jobs.tables.table import BROKER_NAME, CLUSTER, EVENT_DATE, FLAG, LONG, TEXT, Table, instant, required

BROKER_INCIDENTS = Table(
    name="broker_incidents",
    version=2,
    grain="one interval in which at least `incident_share` of the active producers isolate one broker",
    keys=("cluster", "broker_name", "start_ms"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        BROKER_NAME,
        *instant("start", "start of the interval"),
        *instant("end", "end of the interval, exclusive"),
        required("peak_producers", LONG, "most producers that isolated the broker at one time"),
        required(
            "producers",
            LONG,
            "active producers then: switch on, from the minute of the first attempt to that of the last",
        ),
        required("peak_share", DoubleType(), "peak_producers / producers"),
        required("isolating_producers", LONG, "active producers that isolated the broker at any time of the interval"),
        *instant("first_noticed", "when the first of them began to isolate it, the end of its bad send"),
        *instant("last_noticed", "when the last of them began"),
        required("first_producer", TEXT, "client id of the first to notice"),
        required("last_producer", TEXT, "client id of the last to notice"),
        required("never_noticed", LONG, "producers with the switch on that sent to it then and did not isolate it"),
        required("never_noticed_client_ids", ArrayType(TEXT, False), "their client ids, sorted, the first twenty"),
        required(
            "sends",
            LONG,
            "sends with an attempt at it that ended from first_noticed to end, or from start where all had isolated it"
            " before; any switch",
        ),
        required("lost", LONG, "of those, sends that ended in an exception"),
        required("retried", LONG, "of those, answered sends that took more than one attempt"),
        required("slowed", LONG, "of those, sends answered at the first attempt after `slow_ms` or longer"),
        required(
            "is_minor",
            FLAG,
            "shorter than `incident_min_ms`, and fewer than `incident_min_lost` sends lost, retried or slowed; answers"
            " count it apart",
        ),
    ),
    checks={"end_after_start": "end_ms > start_ms", "share_is_share": "peak_share > 0 AND peak_share <= 1"},
)
