"""`send_calls`: one `send` as its caller saw it: attempts, brokers tried, total time, and what fault latency did."""

from pyspark.sql.types import ArrayType

from jobs.tables.table import (
    CLUSTER,
    EVENT_DATE,
    FLAG,
    INT,
    LONG,
    PROCESS,
    PRODUCER,
    TEXT,
    Table,
    column,
    instant,
    required,
)

EFFECTS = (
    "NOT_REPLAYED",
    "CALLER_CHOSE_QUEUE",
    "NONE_ISOLATED",
    "SENT_TO_ISOLATED",
    "SPARED",
    "NO_DIFFERENCE",
    "COST",
    "WOULD_HAVE_SPARED",
    "WOULD_HAVE_COST",
    "UNKNOWN",
    "NO_ATTEMPT",
)

SEND_CALLS = Table(
    name="send_calls",
    version=5,
    grain="one send that is not plain, as its caller saw it: all attempts of one invoke_id of one process that ended on"
    " the day. Failed, slow, retried, or sent while a broker of the topic was isolated; the rest is in `plain_calls`."
    " A send that failed before it had a broker is one without an attempt",
    keys=("cluster", "client_id", "producer_group", "row_hash"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        *PRODUCER,
        PROCESS,
        column("client_version", TEXT, "version of the client, as logged or set; null = unknown"),
        column("topic", TEXT, "topic; null = not logged"),
        required("mode", TEXT, "SYNC, ASYNC or ONEWAY"),
        column("invoke_id", LONG, "id of the send; null = not logged, each attempt counts as a send"),
        *instant("start", "start of the first attempt"),
        *instant("end", "end of the last attempt"),
        required("total_ms", LONG, "from the start of the first attempt to the end of the last, ms"),
        required("attempts", INT, "attempts that were logged; 0 = it failed before it had a broker"),
        required("broker_names", ArrayType(TEXT, False), "brokers tried, in order"),
        required("outcome", TEXT, "outcome of the last attempt, which is that of the send"),
        required("failed", FLAG, "the send ended in an exception: the caller got no answer"),
        required("retried", FLAG, "more than one attempt"),
        required("slow", FLAG, "answered, after `slow_ms` or more"),
        required("enforced", FLAG, "the producer's switch; false = what would have happened"),
        column("isolated_brokers", ArrayType(TEXT, False), "brokers of the topic isolated at the start; null = none"),
        required(
            "fault_latency",
            TEXT,
            "what fault latency did. SPARED: an avoided broker failed or was slow for others in the same second, and"
            " this send was not; COST: all avoided brokers were fine for others, and this send was slow or failed;"
            " NO_DIFFERENCE: neither; SENT_TO_ISOLATED: the first attempt went to an isolated broker; UNKNOWN: nobody"
            " sent to the avoided brokers then. WOULD_HAVE_SPARED, WOULD_HAVE_COST: the switch was off, the first"
            " attempt went to a broker that would have been isolated, and was slow or failed, or was fine. NO_ATTEMPT:"
            " nothing, the send failed before it had a broker",
        ),
        column(
            "event_id", TEXT, "in `events`: the event at the first of its brokers that had one meanwhile; null = none"
        ),
        required("row_hash", LONG, "the first attempt in `sends`; without an attempt of the line"),
    ),
    checks={"total_not_negative": "total_ms >= 0", "has_attempts": "attempts >= 0"},
    closed_lists={"fault_latency": EFFECTS, "mode": ("SYNC", "ASYNC", "ONEWAY")},
)
