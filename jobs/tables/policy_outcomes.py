"""`policy_outcomes`: what another policy would have done with the same day of sends."""

from pyspark.sql.types import ArrayType

from jobs.tables.table import BROKER_NAME, CLUSTER, EVENT_DATE, LONG, TEXT, Table, column, required

POLICY_OUTCOMES = Table(
    name="policy_outcomes",
    grain="one policy, broker and day: the sends it would have steered away, and how those really went",
    keys=("cluster", "event_date", "policy", "broker_name"),
    columns=(
        EVENT_DATE,
        CLUSTER,
        required("policy", TEXT, "name of the policy, as requested"),
        required(
            "profile",
            TEXT,
            "released rules it is based on: a profile of conf/profiles.toml; AS_RUN = the producers' own",
        ),
        required("latency_max_ms", ArrayType(LONG, False), "its ladder: floors, ms; empty for AS_RUN"),
        required("not_available_ms", ArrayType(LONG, False), "its ladder: isolations, ms; empty for AS_RUN"),
        BROKER_NAME,
        required("producers", LONG, "producers that were replayed"),
        required("sends", LONG, "attempts at the broker whose queue the client chose"),
        required("bad_sends", LONG, "of those, attempts that failed or took `slow_ms` or longer"),
        required("isolations", LONG, "isolations under the policy"),
        required("isolated_ms", LONG, "producer-milliseconds in which the policy would have isolated the broker"),
        required("all_isolated_ms", LONG, "of those, while all brokers of the producer were isolated: none is avoided"),
        required("steered", LONG, "sends that it would have steered to another broker"),
        required("hits", LONG, "of the steered, sends that really failed or were slow"),
        required("false_alarms", LONG, "of the steered, sends that were fine"),
        required("missed", LONG, "bad sends that it would not have steered away"),
        required("unavoidable", LONG, "bad sends that no policy of the same run would have steered away"),
        column("run_id", TEXT, "the run that computed it, as in run_log"),
    ),
    checks={
        "steered_adds_up": "steered = hits + false_alarms",
        "bad_adds_up": "bad_sends = hits + missed",
        "unavoidable_is_missed": "unavoidable <= missed",
    },
)
