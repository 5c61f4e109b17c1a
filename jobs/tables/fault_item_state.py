"""`fault_item_state`: what each fault item holds at the end of the day; the next day starts from it."""

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
    required,
)

FAULT_ITEM_STATE = Table(
    name="fault_item_state",
    version=2,
    grain="one fault item of one producer at the end of the day",
    keys=("cluster", "client_id", "producer_group", "broker_name", "process", "enforced"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        *PRODUCER,
        PROCESS,
        column("client_version", TEXT, "version of the client, as logged or set"),
        *REPLAYED_UNDER,
        BROKER_NAME,
        required("enforced", FLAG, "false = the switch was off"),
        required("available_at_ms", LONG, "when the broker is available again by the window, epoch ms"),
        required("available_earliest_ms", LONG, "the earliest that events of unknown order allow, epoch ms"),
        required("available_latest_ms", LONG, "the latest that events of unknown order allow, epoch ms"),
        required("reachable", FLAG, "reachable flag; true where the profile has none"),
        column("cause", TEXT, "cause of the isolation that stands at 24:00 UTC; null = none"),
        column("evidence", TEXT, "evidence of that isolation's opener; null = none"),
        column("opener_latency_ms", LONG, "latency of that isolation's opener, ms; null = none"),
        column("extensions", INT, "extensions of that isolation so far; null = none"),
        column("last_seq", LONG, "highest seq of the producer's process so far; null = seq is not logged"),
        required("last_ended_at_ms", LONG, "latest end of a send of the producer's process so far, epoch ms"),
    ),
)
