"""Why an attempt went to a broker that its producer held as not available: each cause, and which comes first."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.fault_latency.findings.against_isolation import sent_while_isolated

_OWNER = "cluster string, client_id string, producer_group string, process string, enforced boolean"
CHOICES = (
    f"{_OWNER}, topic string, broker_name string, since_ms bigint, chosen_at_ms bigint, outcome string,"
    " is_surely_isolated boolean, available int, only_available string, hosts int, by_caller boolean, profile string,"
    " attempt int, invoke_id bigint"
)
SENDS = f"{_OWNER}, broker_name string, attempt int, invoke_id bigint, outcome string"
CHOICE: dict[str, Any] = {
    "cluster": "c", "client_id": "p", "producer_group": "g", "process": "A", "enforced": True, "topic": "t",
    "broker_name": "a", "since_ms": 1_000, "chosen_at_ms": 2_000, "outcome": "SEND_OK", "is_surely_isolated": True,
    "available": 1, "only_available": "b", "hosts": 2, "by_caller": False, "profile": "P3", "attempt": 1,
    "invoke_id": 7,
}  # fmt: skip
RETRY = {"attempt": 2}
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "another broker was available": ({}, "UNEXPLAINED"),
    "the switch is off": ({"enforced": False, "by_caller": True}, "SWITCH_OFF"),
    "the caller chose": ({"by_caller": True, "hosts": 1}, "CALLER_CHOSE_QUEUE"),
    "the topic has one broker": ({"hosts": 1, "available": 0, "only_available": None}, "ONLY_BROKER"),
    "all were isolated": ({"available": 0, "only_available": None}, "ALL_ISOLATED"),
    "a retry up to 4.7.1": ({"profile": "P1"} | RETRY, "RETRY_TO_LAST_BROKER"),
    "a first attempt up to 4.7.1": ({"profile": "P1"}, "UNEXPLAINED"),
    "a retry after the only available broker": (RETRY, "RETRY_AVOIDS_LAST_BROKER"),
    "from 4.8.0 to 5.1.0 a retry does not avoid it": ({"profile": "P2"} | RETRY, "UNEXPLAINED"),
    "a retry after another": ({"only_available": "d"} | RETRY, "UNEXPLAINED"),
    "a retry of another send": ({"invoke_id": 8} | RETRY, "UNEXPLAINED"),
    "the third attempt, whose second is not logged": ({"attempt": 3}, "UNEXPLAINED"),
}


@pytest.fixture(scope="module")
def causes(spark: SparkSession) -> dict[str, str]:
    """The cause by topic: each case is a topic of its own."""
    rows = [tuple((CHOICE | {"topic": case} | other).values()) for case, (other, _) in CASES.items()]
    timeout = "RemotingTimeoutException"
    tried = [("c", "p", "g", "A", True, "b", 1, 7, timeout), ("c", "q", "g", "A", True, "b", 1, 8, timeout)]
    doubtful = tuple((CHOICE | {"topic": "not surely isolated", "is_surely_isolated": False}).values())
    found = sent_while_isolated(
        spark.createDataFrame([*rows, doubtful], CHOICES),
        spark.createDataFrame(tried, SENDS),
    )
    return {row["topic"]: row["cause"] for row in found.collect()}


@pytest.mark.parametrize("case", CASES)
def test_cause(causes: dict[str, str], case: str) -> None:
    assert causes[case] == CASES[case][1]


def test_an_isolation_that_may_not_have_been_one_is_not_a_finding(causes: dict[str, str]) -> None:
    assert causes.keys() == CASES.keys()
