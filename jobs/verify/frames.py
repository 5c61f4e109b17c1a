"""Intermediate frames of `faultline verify`, column by column."""

from __future__ import annotations

from pyspark.sql.types import ArrayType

from jobs.tables.frame import Frame
from jobs.tables.table import FLAG, LONG, TEXT, column, required

_WRITER = (
    required("source", TEXT, "RECORDED or CLIENT_LOG"),
    required("writer", TEXT, "client id of a recorded producer, or the log"),
    required("producer_group", TEXT, "of a recorded producer; empty = a log, which says no group"),
)

CLIENTS = Frame(
    name="writing-clients",
    grain="one writer and one client that it wrote for",
    keys=("source", "writer", "producer_group", "client_id"),
    columns=(
        *_WRITER,
        column("client_id", TEXT, "null = the log names none"),
        column("log_version", TEXT, "client version by the log; null = not said"),
    ),
)

WRITERS = Frame(
    name="writers",
    grain="one writer, with what its sends and its lines say of it",
    keys=("source", "writer", "producer_group"),
    columns=(
        *_WRITER,
        required("client_ids", ArrayType(TEXT), "sorted; empty = none is named"),
        column("client_version", TEXT, "the highest of its sends; null = none known"),
        column("policy", TEXT, "of a producer; null = unknown"),
        required("lengths_ms", ArrayType(LONG), "all isolations that its ladders give"),
        required("has_sends", FLAG, "it has sends on the day"),
        required("is_on", FLAG, "the switch, by its sends"),
        required("is_replayed", FLAG, "its producer is replayed"),
        required("is_other_version", FLAG, "its lines are of another version than its sends"),
        required("is_torn", FLAG, "lines of it were lost"),
    ),
)
