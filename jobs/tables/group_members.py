"""`group_members`: members of a consumer group, by the answers of each broker."""

from pyspark.sql.types import ArrayType

from jobs.tables.table import BROKER_NAME, CLUSTER, EVENT_DATE, INT, LONG, TEXT, Table, instant, required

GROUP_MEMBERS = Table(
    name="group_members",
    version=2,
    grain="one interval in which one broker reported the same members of a consumer group",
    keys=("cluster", "consumer_group", "broker_name", "start_ms"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("consumer_group", TEXT, "consumer group"),
        BROKER_NAME,
        *instant("start", "first capture with these members; 00:00 when they were known before"),
        *instant("end", "first capture with other members, or when the last answer went stale; exclusive"),
        required("client_ids", ArrayType(TEXT, False), "members, sorted; one entry per connection, duplicates kept"),
        required("members", INT, "entries of client_ids; 0 = the broker does not know the group"),
        required("last_answer_ms", LONG, "last capture with these members; epoch ms"),
        required("unanswered", LONG, "captures in the interval without an answer"),
    ),
    checks={"stretch_has_length": "end_ms > start_ms"},
)
