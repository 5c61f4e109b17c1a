"""What the stages of the second flow hand to each other, column by column; each frame is of one day and cluster."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, StructField, StructType

from jobs.tables import ALLOCATION_FINDINGS, QUEUE_ALLOCATION, QUEUE_OWNERSHIP, REBALANCES, STRATEGY_COMPARISON, Table
from jobs.tables.frame import Frame
from jobs.tables.table import BROKER_NAME, FLAG, INT, LONG, TEXT, column, required

_GROUP = required("consumer_group", TEXT, "consumer group")
_TOPIC = required("topic", TEXT, "topic")
_CAPTURED = required("captured_at_ms", LONG, "when it was asked, epoch ms")
# What was known at 00:00 and no longer is an interval without length; the day's first answer may start there too.
_OF_ANSWERS = (
    required("start_ms", LONG, "start, epoch ms; 00:00 when it held before"),
    required("end_ms", LONG, "end, exclusive, epoch ms; equal to `start_ms` of what held until 00:00 and no longer"),
    required("last_answer_ms", LONG, "last capture with this answer, maybe of the day before, epoch ms"),
    required("unanswered", LONG, "captures in it that got no answer"),
)
OF_GROUPS = (QUEUE_ALLOCATION, QUEUE_OWNERSHIP, ALLOCATION_FINDINGS, REBALANCES, STRATEGY_COMPARISON)
"""Tables whose rows each belong to one group."""
_OF_EACH_ROW = {"event_date", "cluster", "consumer_group"}


def _own_columns(table: Table) -> StructType:
    """Those that differ within a group's day; instants only as numbers."""
    columns = (each for each in table.columns if each.name not in _OF_EACH_ROW and not each.name.endswith("_at"))
    return StructType([StructField(each.name, each.dataType) for each in columns])


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

GROUP_DAYS = Frame(
    name="group_days",
    grain="one row of one of the tables that are of groups; the columns of the others are null",
    keys=("consumer_group", *(table.name for table in OF_GROUPS)),
    columns=(
        _GROUP,
        *(column(table.name, _own_columns(table), f"a row of {table.name}; null = of another") for table in OF_GROUPS),
    ),
)

FRAMES = (ROUTES, MEMBERS, CONNECTIONS, ANSWERS, GROUP_DAYS)
