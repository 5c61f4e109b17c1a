"""`topic_brokers`: which brokers host a topic, over time, by the name server's answers."""

from jobs.tables.table import BROKER_NAME, CLUSTER, EVENT_DATE, FLAG, INT, TEXT, Table, instant, required

TOPIC_BROKERS = Table(
    name="topic_brokers",
    version=2,
    grain="one broker of one topic in one interval of equal answers of the name server",
    keys=("cluster", "topic", "start_ms", "broker_name"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("topic", TEXT, "topic"),
        *instant("start", "first capture with this answer"),
        *instant("end", "first capture with another answer, exclusive; for the last of the day 24:00"),
        BROKER_NAME,
        required("perm", INT, "permission bits: 4 read, 2 write"),
        required("read_queue_nums", INT, "read queues"),
        required("write_queue_nums", INT, "write queues"),
        required("has_master", FLAG, "a broker with id 0 is in the route"),
    ),
    checks={"stretch_has_length": "end_ms > start_ms"},
)
