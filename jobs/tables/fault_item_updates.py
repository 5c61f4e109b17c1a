"""`fault_item_updates`: what a producer's client itself decided about a fault item."""

from jobs.tables.table import (
    BROKER_NAME,
    CLUSTER,
    EVENT_DATE,
    FLAG,
    INSTANT,
    LONG,
    PRODUCER,
    TEXT,
    Table,
    column,
    required,
)

FAULT_ITEM_UPDATES = Table(
    name="fault_item_updates",
    grain="one call that changed or chose a fault item, written by the recorder inside the client",
    keys=("cluster", "client_id", "producer_group", "row_hash"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        *PRODUCER,
        column("process_id", TEXT, "changes when the producer's process restarts; null = not logged"),
        BROKER_NAME,
        required(
            "op",
            TEXT,
            "UPDATE, REMOVE: the client's own calls; REACHABLE, DROPPED: its detector set the flag or removed the item;"
            " PICKED: no broker was available, and the fallback chose this one",
        ),
        required("called_at_ms", LONG, "when the call returned, on the producer's clock; epoch ms"),
        required("called_at", INSTANT, "when the call returned, on the producer's clock; UTC"),
        column("current_latency_ms", LONG, "latency passed to the update, ms; null unless it is an UPDATE"),
        column("not_available_ms", LONG, "isolation by the client's own ladder, ms; null unless it is an UPDATE"),
        column("reachable", FLAG, "reachable flag as passed, or as the item has it; null = the client has none"),
        column("available_at_ms", LONG, "when the broker is available again, read back after the call, epoch ms"),
        column("thread", TEXT, "calling thread; null = not logged"),
        column("seq", LONG, "order within the process, counted together with the sends; null = not logged"),
        required("row_hash", LONG, "hash of the input fields: the last tie-breaker of the order of events"),
    ),
    closed_lists={"op": ("UPDATE", "REMOVE", "REACHABLE", "DROPPED", "PICKED")},
)
