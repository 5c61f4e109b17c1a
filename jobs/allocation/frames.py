"""Frames that the second flow writes between its stages; each holds one day of one cluster."""

from __future__ import annotations

from pyspark.sql.types import StructField, StructType

from jobs.tables import (
    ALLOCATION_FINDINGS,
    GROUP_EVENTS,
    QUEUE_ALLOCATION,
    QUEUE_OWNERSHIP,
    REBALANCES,
    STRATEGY_COMPARISON,
    Table,
)
from jobs.tables.frame import Frame
from jobs.tables.table import FLAG, INT, LONG, TEXT, column, required

OF_GROUPS = (
    QUEUE_ALLOCATION,
    QUEUE_OWNERSHIP,
    ALLOCATION_FINDINGS,
    GROUP_EVENTS,
    REBALANCES,
    STRATEGY_COMPARISON,
)
"""Tables whose rows each belong to one group."""
_OF_EACH_ROW = {"event_date", "cluster", "consumer_group"}


def _own_columns(table: Table) -> StructType:
    """The columns that differ within a group's day; instants only as numbers."""
    columns = (field for field in table.columns if field.name not in _OF_EACH_ROW and not field.name.endswith("_at"))
    return StructType([StructField(field.name, field.dataType) for field in columns])


PROCESS_LOGS = Frame(
    name="process_logs",
    grain="one life, holding, refusal or silence of a process, by the lines of its client log",
    keys=(),
    columns=(
        required("kind", TEXT, "LIFETIME, HOLDING, REFUSAL or SILENCE"),
        required("process", TEXT, "the log's process"),
        column("consumer_group", TEXT, "null of a silence"),
        column("topic", TEXT, "of a holding or refusal"),
        column("broker_name", TEXT, "of its queue"),
        column("queue_id", INT, "of its queue"),
        column("popped", FLAG, "taken by POP"),
        column("client_id", TEXT, "of a life or holding"),
        column("start_ms", LONG, "start, epoch ms; null of a life = before the log's first line"),
        column("end_ms", LONG, "end, epoch ms"),
        column("ended", FLAG, "of a life: it says that the client stopped"),
        column(
            "event", TEXT, "of a refusal: LOCK_FAILED, OFFSET_UNKNOWN, or DROPPED of a queue given up to set its offset"
        ),
    ),
)

GROUP_DAYS = Frame(
    name="group_days",
    grain="one row of one of the tables that are of groups; the columns of the others are null",
    keys=("consumer_group", *(table.name for table in OF_GROUPS)),
    columns=(
        required("consumer_group", TEXT, "consumer group"),
        *(column(table.name, _own_columns(table), f"a row of {table.name}; null = of another") for table in OF_GROUPS),
    ),
)

FRAMES = (PROCESS_LOGS, GROUP_DAYS)
