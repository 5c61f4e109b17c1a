"""`order_key_moves`: where the messages of one order key ceased to go to one queue."""

from jobs.tables.table import CLUSTER, EVENT_DATE, FLAG, INSTANT, INT, LONG, PRODUCER, TEXT, Table, column, required

CAUSES = ("RETRIED", "QUEUES_CHANGED", "BACK_BY_HASH", "OTHER_PRODUCER", "NOT_BY_HASH", "UNKNOWN")

ORDER_KEY_MOVES = Table(
    name="order_key_moves",
    grain="one send attempt that went to another queue than the previous one of its topic and order key on that day",
    keys=("cluster", "client_id", "producer_group", "row_hash"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("topic", TEXT, "topic"),
        required("order_key", TEXT, "order key as logged"),
        required("moved_at_ms", LONG, "end of the attempt on its producer's clock; epoch ms"),
        required("moved_at", INSTANT, "end of the attempt on its producer's clock; UTC"),
        *PRODUCER,
        required("outcome", TEXT, "outcome of the attempt; after a failure the message may be stored or not"),
        required("from_broker_name", TEXT, "broker of the attempt before"),
        required("from_queue_id", INT, "queue of the attempt before"),
        required("to_broker_name", TEXT, "broker of the attempt"),
        required("to_queue_id", INT, "queue of the attempt"),
        required("from_ended_at_ms", LONG, "end of the attempt before on its producer's clock; epoch ms"),
        required("from_ended_at", INSTANT, "end of the attempt before on its producer's clock; UTC"),
        required("from_client_id", TEXT, "client id of the attempt before"),
        required("from_producer_group", TEXT, "producer group of the attempt before; empty when the log gave none"),
        required("from_outcome", TEXT, "outcome of the attempt before"),
        column(
            "queues_before",
            INT,
            "queues to send to in the oldest route that the attempt before may have used; null = no routes, or static",
        ),
        column(
            "queues",
            INT,
            "queues to send to in the newest route that the attempt may have used; null = no routes, or static",
        ),
        column(
            "by_hash_before",
            FLAG,
            "SelectMessageQueueByHash selects from_queue_id in a route that the attempt before may have used;"
            " null = no routes, or not a Java client",
        ),
        column(
            "by_hash",
            FLAG,
            "SelectMessageQueueByHash selects to_queue_id in a route that the attempt may have used;"
            " null = no routes, or not a Java client",
        ),
        required(
            "cause",
            TEXT,
            "the first that applies. RETRIED: a later attempt of the same send; QUEUES_CHANGED: the two may have used"
            " routes with different queues to send to; BACK_BY_HASH: by_hash, the queue before was not;"
            " OTHER_PRODUCER: not by_hash, another producer sent the one before; NOT_BY_HASH: not by_hash, the same"
            " producer; UNKNOWN: no routes, or not a Java client",
        ),
        required("row_hash", LONG, "the attempt in `sends`"),
    ),
    checks={
        "queue_is_another": "from_broker_name <> to_broker_name OR from_queue_id <> to_queue_id",
        "moved_after": "moved_at_ms >= from_ended_at_ms",
    },
    closed_lists={"cause": CAUSES},
)
