"""One attempt with its rules, as its writes are derived from it."""

from __future__ import annotations

from jobs.fault_latency.producers.rules import policies
from jobs.settings.client_profiles import released_profiles

POLICIES = policies(released_profiles(), {})


ATTEMPT = {
    "cluster string": "c",
    "client_id string": "p1",
    "producer_group string": "g",
    "process string": "p1",
    "enforced boolean": True,
    "topic string": "T",
    "mode string": "ASYNC",
    "outcome string": "SEND_OK",
    "cause string": None,
    "broker_name string": "a",
    "addressed_broker string": "a",
    "error_broker string": "a",
    "result_broker_name string": None,
    "started_at_ms bigint": 1_000,
    "submitted_at_ms bigint": 1_005,
    "ended_at_ms bigint": 1_020,
    "latency_ms bigint": 20,
    "version_number int": 40908,
    "version string": None,
    "policy string": "P2",
    "profile string": "P2",
    "detector boolean": False,
    "by_caller boolean": False,
    "is_stale_line boolean": False,
    "connected_late boolean": False,
    "broker_failed_ms bigint": None,
    "one_line_per string": None,
    "previous_broker_name string": None,
    "thread string": "t",
    "seq bigint": 7,
    "invoke_id bigint": None,
    "attempt int": 1,
    "row_hash bigint": 1,
    "process_ended_at_ms bigint": None,
}
