"""`replay_checks`: what a client wrote of its own fault items, against the replay from its sends."""

from pyspark.sql.types import ArrayType

from jobs.tables.table import BROKER_NAME, CLUSTER, EVENT_DATE, LONG, TEXT, Table, column, required

REPLAY_CHECKS = Table(
    name="replay_checks",
    grain="one broker of one producer, or of the producers of one client log, on one day",
    keys=("cluster", "event_date", "source", "writer", "producer_group", "broker_name"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("source", TEXT, "RECORDED: the recorder's fault item updates; CLIENT_LOG: the client's own log"),
        required("writer", TEXT, "client id of the producer that recorded, or path of the client log without days"),
        required("producer_group", TEXT, "its producer group; empty for a log, which does not have it"),
        required(
            "client_ids", ArrayType(TEXT, False), "clients that wrote; for a log those found in it or in settings"
        ),
        column("client_version", TEXT, "version in the sends, the highest of several; null = unknown"),
        BROKER_NAME,
        required(
            "written",
            LONG,
            "what the client wrote: updates that isolate; for a log its lines of both kinds",
        ),
        required("replayed", LONG, "the same in the replay from sends alone"),
        required("matched", LONG, "in both at the same time, within a second, and of the same length"),
        required("other_length", LONG, "at the same time, but isolating for another time"),
        required("missed", LONG, "written by the client, not replayed"),
        required("extra", LONG, "replayed, not written by the client"),
        required("isolated_ms", LONG, "isolated by what the client wrote, ms; for a log by its windows alone"),
        required("replayed_ms", LONG, "isolated by the replay from sends, ms"),
        required("differing_ms", LONG, "isolated by only one of the two, ms"),
        column("cause", TEXT, "why they differ; null = they agree"),
        required("run_id", TEXT, "the run that compared them, as in run_log"),
    ),
    checks={
        "written_adds_up": "written = matched + other_length + missed",
        "replayed_adds_up": "replayed = matched + other_length + extra",
    },
    closed_lists={
        "source": ("RECORDED", "CLIENT_LOG"),
        "cause": (
            "UNKNOWN_CLIENT",
            "NO_SENDS",
            "NOT_REPLAYED",
            "OTHER_SWITCH",
            "OTHER_VERSION",
            "OTHER_LADDER",
            "LOST_LINES",
            "WITHOUT_EFFECT",
            "REMOVED_ITEM",
            "DETECTOR",
            "UNEXPLAINED",
        ),
    },
)
