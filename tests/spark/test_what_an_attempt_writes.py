"""Every write that one attempt makes to fault items: broker, time, place in its millisecond, latency, evidence."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.fault_latency.fault_items.updates import updates
from tests.given.attempt_that_writes import ATTEMPT, POLICIES

REFUSED, SPENT, TIMED_OUT = "RemotingConnectException", "RemotingTooMuchRequestException", "RemotingTimeoutException"
INTERRUPTED = "InterruptedException"
HIDDEN, RESULT = "HIDDEN_RETRY", "INFERRED_RETRY_RESULT_BROKER"
Written = tuple[str, int, int, int, bool, bool, str, str, str | None]
"""Broker, when, step, latency, failure, reachable, cause, evidence, thread."""

SUBMITTED: Written = ("a", 1_005, 2, 5, False, True, "LATENCY", "LOGGED", "submit 7")
ANSWERED: Written = ("a", 1_020, 4, 20, False, True, "LATENCY", "LOGGED", "t")
LATE_SUBMIT: Written = ("a", 1_020, 5, 20, False, True, "LATENCY", "INFERRED_SUBMIT_TIME", None)


def failed(cause: str, *, step: int = 3, reachable: bool = True) -> Written:
    return ("a", 1_020, step, 20, True, reachable, cause, "LOGGED", "t")


def of_another(cause: str, *, reachable: bool = True) -> Written:
    """A failure at b, whose address the error names: of its own latency the log says nothing."""
    return ("b", 1_020, 3, 0, True, reachable, cause, "INFERRED_RETRY_TEXT", "t")


def refused_first(at_ms: int, *, reachable: bool = True) -> Written:
    return ("a", at_ms, 1, 0, True, reachable, HIDDEN, RESULT, "submit 7")


def hung_first(at_ms: int, latency_ms: int) -> Written:
    return ("a", at_ms, 3, latency_ms, True, True, HIDDEN, RESULT, None)


def failed_first(*, reachable: bool = True) -> Written:
    return ("a", 1_020, 1, 20, True, reachable, HIDDEN, "INFERRED_RETRY_FIRST", "t")


def answered_by_b(at_ms: int) -> Written:
    return ("b", at_ms, 4, 0, False, True, "LATENCY", "LOGGED", "t")


P4 = {"version_number": 50104, "policy": "P4", "profile": "P4"}
P5 = {"version_number": 50303, "policy": "P5", "profile": "P5"}
ELSEWHERE = {"result_broker_name": "b"}
CASES: dict[str, tuple[dict[str, Any], list[Written]]] = {
    "async, answered": ({}, [SUBMITTED, ANSWERED]),
    "by the broker itself": ({"result_broker_name": "a"}, [SUBMITTED, ANSWERED]),
    "that connected in the submit call": (
        {"connected_late": True}, [SUBMITTED, ("a", 1_020, 4, 15, False, True, "LATENCY", "LOGGED", "t")],
    ),
    "before the submit hook": ({"submitted_at_ms": None}, [ANSWERED, LATE_SUBMIT]),
    "the caller chose": ({"by_caller": True}, [ANSWERED]),
    "the caller chose, before the submit hook": ({"by_caller": True, "submitted_at_ms": None}, [ANSWERED]),
    "without a start": ({"started_at_ms": None}, [SUBMITTED, ANSWERED]),  # 1,000 is the end less the latency
    "renamed meanwhile": ({"broker_name": "new"}, [SUBMITTED, ANSWERED]),
    "answered elsewhere at once": (ELSEWHERE, [refused_first(1_005), SUBMITTED, answered_by_b(1_020)]),
    "answered elsewhere within 549 ms": (
        ELSEWHERE | {"ended_at_ms": 1_554, "latency_ms": 554}, [refused_first(1_005), SUBMITTED, answered_by_b(1_554)],
    ),
    "answered elsewhere after 550 ms": (
        ELSEWHERE | {"ended_at_ms": 1_555, "latency_ms": 555},
        [SUBMITTED, hung_first(1_555, 555), answered_by_b(1_555)],
    ),
    "answered elsewhere, to 4.9.2": (
        ELSEWHERE | {"version_number": 40902}, [SUBMITTED, hung_first(1_020, 20), answered_by_b(1_020)],
    ),
    "answered elsewhere, from 4.9.3": (
        ELSEWHERE | {"version_number": 40903}, [refused_first(1_005), SUBMITTED, answered_by_b(1_020)],
    ),
    "answered elsewhere before the submit hook": (
        ELSEWHERE | {"submitted_at_ms": None}, [refused_first(1_020), answered_by_b(1_020), LATE_SUBMIT],
    ),
    "answered elsewhere, 5.1.3": (
        ELSEWHERE | {"version_number": 50103}, [refused_first(1_005), SUBMITTED, answered_by_b(1_020)],
    ),
    "answered elsewhere, 5.1.4": (
        ELSEWHERE | P4, [refused_first(1_005, reachable=False), SUBMITTED, answered_by_b(1_020)],
    ),
    "answered elsewhere, 5.2.0": (
        ELSEWHERE | P5 | {"version_number": 50200},
        [refused_first(1_005, reachable=False), SUBMITTED, answered_by_b(1_020)],
    ),
    "answered elsewhere, 5.3.0": (
        ELSEWHERE | P5 | {"version_number": 50300}, [SUBMITTED, refused_first(1_020), answered_by_b(1_020)],
    ),
    "async, timed out": ({"outcome": TIMED_OUT}, [SUBMITTED, failed(TIMED_OUT)]),
    "timed out, 5.1.4": ({"outcome": TIMED_OUT} | P4, [SUBMITTED, failed(TIMED_OUT)]),
    "refused, 5.1.4": ({"outcome": REFUSED} | P4, [SUBMITTED, failed(REFUSED, reachable=False)]),
    "no time left, 5.1.4": ({"outcome": SPENT} | P4, [SUBMITTED, failed(SPENT, reachable=False)]),
    "refused, 5.3.3": ({"outcome": REFUSED} | P5, [SUBMITTED, failed(REFUSED)]),
    "the client's exception stands for its cause": (
        {"outcome": "MQClientException", "cause": TIMED_OUT} | P5, [SUBMITTED, failed(TIMED_OUT)],
    ),
    "failed at another": (
        {"outcome": TIMED_OUT, "error_broker": "b"}, [SUBMITTED, failed_first(), of_another(TIMED_OUT)],
    ),
    "failed at another, 5.1.4, the submit call is not known": (
        {"outcome": TIMED_OUT, "error_broker": "b", "submitted_at_ms": None} | P4,
        [failed_first(reachable=False), of_another(TIMED_OUT)],
    ),
    "failed at another, 5.1.4": (
        {"outcome": TIMED_OUT, "error_broker": "b"} | P4, [SUBMITTED, failed_first(), of_another(TIMED_OUT)],
    ),
    "refused in the submit call, to 4.9.2": (
        {"outcome": REFUSED, "submitted_at_ms": None, "version_number": 40902}, [failed(REFUSED, step=4)],
    ),
    "refused in the submit call, to 4.9.2, the caller chose": (
        {"outcome": REFUSED, "submitted_at_ms": None, "version_number": 40902, "by_caller": True}, [],
    ),
    "interrupted in the submit call, to 4.9.2": (
        {"outcome": INTERRUPTED, "submitted_at_ms": None, "version_number": 40902}, [ANSWERED],
    ),
    "interrupted in the submit call, to 4.9.2, the caller chose": (
        {"outcome": INTERRUPTED, "submitted_at_ms": None, "version_number": 40902, "by_caller": True}, [],
    ),
    "interrupted in the submit call, from 4.9.3": (
        {"outcome": INTERRUPTED, "submitted_at_ms": None, "version_number": 40903}, [failed(INTERRUPTED)],
    ),
    "only a callback has the client's exception, to 4.9.2": (
        {"outcome": "MQClientException", "submitted_at_ms": None, "version_number": 40902},
        [failed("MQClientException")],
    ),
    "only a callback has the client's exception, to 4.9.2, the caller chose": (
        {"outcome": "MQClientException", "submitted_at_ms": None, "version_number": 40902, "by_caller": True},
        [failed("MQClientException")],
    ),
    "only a callback has the client's exception, to 4.9.2, whatever its cause": (
        {"outcome": "MQClientException", "cause": TIMED_OUT, "submitted_at_ms": None, "version_number": 40902},
        [failed(TIMED_OUT)],
    ),
    "an answer that is an error, to 4.9.2": (
        {"outcome": "MQBrokerException", "submitted_at_ms": None, "version_number": 40902},
        [failed("MQBrokerException")],
    ),
    "refused in the submit call, from 4.9.3": (
        {"outcome": REFUSED, "submitted_at_ms": None, "version_number": 40903}, [failed(REFUSED)],
    ),
    "the second line of one that was refused": (
        {"outcome": REFUSED, "submitted_at_ms": None, "is_stale_line": True}, [ANSWERED],
    ),
    "the second line, the caller chose": (
        {"outcome": REFUSED, "submitted_at_ms": None, "is_stale_line": True, "by_caller": True}, [],
    ),
    "sync, answered": ({"mode": "SYNC"}, [ANSWERED]),
    "sync, renamed meanwhile": ({"mode": "SYNC", "broker_name": "new"}, [("new", *ANSWERED[1:])]),
    "sync, the caller chose": ({"mode": "SYNC", "by_caller": True}, []),
    "sync, timed out": ({"mode": "SYNC", "outcome": TIMED_OUT}, [failed(TIMED_OUT, step=4)]),
    "sync, timed out, with the detector": (
        {"mode": "SYNC", "outcome": TIMED_OUT, "detector": True} | P4, [failed(TIMED_OUT, step=4, reachable=False)],
    ),
    "sync, no such broker, to 5.1.3": (
        {"mode": "SYNC", "outcome": "MQClientException", "policy": "P3"}, [failed("MQClientException", step=4)],
    ),
    "sync, no such broker, 5.1.4": ({"mode": "SYNC", "outcome": "MQClientException"} | P4, [ANSWERED]),
    "sync, interrupted": ({"mode": "SYNC", "outcome": INTERRUPTED}, [ANSWERED]),
    "sync, what no catch updates": ({"mode": "SYNC", "outcome": "OutOfMemoryError"}, []),
    "one-way": ({"mode": "ONEWAY", "outcome": "SENT"}, [ANSWERED]),
}  # fmt: skip
Found = dict[str, list[tuple[Any, ...]]]


def _written(spark: SparkSession, *, infer: bool) -> Found:
    """Each case is a producer of its own."""
    names = [name.split()[0] for name in ATTEMPT]
    rows = [
        tuple((dict(zip(names, ATTEMPT.values(), strict=True)) | other | {"client_id": case}).values())
        for case, (other, _) in CASES.items()
    ]
    frame = updates(spark.createDataFrame(rows, ", ".join(ATTEMPT)), POLICIES, infer=infer)
    columns = (
        "broker_name", "at_ms", "step", "current_latency_ms", "is_failure", "reachable", "cause", "evidence", "thread",
    )  # fmt: skip
    found: Found = {case: [] for case in CASES}
    for row in frame.orderBy("at_ms", "step").collect():
        found[row["client_id"]].append(tuple(row[name] for name in columns))
    return found


@pytest.fixture(scope="module")
def written(spark: SparkSession) -> Found:
    return _written(spark, infer=True)


@pytest.fixture(scope="module")
def logged(spark: SparkSession) -> Found:
    return _written(spark, infer=False)


@pytest.mark.parametrize("case", CASES)
def test_writes(written: Found, case: str) -> None:
    assert written[case] == CASES[case][1]


@pytest.mark.parametrize("case", [case for case, (other, _) in CASES.items() if other.get("error_broker") != "b"])
def test_without_inference_only_what_is_logged_is_written(logged: Found, case: str) -> None:
    assert logged[case] == [each for each in CASES[case][1] if each[7] == "LOGGED"]


def test_without_inference_a_failure_is_that_of_the_broker_in_the_line(logged: Found) -> None:
    assert logged["failed at another"] == [SUBMITTED, failed(TIMED_OUT)]
