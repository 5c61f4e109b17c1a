"""`isolation_intervals`: intervals in which a broker was not available to a producer."""

from jobs.kinds import Evidence, FindingKind
from jobs.tables.table import (
    BROKER_NAME,
    CLUSTER,
    EVENT_DATE,
    FLAG,
    INT,
    LONG,
    PROCESS,
    PRODUCER,
    REPLAYED_UNDER,
    TEXT,
    Table,
    column,
    instant,
    required,
)

ISOLATION_INTERVALS = Table(
    name="isolation_intervals",
    version=4,
    grain="one interval in which a broker was not available to a producer, cut at UTC midnight",
    keys=("cluster", "client_id", "producer_group", "broker_name", "process", "enforced", "start_ms"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        *PRODUCER,
        PROCESS,
        column("client_version", TEXT, "version of the client, as logged or set"),
        *REPLAYED_UNDER,
        BROKER_NAME,
        *instant("start", "start, best estimate"),
        *instant("end", "end, exclusive, best estimate; equal to the start when only the band has the broker isolated"),
        *instant("counted_until", "the end, or the process's last attempt or recorded line before it: sums end here"),
        required("end_earliest_ms", LONG, "earliest end that events of unknown order allow, epoch ms"),
        required("end_latest_ms", LONG, "latest end that events of unknown order allow, epoch ms"),
        required("cause", TEXT, "what opened it: LATENCY, or the outcome of the opener"),
        required("evidence", TEXT, "how the opener is known: LOGGED, RECORDED by the client, or inferred"),
        required("opener_latency_ms", LONG, "latency that the opening update carried, ms"),
        required("extensions", INT, "later updates that set a new end during the isolation"),
        required("ended_by", TEXT, "what ended it"),
        required("enforced", FLAG, "false = the switch was off: the producer would have isolated the broker"),
        required("continued_from_previous_day", FLAG, "it already stood at 00:00 UTC"),
        required("continues_next_day", FLAG, "it still stands at 24:00 UTC"),
        required("after_unknown_start", FLAG, "the previous day is not in the lake and could have changed this row"),
    ),
    checks={
        "end_not_before_start": "end_ms >= start_ms",
        "counted_within": "start_ms <= counted_until_ms AND counted_until_ms <= end_ms",
        "band_holds_end": "end_earliest_ms <= end_ms AND end_ms <= end_latest_ms",
        "band_after_start": "end_earliest_ms >= start_ms",
    },
    closed_lists={
        "evidence": tuple(Evidence),
        "ended_by": ("EXPIRED", "CLEARED", "REMOVED", "REACHABLE", FindingKind.RESTARTED, "DAY_END"),
    },
)
