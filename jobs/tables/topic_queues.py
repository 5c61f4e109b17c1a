"""`topic_queues`: the queues of a topic over time, to consume from and to send to."""

from jobs.tables.table import BROKER_NAME, CLUSTER, EVENT_DATE, FLAG, INT, LONG, TEXT, Table, instant, required

TOPIC_QUEUES = Table(
    name="topic_queues",
    version=2,
    grain="one queue of one topic in one interval of equal answers of the name server",
    keys=("cluster", "topic", "start_ms", "broker_name", "queue_id"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("topic", TEXT, "topic"),
        *instant("start", "first capture with this route; 00:00 when it was known before"),
        *instant("end", "first capture with another route, or when the last one went stale; exclusive"),
        BROKER_NAME,
        required("queue_id", INT, "queue id"),
        required("readable", FLAG, "consumers read it: read permission and below readQueueNums"),
        required("writable", FLAG, "producers send to it: write permission, a master, below writeQueueNums"),
        required("has_master", FLAG, "a broker with id 0 is in the route"),
        required("last_answer_ms", LONG, "last capture with this route; epoch ms"),
        required("finding", TEXT, "UNREAD: written but never read; IDLE: read but never written; NONE: neither"),
    ),
    checks={"stretch_has_length": "end_ms > start_ms"},
    closed_lists={"finding": ("UNREAD", "IDLE", "NONE")},
)
