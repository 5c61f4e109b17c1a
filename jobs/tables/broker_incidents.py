"""`broker_incidents`: stretches in which many producers isolate the same broker."""

from pyspark.sql.types import DoubleType

from jobs.tables.table import BROKER_NAME, CLUSTER, EVENT_DATE, LONG, Table, instant, required

BROKER_INCIDENTS = Table(
    name="broker_incidents",
    grain="one stretch in which at least `incident_share` of the day's producers isolate one broker",
    keys=("cluster", "broker_name", "start_ms"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        BROKER_NAME,
        *instant("start", "start of the stretch"),
        *instant("end", "end of the stretch, exclusive"),
        required("peak_producers", LONG, "most producers that isolated the broker at one time"),
        required("producers", LONG, "producers with the switch on that sent, or still isolated a broker, on this day"),
        required("peak_share", DoubleType(), "peak_producers / producers"),
    ),
    checks={"end_after_start": "end_ms > start_ms", "share_is_share": "peak_share > 0 AND peak_share <= 1"},
)
