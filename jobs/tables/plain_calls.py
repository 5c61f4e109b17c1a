"""`plain_calls`: sends without a row in `send_calls`, counted."""

from jobs.tables.table import CLUSTER, EVENT_DATE, FLAG, INT, LONG, PRODUCER, TEXT, Table, column, required

PLAIN_EFFECTS = ("NOT_REPLAYED", "CALLER_CHOSE_QUEUE", "NONE_ISOLATED")

PLAIN_CALLS = Table(
    name="plain_calls",
    version=1,
    grain="plain sends of a producer in an hour: answered in time by the first broker, none of the topic isolated",
    keys=("cluster", "client_id", "producer_group", "topic", "mode", "enforced", "fault_latency", "hour"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        *PRODUCER,
        column("topic", TEXT, "topic; null = not logged"),
        required("mode", TEXT, "SYNC, ASYNC or ONEWAY"),
        required("enforced", FLAG, "the producer's switch; false = what would have happened"),
        required("fault_latency", TEXT, "as in `send_calls`"),
        required("hour", INT, "hour of the day, UTC, in which the sends ended, 0 to 23"),
        required("calls", LONG, "sends"),
    ),
    checks={"has_calls": "calls > 0", "hour_of_day": "hour BETWEEN 0 AND 23"},
    closed_lists={"fault_latency": PLAIN_EFFECTS, "mode": ("SYNC", "ASYNC", "ONEWAY")},
)
