"""Every write that one attempt makes to fault items: broker, time, place in its millisecond, latency, evidence."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.given.attempt_that_writes import writes_of

REFUSED, SPENT, TIMED_OUT = "RemotingConnectException", "RemotingTooMuchRequestException", "RemotingTimeoutException"
INTERRUPTED = "InterruptedException"
HIDDEN, RESULT = "HIDDEN_RETRY", "INFERRED_RETRY_RESULT_BROKER"
Written = tuple[str, int, int, int, bool, bool, str, str]
"""Broker, when, step, latency, failure, reachable, cause, evidence."""

SUBMITTED: Written = ("a", 1_005, 2, 5, False, True, "LATENCY", "LOGGED")
ANSWERED: Written = ("a", 1_020, 4, 20, False, True, "LATENCY", "LOGGED")
LATE_SUBMIT: Written = ("a", 1_020, 5, 20, False, True, "LATENCY", "INFERRED_SUBMIT_TIME")


def failed(cause: str, *, step: int = 3, reachable: bool = True) -> Written:
    return ("a", 1_020, step, 20, True, reachable, cause, "LOGGED")


def of_another(cause: str, *, reachable: bool = True) -> Written:
    """A failure at b, whose address the error names: of its own latency the log says nothing."""
    return ("b", 1_020, 3, 0, True, reachable, cause, "INFERRED_RETRY_TEXT")


def refused_first(at_ms: int, *, reachable: bool = True) -> Written:
    return ("a", at_ms, 1, 0, True, reachable, HIDDEN, RESULT)


def hung_first(at_ms: int, latency_ms: int) -> Written:
    return ("a", at_ms, 3, latency_ms, True, True, HIDDEN, RESULT)


def failed_first(at_ms: int = 1_020, latency_ms: int = 20, *, reachable: bool = True) -> Written:
    return ("a", at_ms, 1, latency_ms, True, reachable, HIDDEN, "INFERRED_RETRY_FIRST")


def submitted(took_ms: int) -> Written:
    return ("a", 1_000 + took_ms, 2, took_ms, False, True, "LATENCY", "LOGGED")


def answered_by_b(at_ms: int, latency_ms: int = 0) -> Written:
    """Of its own latency nothing is known but where the first try is known to have failed."""
    return ("b", at_ms, 4, latency_ms, False, True, "LATENCY", "LOGGED")


P4 = {"version_number": 50104, "policy": "P4", "profile": "P4"}
P5 = {"version_number": 50303, "policy": "P5", "profile": "P5"}
ELSEWHERE = {"result_broker_name": "b"}
AT_ONCE = {"submitted_at_ms": 1_001, "ended_at_ms": 1_021, "latency_ms": 21}
LATER = {"ended_at_ms": 1_022, "latency_ms": 22}
FAILED_THERE = {"broker_failed_ms": 1_010}
TRY = {"one_line_per": "TRY"}
RETRY = TRY | {"attempt": 2, "submitted_at_ms": None, "previous_broker_name": "b"}
CASES: dict[str, tuple[dict[str, Any], list[Written]]] = {
    "async, answered": ({}, [SUBMITTED, ANSWERED]),
    "by the broker itself": ({"result_broker_name": "a"}, [SUBMITTED, ANSWERED]),
    "that connected in the submit call": (
        {"connected_late": True}, [SUBMITTED, ("a", 1_020, 4, 15, False, True, "LATENCY", "LOGGED")],
    ),
    "before the submit hook": ({"submitted_at_ms": None}, [ANSWERED, LATE_SUBMIT]),
    "a call": (
        {"call_timeout_ms": 3_000},
        [(*each[:-1], "INFERRED_CALL") for each in (SUBMITTED, ANSWERED)],
    ),
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
    # The first try was refused in the submit call, unless that took 1 ms at most and the answer came after 20 ms.
    "answered elsewhere, submitted within a millisecond, answered 20 ms later": (
        ELSEWHERE | AT_ONCE, [refused_first(1_001), submitted(1), answered_by_b(1_021)],
    ),
    "answered elsewhere, submitted within a millisecond, answered 21 ms later": (
        ELSEWHERE | AT_ONCE | LATER, [submitted(1), hung_first(1_022, 22), answered_by_b(1_022)],
    ),
    "answered elsewhere, submitted within two, answered 21 ms later": (
        ELSEWHERE | {"submitted_at_ms": 1_002, "ended_at_ms": 1_023, "latency_ms": 23},
        [refused_first(1_002), submitted(2), answered_by_b(1_023)],
    ),
    "submitted within a millisecond of the end less the latency": (
        ELSEWHERE | AT_ONCE | LATER | {"started_at_ms": None},
        [submitted(1), hung_first(1_022, 22), answered_by_b(1_022)],
    ),
    "failed in the callback, 5.1.4": (
        ELSEWHERE | AT_ONCE | LATER | P4, [submitted(1), hung_first(1_022, 22), answered_by_b(1_022)],
    ),
    "failed in the callback, 5.3.0": (
        ELSEWHERE | AT_ONCE | LATER | P5 | {"version_number": 50300},
        [submitted(1), hung_first(1_022, 22), answered_by_b(1_022)],
    ),
    "failed in the callback, when another attempt failed there": (
        ELSEWHERE | AT_ONCE | LATER | FAILED_THERE, [submitted(1), hung_first(1_010, 22), answered_by_b(1_022, 12)],
    ),
    "failed in the callback, when another attempt failed there, to 4.9.2": (
        ELSEWHERE | AT_ONCE | LATER | FAILED_THERE | {"version_number": 40902},
        [submitted(1), hung_first(1_010, 22), answered_by_b(1_022, 12)],
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
    "failed at another, when another attempt failed at the first": (
        {"outcome": TIMED_OUT, "error_broker": "b"} | AT_ONCE | LATER | FAILED_THERE,
        [submitted(1), failed_first(1_010, 22), ("b", 1_022, *of_another(TIMED_OUT)[2:])],
    ),
    "refused at another, to 4.9.2": (
        {"outcome": REFUSED, "error_broker": "b", "version_number": 40902},
        [SUBMITTED, failed_first(), ("a", 1_020, 3, 3_000, True, True, REFUSED, "INFERRED_RETRY_CHARGED")],
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
    "first try, answered": (TRY, [SUBMITTED, ANSWERED]),
    "first try, answered before the submit hook": (TRY | {"submitted_at_ms": None}, [ANSWERED, LATE_SUBMIT]),
    "first try, answered by another in its line": (TRY | ELSEWHERE | AT_ONCE | LATER, [
        submitted(1), ("a", 1_022, 4, 22, False, True, "LATENCY", "LOGGED"),
    ]),
    "first try, failed in the callback": (TRY | {"outcome": TIMED_OUT}, [SUBMITTED, failed(TIMED_OUT)]),
    "first try, refused in the submit call, to 4.9.2": (
        TRY | {"outcome": REFUSED, "submitted_at_ms": None, "version_number": 40902}, [failed(REFUSED, step=4)],
    ),
    "first try, refused in the submit call, from 4.9.3": (
        TRY | {"outcome": REFUSED, "submitted_at_ms": None, "version_number": 40903}, [failed(REFUSED)],
    ),
    "first try, number not logged, answered before the submit hook": (
        TRY | {"attempt": None, "submitted_at_ms": None}, [ANSWERED, LATE_SUBMIT],
    ),
    "retry, answered: no submit call": (RETRY, [ANSWERED]),
    "retry, answered by another in its line": (RETRY | ELSEWHERE, [ANSWERED]),
    "retry, failed": (RETRY | {"outcome": TIMED_OUT}, [failed(TIMED_OUT)]),
    "retry, failed, to 4.9.2": (RETRY | {"outcome": TIMED_OUT, "version_number": 40902}, [failed(TIMED_OUT)]),
    "retry, refused, to 4.9.2: the broker before it is charged": (
        RETRY | {"outcome": REFUSED, "version_number": 40902},
        [("b", 1_020, 3, 3_000, True, True, REFUSED, "LOGGED")],
    ),
    "retry, refused, from 4.9.3": (RETRY | {"outcome": REFUSED, "version_number": 40903}, [failed(REFUSED)]),
    "retry, refused, 5.1.4": (RETRY | {"outcome": REFUSED} | P4, [failed(REFUSED, reachable=False)]),
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


@pytest.fixture(scope="module")
def written(spark: SparkSession) -> Found:
    """Each case is a producer of its own."""
    frame = writes_of(spark, [other | {"client_id": case} for case, (other, _) in CASES.items()])
    columns = (
        "broker_name", "at_ms", "step", "current_latency_ms", "is_failure", "reachable", "cause", "evidence",
    )  # fmt: skip
    found: Found = {case: [] for case in CASES}
    for row in frame.orderBy("at_ms", "step").collect():
        found[row["client_id"]].append(tuple(row[name] for name in columns))
    return found


@pytest.mark.parametrize("case", CASES)
def test_writes(written: Found, case: str) -> None:
    assert written[case] == CASES[case][1]
