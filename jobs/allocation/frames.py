"""What the stages of the second flow hand to each other, column by column; each frame is of one day and cluster."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, StructField, StructType

from jobs.tables import QUEUE_ALLOCATION
from jobs.tables.frame import Frame
from jobs.tables.table import BROKER_NAME, FLAG, INT, LONG, TEXT, column, required

_GROUP = required("consumer_group", TEXT, "consumer group")
_TOPIC = required("topic", TEXT, "topic")
_CAPTURED = required("captured_at_ms", LONG, "when it was asked, epoch ms")
_START = required("start_ms", LONG, "start, epoch ms; 00:00 when it held before")
_END = required("end_ms", LONG, "end, exclusive, epoch ms")
# What was known at 00:00 and no longer is an interval without length; the day's first answer may start there too.
_OF_ANSWERS = (
    _START,
    required("end_ms", LONG, "end, exclusive, epoch ms; equal to `start_ms` of what held until 00:00 and no longer"),
    required("last_answer_ms", LONG, "last capture with this answer, maybe of the day before, epoch ms"),
    required("unanswered", LONG, "captures in it that got no answer"),
)
_OF_TABLES = {"event_date", "cluster", "start_at", "end_at"}  # which rows get when they are published
_VIEW = column("view_broker_name", TEXT, "broker whose member list this rests on; null = all agree")
_QUEUE = StructType([StructField("broker_name", TEXT), StructField("queue_id", INT)])
_HOW = (
    required("strategies_json", TEXT, "how each client allocates, as `udfs.allocation_udf` takes it; `*` = all others"),
    required("strategy", TEXT, "strategy of the group; MIXED when members differ"),
    required(
        "strategy_source", TEXT, "where it is known from: SETTINGS, RUNNING_INFO, CLIENT_LOG, CONNECTION, ASSUMED"
    ),
)

ROUTES = Frame(
    name="routes",
    grain="one interval of equal routes of a topic, or the one that ended at 00:00",
    keys=("topic", "end_ms"),
    columns=(
        _TOPIC,
        required(
            "route",
            ArrayType(
                StructType(
                    [
                        StructField("broker_name", TEXT),
                        StructField("readable", INT),
                        StructField("writable", INT),
                        StructField("has_master", FLAG),
                    ]
                )
            ),
            "numbers of queues to consume from and to send to, per broker that has any; empty = no such topic, or none",
        ),
        *_OF_ANSWERS,
    ),
)

MEMBERS = Frame(
    name="members",
    grain="one interval of equal member lists of a group by one broker, or the one that ended at 00:00",
    keys=("consumer_group", "broker_name", "end_ms"),
    columns=(
        _GROUP,
        BROKER_NAME,
        required("client_ids", ArrayType(TEXT), "sorted, duplicates kept; empty = the broker knows no such group"),
        *_OF_ANSWERS,
    ),
)

CONNECTIONS = Frame(
    name="connections",
    grain="one consumer connection in an answer; a broker that was asked at two addresses may answer the same twice",
    keys=(),
    columns=(
        _CAPTURED,
        _GROUP,
        BROKER_NAME,
        column("message_model", TEXT, "CLUSTERING or BROADCASTING; null = not in the answer"),
        column("topics", ArrayType(TEXT), "topics that the group subscribes there; null = not in the answer"),
        column(
            "clients",
            ArrayType(
                StructType([StructField("client_id", TEXT), StructField("language", TEXT), StructField("version", INT)])
            ),
            "one per connection, version as `MQVersion` numbers it; null = not in the answer",
        ),
    ),
)

ANSWERS = Frame(
    name="answers",
    grain="one line of running info; two that differ only in what is not read are equal here",
    keys=(),
    columns=(
        _CAPTURED,
        _GROUP,
        required("client_id", TEXT, "client that was asked"),
        required("is_answer", FLAG, "it answered; all that follows is null if not"),
        column("strategy_class", TEXT, "our name of its strategy, or the class's own; null = not said"),
        column("client_rebalance", FLAG, "false = it asks the broker for its queues; null = not said, as before 5.0"),
        column("consume_orderly", FLAG, "it consumes in order; null = not said"),
        column("message_model", TEXT, "CLUSTERING or BROADCASTING; null = not said"),
        column("client_version", TEXT, "such as 4.9.8; null = not said"),
        column("topics", ArrayType(TEXT), "subscribed ones, sorted, the retry topic too; null = not said"),
        column(
            "queues",
            ArrayType(
                StructType(
                    [
                        StructField("topic", TEXT),
                        StructField("broker_name", TEXT),
                        StructField("queue_id", INT),
                        StructField("popped", FLAG),
                        StructField("locked", FLAG),
                    ]
                )
            ),
            "its process queues, sorted; null = not shown, as by pull consumers before 5.1.1",
        ),
    ),
)

TOPICS = Frame(
    name="topics",
    grain="one topic that a group consumed on the day",
    keys=("consumer_group", "topic"),
    columns=(
        _GROUP,
        _TOPIC,
        required("from_ms", LONG, "first connection that names it, epoch ms; 00:00 when it was allocated then"),
        required("until_ms", LONG, "when the last one goes stale, exclusive, epoch ms; 24:00 at the latest"),
    ),
)

INPUTS = Frame(
    name="inputs",
    grain="one interval of unchanged inputs of a strategy, per view where brokers disagree on the members",
    keys=("consumer_group", "topic", "view_broker_name", "start_ms"),
    columns=(
        _GROUP,
        _TOPIC,
        _VIEW,
        required("queues", ArrayType(_QUEUE), "queues to consume from; may be empty"),
        required("client_ids", ArrayType(TEXT), "members, sorted, one entry per connection; may be empty"),
        required("views", INT, "different member lists among the brokers of the topic"),
        _START,
        _END,
        *_HOW,
        column("undetermined", TEXT, "why the owners cannot be computed; null = they can"),
    ),
)

SHARES = Frame(
    name="shares",
    grain="one row of `inputs` whose owners can be computed",
    keys=INPUTS.keys,
    columns=(
        *INPUTS.columns,
        required(
            "shares",
            ArrayType(
                StructType(
                    [
                        StructField("client_id", TEXT),
                        StructField("outcome", TEXT),
                        StructField("message", TEXT),
                        StructField("queues", ArrayType(_QUEUE)),
                    ]
                )
            ),
            "one per different client: RESULT, EMPTY (it drops all) or UNCHANGED (its strategy throws `message`)",
        ),
    ),
)

EXPECTED = Frame(
    name="expected",
    grain="one queue and owner in one interval of unchanged inputs; a queue without one has one row",
    keys=(*INPUTS.keys, "broker_name", "queue_id", "client_id"),
    columns=tuple(each for each in QUEUE_ALLOCATION.columns if each.name not in _OF_TABLES),
)

FRAMES = (ROUTES, MEMBERS, CONNECTIONS, ANSWERS, TOPICS, INPUTS, SHARES, EXPECTED)
