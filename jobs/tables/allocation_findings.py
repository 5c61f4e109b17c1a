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
    "MEMBERS_DISAGREE",
    "FLAPPING",
)
CAUSES = (
    "DUPLICATE_CLIENT_ID",
    "VIEWS_DIFFER",
    "NOT_SUBSCRIBED",
    "MIXED_STRATEGIES",
    "MIXED_LANGUAGES",
    "LOCK_NOT_GRANTED",
    "STALE_ROUTE",
    "REBALANCE_NOT_RUN",
    "STOPPED_NOT_EXPIRED",
    "FLAPPING",
    "QUEUE_DOES_NOT_EXIST",
    "REQUEST_MODE_UNKNOWN",
    "REQUEST_MODE_DIFFERS",
    "STRATEGY_FAILS",
    "STRATEGY_ASSIGNS_NOBODY",
    "MORE_CLIENTS_THAN_QUEUES",
    "ROUTE_UNKNOWN",
    "UNEXPLAINED",
)

ALLOCATION_FINDINGS = Table(
    name="allocation_findings",
    grain="one finding: a stretch in which a queue, a client or a group was not as it should be",
    keys=(
        "cluster",
        "consumer_group",
        "topic",
        "kind",
        "broker_name",
        "queue_id",
        "client_ids",
        "found_from_ms",
    ),
    columns=(
        EVENT_DATE,
        CLUSTER,
        *instant("found_from", "start of the stretch"),
        *instant("found_until", "end of the stretch, exclusive"),
        required("consumer_group", TEXT, "consumer group"),
        column("topic", TEXT, "topic; null = the whole group"),
        column("broker_name", TEXT, "broker of the queue; null = no single queue"),
        column("queue_id", INT, "queue id; null = no single queue"),
        required("kind", TEXT, "what was found"),
        required("cause", TEXT, "why, where the data shows it; UNEXPLAINED = it does not"),
        required("client_ids", ArrayType(TEXT, False), "clients concerned, sorted"),
        column("owner_expected", TEXT, "client id the strategy names; null = nobody, or no single queue"),
        column("owners_observed", ArrayType(TEXT, False), "client ids that held the queue; null = not observed"),
        required("sentence", TEXT, "the finding in words"),
    ),
    checks={"found_until_after_from": "found_until_ms > found_from_ms"},
    closed_lists={"kind": KINDS, "cause": CAUSES},
)
