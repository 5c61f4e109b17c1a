"""`allocation_findings`: where ownership was not what it should be, and why."""

from pyspark.sql.types import ArrayType

from jobs.tables.table import CLUSTER, EVENT_DATE, INT, TEXT, Table, column, instant, required

KINDS = (
    "UNASSIGNED",
    "DOUBLY_OWNED",
    "AGAINST_STRATEGY",
    "IDLE_CLIENT",
    "NOT_DETERMINABLE",
    "MIXED_LANGUAGES",
    "MIXED_STRATEGIES",
    "DUPLICATE_CLIENT_ID",
    "EMPTY_CLIENT_ID",
    "GROUP_WITHOUT_CONSUMERS",
    "TOPIC_WITHOUT_ROUTE",
    "VIEWS_DIFFER",
    "FLAPPING",
)
ACTING_CAUSES = (
    "DUPLICATE_CLIENT_ID",
    "NOT_SUBSCRIBED",
    "QUEUE_DOES_NOT_EXIST",
    "MIXED_STRATEGIES",
    "FLAPPING",
    "VIEWS_DIFFER",
    "STOPPED_NOT_EXPIRED",
    "CLIENT_SILENT",
    "LOCK_NOT_GRANTED",
    "OFFSET_UNKNOWN",
    "STALE_ROUTE",
    "REBALANCE_NOT_RUN",
    "MIXED_LANGUAGES",
)
"""Causes that act for a time; the earlier one is named where several act."""

CAUSES = (
    *ACTING_CAUSES,
    "STRATEGY_FAILS",
    "STRATEGY_LEAVES_OUT",
    "STRATEGY_NAMES_TWICE",
    "MORE_CLIENTS_THAN_QUEUES",
    "REQUEST_MODE_UNKNOWN",
    "STRATEGY_UNKNOWN",
    "ROUTE_UNKNOWN",
    "NO_ROUTE",
    "NONE_NEEDED",
    "UNEXPLAINED",
)

ALLOCATION_FINDINGS = Table(
    name="allocation_findings",
    version=2,
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
        column("consumer_group", TEXT, "consumer group; null = the topic, whatever the group"),
        column("topic", TEXT, "topic; null = the whole group"),
        column("broker_name", TEXT, "broker of the queue; null = no single queue"),
        column("queue_id", INT, "queue id; null = no single queue"),
        required("kind", TEXT, "what was found"),
        required("basis", TEXT, "EXPECTED: by members, routes and strategy alone; OBSERVED: by what clients owned"),
        required(
            "cause", TEXT, "why, where the data shows it; UNEXPLAINED: it does not; NONE_NEEDED: the kind says it"
        ),
        required("client_ids", ArrayType(TEXT, False), "clients concerned, sorted"),
        column("owners_expected", ArrayType(TEXT, False), "client ids the strategies name; null = no single queue"),
        column("owners_observed", ArrayType(TEXT, False), "client ids that owned the queue; null = not observed"),
        required("sentence", TEXT, "the finding in words"),
    ),
    checks={"stretch_has_length": "end_ms > start_ms"},
    closed_lists={"kind": KINDS, "cause": CAUSES, "basis": ("EXPECTED", "OBSERVED")},
)
