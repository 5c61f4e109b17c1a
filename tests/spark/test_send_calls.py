"""Sends as their callers saw them, and what fault latency did: each verdict in its smallest case."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.fault_latency.calls import send_calls
from jobs.fault_latency.health import broker_health

ATTEMPTS = (
    "cluster string, client_id string, producer_group string, process string, enforced boolean, version string,"
    " topic string, mode string, by_caller boolean, not_replayed string, invoke_id bigint, attempt int, seq bigint,"
    " started_at_ms bigint, ended_at_ms bigint, latency_ms bigint, outcome string, broker_name string,"
    " result_broker_name string, row_hash bigint"
)
CHOICES = (
    "cluster string, client_id string, producer_group string, row_hash bigint, isolated array<string>,"
    " all_hosts array<string>, since_ms bigint"
)
HEALTH = "cluster string, bucket bigint, is_bad_broker map<string, boolean>"
SLOW_MS = 550
REFUSED = "RemotingConnectException"


def _attempt(
    row_hash: int, ended_at_ms: int, latency_ms: int = 5, outcome: str = "SEND_OK", **other: Any
) -> tuple[Any, ...]:
    row = {
        "cluster": "c", "client_id": "p", "producer_group": "g", "process": "#1", "enforced": True, "version": "5.3.3",
        "topic": "t", "mode": "SYNC", "by_caller": False, "not_replayed": None, "invoke_id": None, "attempt": 1,
        "seq": None, "started_at_ms": ended_at_ms - latency_ms, "ended_at_ms": ended_at_ms, "latency_ms": latency_ms,
        "outcome": outcome, "broker_name": "a", "result_broker_name": None, "row_hash": row_hash,
    } | other  # fmt: skip
    return tuple(row.values())


def _calls(
    spark: SparkSession, attempts: list[tuple[Any, ...]], choices: list[tuple[Any, ...]], health: dict[str, bool]
) -> dict[int, dict[str, Any]]:
    found = send_calls(
        spark.createDataFrame(attempts, ATTEMPTS),
        spark.createDataFrame(choices, CHOICES),
        spark.createDataFrame([("c", 0, health)] if health else [], HEALTH),
        SLOW_MS,
    )
    return {row["row_hash"]: row.asDict() for row in found.collect()}


def test_attempts_of_one_invoke_id_are_one_send(spark: SparkSession) -> None:
    attempts = [
        _attempt(3, 3_010, 5, "SEND_OK", invoke_id=7, attempt=2, broker_name="b"),
        _attempt(9, 3_000, 3_000, "RemotingTimeoutException", invoke_id=7),
        _attempt(4, 500, 5, "SEND_OK", invoke_id=8, result_broker_name="b"),  # a hidden retry answered elsewhere
        _attempt(5, 600, 5, REFUSED, invoke_id=9),
        _attempt(6, 600, 5, REFUSED, invoke_id=9),  # the hook fired twice for one attempt
        _attempt(7, 700),  # without an invoke id each attempt is a send
        _attempt(8, 700),
        _attempt(2, 700, invoke_id=7, process="#2"),  # another process counts its own
        _attempt(1, 100, 5, started_at_ms=900),  # the clock was set back meanwhile
    ]
    found = _calls(spark, attempts, [], {})
    assert sorted(found) == [1, 2, 4, 5, 7, 8, 9]
    names = ("started_ms", "ended_ms", "total_ms", "attempts", "broker_names", "outcome", "failed", "retried", "slow")
    assert {key: tuple(found[key][name] for name in names) for key in (9, 4, 5, 1)} == {
        9: (0, 3_010, 3_010, 2, ["a", "b"], "SEND_OK", False, True, True),
        4: (495, 500, 5, 1, ["a", "b"], "SEND_OK", False, True, False),
        5: (595, 600, 5, 1, ["a", "a"], REFUSED, True, False, False),
        1: (100, 100, 0, 1, ["a"], "SEND_OK", False, False, False),
    }
    assert {found[key]["fault_latency"] for key in found} == {"NONE_ISOLATED"}


HELD = ["b"]
FINE, SLOW, FAILED = {}, {"latency_ms": 900}, {"outcome": REFUSED}


@pytest.mark.parametrize(
    ("send", "isolated", "went_to_isolated", "health", "effect"),
    [
        (FINE, [], False, {}, "NONE_ISOLATED"),
        (FINE, ["z"], False, {}, "NONE_ISOLATED"),  # isolated, but no broker of this topic
        (FINE, HELD, True, {"b": True}, "SENT_TO_ISOLATED"),
        (FINE, HELD, False, {"b": True}, "SPARED"),
        (FINE, ["b", "d"], False, {"b": False, "d": True}, "SPARED"),
        (FAILED, HELD, False, {"b": True}, "NO_DIFFERENCE"),
        (FINE, HELD, False, {"b": False}, "NO_DIFFERENCE"),
        (SLOW, HELD, False, {"b": False}, "COST"),
        (FAILED, HELD, False, {"b": False, "d": True}, "COST"),  # d was not avoided
        (SLOW, HELD, False, {"a": True}, "UNKNOWN"),  # nobody sent to b
        (FINE, HELD, False, {}, "UNKNOWN"),  # nobody sent at all
        (FINE | {"by_caller": True}, HELD, True, {"b": True}, "CALLER_CHOSE_QUEUE"),
        (FINE | {"not_replayed": "NOT_A_JAVA_CLIENT"}, HELD, False, {"b": True}, "NOT_REPLAYED"),
        (FAILED | {"enforced": False}, HELD, True, {}, "WOULD_HAVE_SPARED"),
        (SLOW | {"enforced": False}, HELD, True, {}, "WOULD_HAVE_SPARED"),
        (FINE | {"enforced": False}, HELD, True, {}, "WOULD_HAVE_COST"),
        (FINE | {"enforced": False}, HELD, False, {"b": True}, "NO_DIFFERENCE"),
    ],
)  # fmt: skip
def test_what_fault_latency_did(
    spark: SparkSession, send: dict[str, Any], isolated: list[str], went_to_isolated: bool, health: dict[str, bool],
    effect: str,
) -> None:  # fmt: skip
    latency, outcome = send.get("latency_ms", 5), send.get("outcome", "SEND_OK")
    rest = {name: value for name, value in send.items() if name not in {"latency_ms", "outcome"}}
    choice = ("c", "p", "g", 1, isolated, ["a", "b", "d"], 0 if went_to_isolated else None)
    found = _calls(spark, [_attempt(1, 1_000, latency, outcome, **rest)], [choice], health)
    assert found[1]["fault_latency"] == effect
    assert found[1]["isolated_brokers"] == ([name for name in isolated if name != "z"] or None)


def test_a_broker_is_bad_when_half_of_its_attempts_are(spark: SparkSession) -> None:
    attempts = [
        _attempt(1, 5_000, outcome=REFUSED),  # a: one of two
        _attempt(2, 5_000),
        _attempt(3, 5_000, 900, broker_name="b"),  # b: one slow of three
        *(_attempt(row, 5_000, broker_name="b") for row in (4, 5)),
        _attempt(6, 5_000, 3, "RemotingTimeoutException", broker_name="d"),  # no time was left: says nothing of d
        _attempt(7, 10_004, 5),  # began before the ten seconds were over
        _attempt(8, 10_005, 5, REFUSED),  # a, the next ten seconds
        _attempt(9, 5_000, 900, "SENT", broker_name="e"),  # one-way: its time says nothing
    ]
    found = broker_health(spark.createDataFrame(attempts, ATTEMPTS), SLOW_MS)
    assert {row["bucket"]: row["is_bad_broker"] for row in found.collect()} == {
        0: {"a": False, "b": False, "e": False},
        1: {"a": True},
    }
