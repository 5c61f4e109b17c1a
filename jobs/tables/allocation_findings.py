"""`allocation_findings`: where ownership was not what it should be, and why."""

from pyspark.sql.types import ArrayType

from jobs.kinds import GroupCause, GroupKind
from jobs.tables.table import CLUSTER, EVENT_DATE, INT, TEXT, Table, column, instant, required

ALLOCATION_FINDINGS = Table(
    name="allocation_findings",
    version=4,
    grain="one finding: an interval in which a queue, a client, a topic or a group was not as it should be",
    keys=(
        "cluster",
        "consumer_group",
        "topic",
        "kind",
        "basis",
        "broker_name",
        "queue_id",
        "client_ids",
        "start_ms",
    ),
    columns=(
        EVENT_DATE,
        CLUSTER,
        *instant("start", "start of the interval"),
        *instant("end", "end of the interval, exclusive"),
        column("consumer_group", TEXT, "consumer group; null = the topic, for all groups"),
        column("topic", TEXT, "topic; null = the whole group"),
        column("broker_name", TEXT, "broker of the queue, or that the finding is about; null = no single one"),
        column("queue_id", INT, "queue id; null = no single queue"),
        required("kind", TEXT, "what was found"),
        required("basis", TEXT, "EXPECTED: by members, routes and strategy alone; OBSERVED: by what clients owned"),
        required("cause", TEXT, "why; UNEXPLAINED: the data does not show it; NONE_NEEDED: the kind is the cause"),
        required("client_ids", ArrayType(TEXT, False), "clients concerned, sorted"),
        column("owners_expected", ArrayType(TEXT, False), "owners by the strategies; null = no single queue"),
        column("owners_observed", ArrayType(TEXT, False), "client ids that owned the queue; null = not observed"),
        column("event_id", TEXT, "the change in `group_events` that it belongs to; null = none"),
        required("sentence", TEXT, "the finding in words"),
    ),
    checks={"stretch_has_length": "end_ms > start_ms"},
    closed_lists={
        "kind": tuple(GroupKind),
        "cause": tuple(GroupCause),
        "basis": ("EXPECTED", "OBSERVED"),
    },
)
