"""`rebalances`: what a change of members, queues or views moved, and what would have been enough."""

from pyspark.sql.types import ArrayType

from jobs.tables.table import CLUSTER, EVENT_DATE, INSTANT, LONG, TEXT, Table, required

TRIGGERS = ("JOINED", "LEFT", "JOINED_AND_LEFT", "QUEUES", "MEMBERS_AND_QUEUES", "VIEW")

REBALANCES = Table(
    name="rebalances",
    grain="one change of what the strategy allocates to a group in one topic",
    keys=("cluster", "consumer_group", "topic", "changed_at_ms"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("consumer_group", TEXT, "consumer group"),
        required("topic", TEXT, "topic"),
        required("changed_at_ms", LONG, "capture that showed the change; epoch ms"),
        required("changed_at", INSTANT, "capture that showed the change; UTC"),
        required(
            "trigger",
            TEXT,
            "what changed; VIEW = brokers began or ceased to disagree about the members, or while they disagree another"
            " broker's list counts (the first by name)",
        ),
        required("joined", ArrayType(TEXT, False), "client ids that joined"),
        required("left", ArrayType(TEXT, False), "client ids that left"),
        required("queues", LONG, "queues of the topic after the change"),
        required(
            "moved",
            LONG,
            "queues present before and after with another owner; with several owners, if one that is still a member"
            " lost it, or all did",
        ),
        required("fewest_moves", LONG, "fewest of them that any assignment with the same loads would have moved"),
        required("moved_beyond_fewest", LONG, "moved - fewest_moves"),
    ),
    checks={
        "moves_are_possible": "fewest_moves >= 0 AND moved <= queues AND moved_beyond_fewest = moved - fewest_moves"
    },
    closed_lists={"trigger": TRIGGERS},
)
