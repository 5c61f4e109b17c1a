"""`queue_ownership`: owners of queues, as consumers answered and as their logs say."""

from jobs.tables.table import BROKER_NAME, CLUSTER, EVENT_DATE, FLAG, INT, LONG, TEXT, Table, column, instant, required

QUEUE_OWNERSHIP = Table(
    name="queue_ownership",
    version=3,
    grain="one interval in which one source shows one queue of a group's topic owned by one client",
    keys=(
        "cluster",
        "source",
        "process",
        "consumer_group",
        "topic",
        "broker_name",
        "queue_id",
        "popped",
        "client_id",
        "start_ms",
    ),
    columns=(
        EVENT_DATE,
        CLUSTER,
        *instant("start", "the line that adds it, or the first answer with it; 00:00 when owned before"),
        *instant("end", "when it was given up, or the client was gone or silent; exclusive; 24:00 when it continues"),
        required("consumer_group", TEXT, "consumer group"),
        required("topic", TEXT, "topic; retry topics too"),
        BROKER_NAME,
        required("queue_id", INT, "queue id; -1 = any queue of the broker (POP)"),
        required("client_id", TEXT, "client that owned it"),
        required("source", TEXT, "RUNNING_INFO: the consumer's own answers; CLIENT_LOG: the lines of its log"),
        column(
            "process",
            TEXT,
            "the log, without what rolling adds to its name, and the pid that its lines say; null for running info",
        ),
        required("popped", FLAG, "owned for POP"),
        column("last_answer_ms", LONG, "latest answer with it, epoch ms; null for logs"),
    ),
    checks={"stretch_has_length": "end_ms > start_ms"},
    closed_lists={"source": ("RUNNING_INFO", "CLIENT_LOG")},
)
