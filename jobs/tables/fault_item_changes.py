"""`fault_item_changes`: the replayed updates that opened, extended or ended an isolation."""

from jobs.kinds import Evidence
from jobs.tables.table import (
    BROKER_NAME,
    CLUSTER,
    EVENT_DATE,
    FLAG,
    INSTANT,
    LONG,
    PROCESS,
    PRODUCER,
    REPLAYED_UNDER,
    TEXT,
    Table,
    column,
    required,
)

FAULT_ITEM_CHANGES = Table(
    name="fault_item_changes",
    version=3,
    grain="one replayed updateFaultItem or remove that opened, extended or ended an isolation",
    keys=("cluster", "client_id", "producer_group", "broker_name", "process", "enforced", "changed_at_ms", "position"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        *PRODUCER,
        PROCESS,
        *REPLAYED_UNDER,
        BROKER_NAME,
        required("changed_at_ms", LONG, "when the fault item was updated, on the producer's clock; epoch ms"),
        required("changed_at", INSTANT, "when the fault item was updated, on the producer's clock; UTC"),
        column("seq", LONG, "seq of the send or recorded update behind it; null = not logged"),
        required("position", LONG, "order of the changes of one fault item within the day, from 1"),
        required("change", TEXT, "what it did to the isolation; EXTENDED sets a new end, later or (P1-P3) earlier"),
        required("cause", TEXT, "LATENCY, or the outcome of the send"),
        required("current_latency_ms", LONG, "latency passed to the update, ms"),
        required("not_available_ms", LONG, "isolation that the ladder gave, ms"),
        required("available_at_ms", LONG, "when the broker is available again by the window, epoch ms"),
        column("reachable", FLAG, "reachable flag after the update; null = the profile has none"),
        required("evidence", TEXT, "how the update is known: LOGGED, RECORDED by the client, or inferred"),
        required("enforced", FLAG, "false = the switch was off: it would have happened"),
    ),
    closed_lists={"evidence": tuple(Evidence), "change": ("OPENED", "EXTENDED", "CLEARED", "REMOVED")},
)
