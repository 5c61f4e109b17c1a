"""Frames that the first flow writes between its stages, column by column."""

from __future__ import annotations

from pyspark.sql.types import ArrayType

from jobs.fault_latency.keys import SENDER
from jobs.tables import EVENTS as PUBLISHED_EVENTS
from jobs.tables import FAULT_ITEM_UPDATES, SENDS
from jobs.tables.frame import Frame
from jobs.tables.table import CLUSTER, FLAG, INT, LONG, PROCESS, PRODUCER, TEXT, column, required

_ENFORCED = required("enforced", FLAG, "the producer's switch; false = what would have happened")
_VERSION = column("version", TEXT, "client version, as logged or set; null = unknown")
_NUMBER = column("version_number", INT, "the version as a number that orders (4.9.8 = 40908); null = unknown")
_PROFILE = column("profile", TEXT, "released rules of that version; null = none are known")
_POLICY = column("policy", TEXT, "the profile, or profile and own ladder of the producer; null = none")
_NOT_REPLAYED = column("not_replayed", TEXT, "why its fault items are not replayed; null = they are")
_ASSUMED = required("switch_assumed", FLAG, "neither log nor settings have the switch: taken as off")
_BY_CALLER = required("by_caller", FLAG, "a selector or the caller chose the queue")
_RULES = (
    _VERSION,
    _NUMBER,
    _PROFILE,
    _POLICY,
    _NOT_REPLAYED,
    _ENFORCED,
    _ASSUMED,
    required("detector", FLAG, "the detector's switch"),
    _BY_CALLER,
    column("call_timeout_ms", LONG, "send time-out where a line is a whole call, ms; null = it is not"),
)
"""Rules of a producer, as `with_rules` adds them."""
_TEXTS = ArrayType(TEXT)
_OWNER = (CLUSTER, *PRODUCER, PROCESS)
_ITEM = (*_OWNER, _ENFORCED, required("broker_name", TEXT, "broker of the fault item"))


SENDS_PER_PROCESS = Frame(
    name="sends-per-process",
    grain="attempts of one process counted by sender and broker",
    keys=SENDER,
    columns=(
        *(SENDS.schema[name] for name in SENDER),
        PROCESS,
        *_RULES,
        required("sends", LONG, "attempts"),
        required("failures", LONG, "of them, those without an answer"),
        column("first_began_ms", LONG, "first start, epoch ms"),
        required("last_ended_ms", LONG, "last end, epoch ms"),
        column("first_write_ms", LONG, "first moment at which one may write to a fault item, epoch ms; null = none"),
        column("last_write_ms", LONG, "last such moment, epoch ms"),
        column("first_seq", LONG, "lowest seq; null = not logged"),
        column("last_seq", LONG, "highest seq; null = not logged"),
        required("seq_falls", LONG, "how often the seq of a process without an id fell"),
        column("fell_first_ms", LONG, "when first, epoch ms; null = never"),
        column("fell_last_ms", LONG, "when last, epoch ms; null = never"),
        required("clock_fell", FLAG, "an attempt ended a second or more before one with a lower seq"),
    ),
)

ATTEMPTS = Frame(
    name="attempts",
    grain="one attempt near an isolation of its producer, under the rules of that",
    keys=("cluster", "client_id", "producer_group", "row_hash"),
    columns=(
        CLUSTER,
        required("row_hash", LONG, "of the row in `sends`"),
        *PRODUCER,
        column("topic", TEXT, "null = not logged"),
        column("broker_name", TEXT, "broker that the fault item is of: for async sends the one addressed"),
        required("mode", TEXT, "SYNC, ASYNC or ONEWAY"),
        column("invoke_id", LONG, "id of the send; null = not logged"),
        column("attempt", INT, "from 1; null = not logged"),
        column("started_at_ms", LONG, "start, epoch ms; null = not logged"),
        required("ended_at_ms", LONG, "end, epoch ms"),
        required("latency_ms", LONG, "latency, ms"),
        column("submitted_at_ms", LONG, "when the submit call returned, epoch ms; null = not async, or not logged"),
        column("result_broker_name", TEXT, "broker of the send result; null = not logged"),
        required("outcome", TEXT, "SEND_OK and the like, or the exception's class"),
        required("effective_outcome", TEXT, "the outcome, of an async MQClientException its cause"),
        column("seq", LONG, "order within the process; null = not logged"),
        *_RULES,
        PROCESS,
        column("one_line_per", TEXT, "TRY: one try of an async send; null = the line stands for all its tries"),
        column("previous_broker_name", TEXT, "of a retry with its own line: the broker tried before it; null = none"),
        required("is_stale_line", FLAG, "the hook's second line of an invocation, with the exception of the first"),
        required("connected_late", FLAG, "its submit call took as long as a connect"),
        column("broker_failed_ms", LONG, "when its unseen first try failed, epoch ms; null = not known"),
        column("addressed_broker", TEXT, "broker behind the address; null = the routes name none"),
        column(
            "error_broker",
            TEXT,
            "broker at the address in the error, else the addressed one; null = nobody has it",
        ),
    ),
)

RELEVANT_WRITES = Frame(
    name="relevant-writes",
    grain="one write that bounds an isolation in some order, or the last of its fault item, with what it changed",
    keys=("cluster", "client_id", "producer_group", "process", "enforced", "broker_name", "position"),
    columns=(
        *_ITEM,
        required("at_ms", LONG, "when the fault item was written, epoch ms"),
        required("step", INT, "order among the writes of one attempt"),
        column("current_latency_ms", LONG, "latency that the write carries, ms; null = carried over midnight"),
        column("is_failure", FLAG, "the policy's constant replaces the latency"),
        column("reachable", FLAG, "the flag that it writes; null = it keeps it"),
        column("cause", TEXT, "LATENCY, or the outcome"),
        column("evidence", TEXT, "how the update is known: LOGGED, RECORDED by the client, or inferred"),
        column("seq", LONG, "of the attempt; null = not logged"),
        column("attempt", INT, "of the attempt"),
        _POLICY,
        _PROFILE,
        _VERSION,
        required("detector", FLAG, "the detector may set the flag unseen; false for recorded and carried writes"),
        column("process_ended_at_ms", LONG, "first start of a later process, epoch ms; null = none"),
        required("op", TEXT, "UPDATE, REMOVE or CARRIED"),
        column("not_available_ms", LONG, "isolation that it earns, ms"),
        column("carried_extensions", INT, "CARRIED: extensions so far"),
        required("position", LONG, "order within the fault item, from 1"),
        column("next_at_ms", LONG, "of the item's next write, epoch ms; null = it is the last"),
        column("next_op", TEXT, "of the item's next write; null = it is the last"),
        column("is_reachable", FLAG, "the flag after the write"),
        column("available_at_ms", LONG, "end of the window after the write, epoch ms"),
        column("until_ms", LONG, "not available before this, epoch ms"),
        column("earliest_ms", LONG, "the least that any order of tied writes leaves, epoch ms"),
        column("latest_ms", LONG, "the most, epoch ms"),
        column("until_before_ms", LONG, "`until_ms` before the write; null = it is the first"),
        column("is_isolated", FLAG, "after the write"),
        column("was_isolated", FLAG, "just before the write"),
        column("may_be_isolated", FLAG, "after the write, in some order of tied writes"),
        column("isolation", LONG, "number of the isolation within the item"),
        column("possible", LONG, "number of the interval in which some order isolates"),
        column("change", TEXT, "OPENED, EXTENDED, CLEARED or REMOVED; null = nothing"),
    ),
)

ISOLATIONS = Frame(
    name="isolations",
    grain="one isolation of one producer and broker",
    keys=("cluster", "client_id", "producer_group", "process", "enforced", "broker_name", "start_ms"),
    columns=(
        *_ITEM,
        column("client_version", TEXT, "version of the client; null = unknown"),
        _PROFILE,
        _POLICY,
        required("start_ms", LONG, "start, epoch ms"),
        required("end_ms", LONG, "end, exclusive, epoch ms"),
        required("counted_until_ms", LONG, "the end, or the last sign of life of the process before it, epoch ms"),
        required("end_earliest_ms", LONG, "earliest end that events of unknown order allow, epoch ms"),
        required("end_latest_ms", LONG, "latest end, epoch ms"),
        column("cause", TEXT, "LATENCY, or the outcome of the opener"),
        column("evidence", TEXT, "of the opener"),
        column("opener_latency_ms", LONG, "latency that the opener carried, ms"),
        column("extensions", INT, "later writes that set a new end while it lasted"),
        required("ended_by", TEXT, "what ended it"),
        required("continued_from_previous_day", FLAG, "it lasted at 00:00 UTC"),
        required("continues_next_day", FLAG, "it lasts at 24:00 UTC"),
        column("removable_ms", LONG, "until when the fallback may have removed the item, epoch ms; null = never"),
    ),
)

CHOICES = Frame(
    name="choices",
    grain="one attempt whose producer isolated a broker, any broker, when it chose",
    keys=("cluster", "client_id", "producer_group", "row_hash"),
    columns=(
        *_OWNER,
        _ENFORCED,
        _VERSION,
        _PROFILE,
        _POLICY,
        _NOT_REPLAYED,
        _BY_CALLER,
        required("mode", TEXT, "SYNC, ASYNC or ONEWAY"),
        column("topic", TEXT, "null = not logged"),
        column("attempt", INT, "from 1; null = not logged"),
        column("invoke_id", LONG, "id of the send; null = not logged"),
        column("broker_name", TEXT, "broker that was chosen"),
        column("result_broker_name", TEXT, "broker of the send result; null = not logged"),
        required("outcome", TEXT, "SEND_OK and the like, or the exception's class"),
        required("latency_ms", LONG, "latency, ms"),
        column("started_at_ms", LONG, "start, epoch ms; null = not logged"),
        required("chosen_at_ms", LONG, "when the broker was chosen, epoch ms"),
        required("ended_at_ms", LONG, "end, epoch ms"),
        required("row_hash", LONG, "of the row in `sends`"),
        column("isolated_brokers", _TEXTS, "brokers of the topic isolated at the choice, sorted"),
        column("since_ms", LONG, "since when the chosen broker was isolated, epoch ms; null = it was not"),
        required("is_surely_isolated", FLAG, "the chosen broker was isolated in every order of tied writes"),
        column("available", INT, "brokers of the topic surely available; null unless surely isolated"),
        column("only_available", TEXT, "that broker where there is one; null unless surely isolated"),
        column("hosts", INT, "brokers of the topic; null unless surely isolated"),
    ),
)

CALLS_OF_SEVERAL = Frame(
    name="calls-of-several",
    grain="one send of which several attempts were logged",
    keys=("cluster", "client_id", "producer_group", "process", "send"),
    columns=(
        *_OWNER,
        _ENFORCED,
        required("send", LONG, "hash of process and invoke id"),
        column("client_version", TEXT, "as logged or set; null = unknown"),
        column("topic", TEXT, "null = not logged"),
        required("mode", TEXT, "SYNC, ASYNC or ONEWAY"),
        _BY_CALLER,
        required("is_replayed", FLAG, "its producer is replayed"),
        required("invoke_id", LONG, "id of the send"),
        required("started_ms", LONG, "start, epoch ms"),
        required("ended_ms", LONG, "end, epoch ms"),
        required("attempts", INT, "numbers of attempts seen"),
        column("broker_names", _TEXTS, "brokers tried, in order"),
        required("outcome", TEXT, "of the last attempt"),
        required("row_hash", LONG, "of the first attempt"),
        required("total_ms", LONG, "from start to end, ms"),
        required("failed", FLAG, "lost to its caller"),
        required("retried", FLAG, "more than one attempt"),
        required("slow", FLAG, "answered, but late"),
        required("is_bad_first", FLAG, "its first attempt failed or was slow"),
    ),
)

WITHOUT_BROKER = Frame(
    name="without-broker",
    grain="one time in which no broker of a topic was available to a producer",
    keys=("cluster", "client_id", "producer_group", "process", "enforced", "topic", "start_ms"),
    columns=(
        *_OWNER,
        _ENFORCED,
        required("topic", TEXT, "that it sent to"),
        required("start_ms", LONG, "epoch ms"),
        required("end_ms", LONG, "epoch ms"),
        required("brokers", _TEXTS, "of the topic then, sorted"),
    ),
)

_OF_TROUBLES = (
    "cluster",
    "event_id",
    "broker_name",
    "brokers",
    "all_brokers",
    "began_within_ms",
    "kind",
    "bad_from_ms",
    "last_bad_ms",
    "bad_until_ms",
    "failed_attempts",
    "slow_attempts",
    "attempts",
    "producers",
    "hit_producers",
)

EVENTS = Frame(
    name="events",
    grain="one trouble of a broker or of the cluster, without who avoided it and what it cost",
    keys=("cluster", "event_id"),
    columns=(
        *(PUBLISHED_EVENTS.schema[name] for name in _OF_TROUBLES),
        required("sent_by", _TEXTS, "producers that made the attempts, as `processes.producer` writes them"),
    ),
)

RECORDED_LINES = Frame(
    name="recorded-lines",
    grain="one line of `fault_item_updates` of a process whose rules are known",
    keys=("cluster", "client_id", "producer_group", "row_hash"),
    columns=(*FAULT_ITEM_UPDATES.columns, PROCESS, _ENFORCED, _VERSION, _PROFILE, _POLICY),
)

NUMBERED_LINES = Frame(
    name="numbered-lines",
    grain="one send or recorded line of a process with lost lines, in the order of seq",
    keys=("cluster", "client_id", "producer_group", "process", "seq", "row_hash"),
    columns=(
        *_OWNER,
        column("seq", LONG, "null = not logged"),
        required("row_hash", LONG, "of the row in its table"),
        required("at_ms", LONG, "end of the send, or when the update was called, epoch ms"),
        column("broker_name", TEXT, "of an update; null = a send, or a pick"),
        required("before", LONG, "seq of the line before"),
        required("before_ms", LONG, "its time, epoch ms; 00:00 for the first"),
        required("is_hole", FLAG, "lines were lost just before"),
        column("holes", LONG, "holes up to this line"),
    ),
)
