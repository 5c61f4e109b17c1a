"""`queue_allocation`: who should own which queue, as the group's own strategy says."""

from jobs.tables.table import BROKER_NAME, CLUSTER, EVENT_DATE, FLAG, INT, TEXT, Table, column, instant, required

SOURCES = ("SETTINGS", "RUNNING_INFO", "CLIENT_LOG", "CONNECTION", "ASSUMED")

QUEUE_ALLOCATION = Table(
    name="queue_allocation",
    version=2,
    grain="one queue (and owner) of one topic for one group in one interval of unchanged inputs, per view where brokers"
    " disagree on the members",
    keys=(
        "cluster",
        "consumer_group",
        "topic",
        "view_broker_name",
        "start_ms",
        "broker_name",
        "queue_id",
        "client_id",
    ),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("consumer_group", TEXT, "consumer group"),
        required("topic", TEXT, "topic"),
        *instant("start", "the capture that changed an input; 00:00 when the inputs were the same before"),
        *instant("end", "the next change, or when an input went stale; exclusive"),
        required("strategy", TEXT, "strategy of the members at that time; MIXED when they differ"),
        required(
            "strategy_source",
            TEXT,
            "source of the strategy; CONNECTION: a consumer connection with message model BROADCASTING",
        ),
        column("view_broker_name", TEXT, "broker whose member list this is based on; null = all agree"),
        BROKER_NAME,
        required("queue_id", INT, "queue id; -1 = any queue of the broker (POP)"),
        required("in_route", FLAG, "the topic has this queue; false for a configured queue that does not exist"),
        column("client_id", TEXT, "client to which it is assigned; null = none"),
        required("is_carried", FLAG, "the strategy fails on this input, so its owner keeps what it had"),
    ),
    checks={"stretch_has_length": "end_ms > start_ms"},
    closed_lists={"strategy_source": SOURCES},
)
