"""`producer_days`: one producer's day: how it was replayed, what it isolated, and a check without truth."""

from jobs.kinds import FindingKind
from jobs.tables.table import CLUSTER, EVENT_DATE, FLAG, LONG, PRODUCER, TEXT, Table, column, required

PRODUCER_DAYS = Table(
    name="producer_days",
    version=2,
    grain="one producer on one day, per state of its switch",
    keys=("cluster", "client_id", "producer_group", "enforced"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        *PRODUCER,
        required("enforced", FLAG, "the producer's switch; false = what would have happened"),
        required("switch_assumed", FLAG, "neither log nor settings have the switch; assumed off"),
        column("client_version", TEXT, "version of the client, as logged or set; null = unknown"),
        column("profile", TEXT, "rules it was replayed under; null = not replayed"),
        column("policy", TEXT, "the profile, or profile and own ladder; null = not replayed"),
        column("not_replayed", TEXT, "why its sends were not replayed; null = replayed"),
        column("call_timeout_ms", LONG, "send time-out where its lines are calls of send(), ms; null = attempts"),
        required("sends", LONG, "attempts that ended on this day"),
        required("failures", LONG, "of those, attempts that ended in an exception"),
        required("isolations", LONG, "isolation intervals with a length, those continued from the day before included"),
        required("isolated_ms", LONG, "broker-milliseconds of isolation"),
        required("inferred_isolations", LONG, "of the isolations, those whose opener was inferred"),
        required("recorded_updates", LONG, "updates of its fault items that its client recorded"),
        required(
            "contradictions",
            LONG,
            "first attempts at a broker that the replay held isolated while another broker of the topic was available",
        ),
    ),
    closed_lists={
        "not_replayed": ("CLIENT_VERSION_UNKNOWN", "CLIENT_TOO_OLD", "NOT_A_JAVA_CLIENT", FindingKind.SEVERAL_PROCESSES)
    },
)
