"""`group_events`: one change of a consumer group, when brokers noticed it, and what its queues went through."""

from pyspark.sql.types import ArrayType, StructType

from jobs.kinds import GroupEventKind
from jobs.tables.table import CLUSTER, EVENT_DATE, INT, LONG, TEXT, Table, column, instant, required

_NAMES = ArrayType(TEXT, False)
_QUEUE = StructType(  # Delta takes no NOT NULL inside an array
    [
        column("topic", TEXT, "topic; retry topics too"),
        column("broker_name", TEXT, "broker"),
        column("queue_id", INT, "queue id"),
        column("kind", TEXT, "UNASSIGNED, DOUBLY_OWNED or AGAINST_STRATEGY"),
        column("cause", TEXT, "why, as in allocation_findings"),
        column("start_ms", LONG, "start, epoch ms"),
        column("end_ms", LONG, "end, epoch ms, exclusive"),
        column("owners_expected", ArrayType(TEXT), "owners by the strategies"),
        column("owners_observed", ArrayType(TEXT), "client ids that owned it"),
    ]
)

GROUP_EVENTS = Table(
    name="group_events",
    grain="one change of a consumer group: members came or went, brokers were silent, routes changed, offsets were set",
    keys=("cluster", "event_id"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("event_id", TEXT, "names the event in findings and answers; the same on a rerun"),
        required("consumer_group", TEXT, "consumer group"),
        required(
            "kind",
            TEXT,
            "what changed; KILLED: the client's log ends without a stop; PAUSED: its process stood still;"
            " LEFT: brokers dropped it, and nothing shows why",
        ),
        *instant("start", "when it happened or a broker first showed it, whichever is earlier"),
        column("happened_ms", LONG, "when, by the first client's log, epoch ms; null = no log shows it"),
        column("noticed_from_ms", LONG, "first broker's answer that shows it, epoch ms; null = none does"),
        column(
            "noticed_until_ms",
            LONG,
            "answer of the last broker to show it, of a join within a minute, epoch ms; of silent brokers: all answer"
            " again, null = not on the day; else null = none does",
        ),
        *instant(
            "settled",
            "end of the last time in `queues`; null = not on the day, or owners are not known",
            nullable=True,
        ),
        required("client_ids", _NAMES, "clients that came, went or paused, sorted"),
        required("broker_names", _NAMES, "brokers that did not answer, or whose queues changed, sorted"),
        required("topics", _NAMES, "topics whose route or offsets changed, sorted"),
        required("moved", LONG, "queues that its rebalances gave another owner"),
        column("unowned_queues", LONG, "queues without an owner meanwhile; null = owners are not known"),
        column("unowned_ms", LONG, "most such time of one queue; null = owners are not known"),
        column("doubly_owned_queues", LONG, "queues with several owners meanwhile; null = owners are not known"),
        column("doubly_owned_ms", LONG, "most such time of one queue; null = owners are not known"),
        column("misplaced_queues", LONG, "queues with another owner than the strategies say; null = as above"),
        column("misplaced_ms", LONG, "most such time of one queue; null = owners are not known"),
        required("causes", _NAMES, "why, as in allocation_findings, in the order of `queues`"),
        required(
            "queues",
            ArrayType(_QUEUE, False),
            "one time of one queue without the right owner, by start; retry topics too",
        ),
        required("sentence", TEXT, "the event in words"),
    ),
    checks={"settled_after_start": "settled_ms IS NULL OR settled_ms >= start_ms"},
    closed_lists={"kind": tuple(GroupEventKind)},
)
