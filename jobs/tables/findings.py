"""`findings`: facts of a producer's night that need attention, each with its cause in one row and one sentence."""

from pyspark.sql.types import ArrayType, DoubleType

from jobs.kinds import FindingCause, FindingKind, Severity
from jobs.tables.table import CLUSTER, EVENT_DATE, LONG, TEXT, Table, column, instant, required

FINDINGS = Table(
    name="findings",
    version=3,
    grain="one finding: an interval in which a producer or a broker fared otherwise than its owner may think",
    keys=(
        "cluster",
        "kind",
        "cause",
        "client_id",
        "producer_group",
        "process",
        "topic",
        "broker_name",
        "start_ms",
    ),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("kind", TEXT, "what was found; docs/findings says how, and what to do"),
        required("severity", TEXT, "CRITICAL: sends failed or a broker is lost; WARNING: look at it; INFO: know it"),
        required("cause", TEXT, "why, where the data shows it; UNEXPLAINED: it does not"),
        *instant("start", "start of the interval"),
        *instant("end", "end of the interval, exclusive; the start plus 1 ms for a moment"),
        column("client_id", TEXT, "client id of the producer; null = not one producer"),
        column("producer_group", TEXT, "producer group; null = not one producer"),
        column("process", TEXT, "process of the producer; null = not one process"),
        column("topic", TEXT, "topic; null = whatever the topic"),
        column("broker_name", TEXT, "broker; null = not one broker"),
        column("sends", LONG, "attempts that the finding is about; null = none are counted"),
        column("failures", LONG, "of those, attempts that ended in an exception; null = none are counted"),
        column("isolations", LONG, "isolations that the finding is about; null = none are counted"),
        column("isolated_ms", LONG, "broker-milliseconds of isolation concerned; null = none are counted"),
        column("producers", LONG, "producers that the finding is about; null = one, or none"),
        column("share", DoubleType(), "share that the sentence names, 0 to 1; null = it names none"),
        column("brokers", ArrayType(TEXT, False), "brokers concerned, sorted; null = broker_name alone"),
        required("sentence", TEXT, "the finding in words"),
    ),
    checks={"stretch_has_length": "end_ms > start_ms"},
    closed_lists={"kind": tuple(FindingKind), "cause": tuple(FindingCause), "severity": tuple(Severity)},
)
