"""`route_changes`: what changed in a topic's queues, and when."""

from jobs.tables.table import BROKER_NAME, CLUSTER, EVENT_DATE, INSTANT, INT, LONG, TEXT, Table, column, required

ROUTE_CHANGES = Table(
    name="route_changes",
    grain="one broker of one topic whose queues changed between two answers of the name server",
    keys=("cluster", "topic", "changed_at_ms", "broker_name"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("topic", TEXT, "topic"),
        required("changed_at_ms", LONG, "first capture with the new route; epoch ms"),
        required("changed_at", INSTANT, "first capture with the new route; UTC"),
        BROKER_NAME,
        required(
            "change",
            TEXT,
            "ADDED: the broker has queues from now on; REMOVED: it left the route, or none of its queues may be read or"
            " written; CHANGED: it has other queues",
        ),
        column("readable_before", INT, "readable queues before; null = the broker had no queues"),
        column("readable_after", INT, "readable queues from now on; null = the broker has no queues"),
        column("writable_before", INT, "writable queues before; null = the broker had no queues"),
        column("writable_after", INT, "writable queues from now on; null = the broker has no queues"),
    ),
    closed_lists={"change": ("ADDED", "REMOVED", "CHANGED")},
)
