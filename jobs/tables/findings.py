"""`findings`: facts of a producer's night that need attention, each with its cause in one row and one sentence."""

from pyspark.sql.types import ArrayType, DoubleType

from jobs.kinds import FindingCause, FindingKind, Severity
from jobs.tables.table import CLUSTER, EVENT_DATE, LONG, TEXT, Table, column, instant, required

FINDINGS = Table(
    name="findings",
    version=5,
    grain="one finding: an interval in which a producer or broker behaved unexpectedly",
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
        required("kind", TEXT, "kind of finding; docs/findings has how it is detected and what to do"),
        required("severity", TEXT, "CRITICAL: ten sends failed or a broker is long lost; WARNING: look at it; INFO"),
        required("cause", TEXT, "why; UNEXPLAINED: the data does not show it"),
        *instant("start", "start of the interval"),
        *instant("end", "end of the interval, exclusive; the start plus 1 ms for a moment"),
        column(
            "event_id",
            TEXT,
            "in `events`: the event at its broker at that time, or of a collateral isolation at another; null = none",
        ),
        column("client_id", TEXT, "client id of the producer; null = not one producer"),
        column("producer_group", TEXT, "producer group; null = not one producer"),
        column("process", TEXT, "process of the producer; null = not one process"),
        column("topic", TEXT, "topic; null = all topics"),
        column("broker_name", TEXT, "broker; null = not one broker"),
        column("sends", LONG, "attempts concerned; null = not counted"),
        column("failures", LONG, "of those, attempts that ended in an exception; null = not counted"),
        column("isolations", LONG, "isolations concerned; null = not counted"),
        column("isolated_ms", LONG, "broker-milliseconds of isolation concerned; null = not counted"),
        column("producers", LONG, "producers concerned; null = one, or none"),
        column("share", DoubleType(), "share in the sentence, 0 to 1; null = none"),
        column("brokers", ArrayType(TEXT, False), "brokers concerned, sorted; null = broker_name alone"),
        required("sentence", TEXT, "the finding in words"),
    ),
    checks={"stretch_has_length": "end_ms > start_ms"},
    closed_lists={"kind": tuple(FindingKind), "cause": tuple(FindingCause), "severity": tuple(Severity)},
)
