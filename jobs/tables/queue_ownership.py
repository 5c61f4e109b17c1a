"""`queue_ownership`: who really held which queue, as consumers answered when asked and as their logs tell."""

from jobs.tables.table import BROKER_NAME, CLUSTER, EVENT_DATE, FLAG, INT, TEXT, Table, column, instant, required

QUEUE_OWNERSHIP = Table(
    name="queue_ownership",
    grain="one stretch in which one source shows one queue of a group's topic held by a client",
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
        "valid_from_ms",
    ),
    columns=(
        EVENT_DATE,
        CLUSTER,
        *instant("valid_from", "the add line, or the first answer that shows the queue; 00:00 when held before"),
        *instant("valid_until", "the queue given up, or the source silent; exclusive; 24:00 when it goes on"),
        required("consumer_group", TEXT, "consumer group"),
        required("topic", TEXT, "topic; retry topics too"),
        BROKER_NAME,
        required("queue_id", INT, "queue id; -1 = any queue of the broker (POP)"),
        column(
            "client_id", TEXT, "who holds it; null = one of several clients whose common log cannot tell them apart"
        ),
        required("source", TEXT, "RUNNING_INFO: the consumer's own answers; CLIENT_LOG: its log's lines"),
        column("process", TEXT, "the log, without its parts' numbers; null for running info"),
        required("popped", FLAG, "taken by POP"),
        required("owners", INT, "clients of the process that hold it: 1, or adds minus removes when client_id is null"),
    ),
    checks={"stretch_has_length": "valid_until_ms > valid_from_ms", "somebody_holds_it": "owners > 0"},
    closed_lists={"source": ("RUNNING_INFO", "CLIENT_LOG")},
)
