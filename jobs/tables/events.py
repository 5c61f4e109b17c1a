"""`events`: one trouble of a broker or of the cluster, what it cost, and who avoided the broker for how long."""

from pyspark.sql.types import ArrayType

from jobs.kinds import EventKind, Severity
from jobs.tables.table import CLUSTER, EVENT_DATE, FLAG, LONG, TEXT, Table, column, instant, required

EVENTS = Table(
    name="events",
    grain="one trouble of a broker, or of several brokers at once",
    keys=("cluster", "event_id"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("event_id", TEXT, "names the event in findings, links and answers; the same on a rerun"),
        column("broker_name", TEXT, "broker; null = several"),
        required("brokers", ArrayType(TEXT, False), "brokers in trouble, sorted"),
        required("all_brokers", LONG, "brokers of the cluster that got an attempt on the day"),
        required("began_within_ms", LONG, "from the first bad attempt at the first of the brokers to that at the last"),
        required(
            "kind",
            TEXT,
            "what at least four fifths of the failed attempts met: REFUSED, TIMED_OUT, BUSY, else MIXED;"
            " SLOW: fewer than a tenth of the bad attempts failed",
        ),
        required(
            "severity",
            TEXT,
            "CRITICAL: ten sends or more were lost; WARNING: one was, or ten were saved or slow; INFO: less",
        ),
        *instant("bad_from", "start of the first failed or slow attempt"),
        *instant("last_bad", "end of the last failed or slow attempt"),
        *instant(
            "bad_until",
            "end of the first attempt answered in time after the last bad one, of several brokers at the last of them;"
            " null = of at least one of them no answer is known on the day",
            nullable=True,
        ),
        required("failed_attempts", LONG, "attempts that failed"),
        required("slow_attempts", LONG, "attempts answered after `slow_ms` or longer"),
        required("attempts", LONG, "attempts at the brokers that ended from bad_from to last_bad"),
        required("producers", LONG, "producers that made them"),
        required("hit_producers", LONG, "of those, producers with a failed or slow attempt"),
        required(
            "avoiding_producers",
            LONG,
            "of those that sent to it, producers that held a broker isolated meanwhile; switch on",
        ),
        *instant(
            "avoided_from",
            "start of the first of those isolations, perhaps before the event; null = none",
            nullable=True,
        ),
        *instant(
            "avoided_until",
            "end of the last of them: at most the broker's next event, the last sign of life of its process, or 24:00;"
            " null = none",
            nullable=True,
        ),
        column("avoided_after_ms", LONG, "from bad_until to avoided_until, 0 or more; null = one of them is null"),
        required(
            "lost_sends",
            LONG,
            "sends that failed for their callers; each counts at the first of its brokers in an event",
        ),
        required("saved_sends", LONG, "sends answered after a retry"),
        required("slow_sends", LONG, "sends answered at the first attempt after `slow_ms` or longer"),
        required("continued_from_previous_day", FLAG, "an event of the day before goes on"),
        required(
            "continues_next_day",
            FLAG,
            "its last bad attempt was less than `event_gap_ms` before 24:00 UTC, and no answer is known after it",
        ),
    ),
    checks={"last_bad_not_before_first": "last_bad_ms >= bad_from_ms", "has_brokers": "size(brokers) > 0"},
    closed_lists={"kind": tuple(EventKind), "severity": tuple(Severity)},
)
