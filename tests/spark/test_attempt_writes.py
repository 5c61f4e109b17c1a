"""What one async attempt writes, release by release: which broker is charged, when, and whether a try is hidden."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.updates import updates
from jobs.fault_latency.producers import attempts
from tests.given.attempt_that_writes import ATTEMPT, POLICIES

REFUSED, SPENT = "RemotingConnectException", "RemotingTooMuchRequestException"


def _writes(spark: SparkSession, version: int, **other: Any) -> list[dict[str, Any]]:
    values = {name.split()[0]: value for name, value in ATTEMPT.items()} | {"version_number": version} | other
    frame = spark.createDataFrame([tuple(values.values())], ", ".join(ATTEMPT))
    return [row.asDict() for row in updates(frame, POLICIES, infer=True).orderBy("at_ms", "step").collect()]


@pytest.mark.parametrize(
    ("version", "at_ms"), [(40908, 1_005), (50104, 1_005), (50200, 1_005), (50300, 1_020), (50303, 1_020)]
)
def test_a_broker_that_refused_at_submit_is_isolated_in_the_call_up_to_5_2(
    spark: SparkSession, version: int, at_ms: int
) -> None:
    """5.3.0 is the first to connect beside the call (`NettyRemotingClient.invokeAsync`)."""
    found = _writes(spark, version, result_broker_name="b", error_broker="b")
    assert [(row["broker_name"], row["at_ms"]) for row in found if row["is_failure"]] == [("a", at_ms)]


@pytest.mark.parametrize(
    ("version", "outcome", "latency_ms", "hides"),
    [
        (40902, SPENT, 4_000, False),
        (40903, SPENT, 4_000, True),
        (50200, SPENT, 4_000, True),
        (50300, SPENT, 4_000, False),
        (40908, REFUSED, 4_000, True),
        (40908, REFUSED, 1_600, True),
        (40908, REFUSED, 1_000, True),
        (40908, REFUSED, 999, False),
        (40908, "RemotingTimeoutException", 4_000, False),
    ],
)
def test_a_middle_try_is_hidden_where_no_time_was_left_at_the_last(
    spark: SparkSession, version: int, outcome: str, latency_ms: int, *, hides: bool
) -> None:
    found = _writes(
        spark, version, outcome=outcome, error_broker="c", latency_ms=latency_ms, ended_at_ms=1_000 + latency_ms
    )
    (last,) = (row for row in found if row["evidence"] == "INFERRED_RETRY_TEXT")
    assert (last["broker_name"], last["middle_topic"], last["middle_after"]) == (
        "c",
        "T" if hides else None,
        "a" if hides else None,
    )


@pytest.mark.parametrize(("latency_ms", "not_available_ms"), [(549, 0), (550, 30_000)])
def test_an_answer_at_a_floor_of_the_ladder_isolates(
    spark: SparkSession, latency_ms: int, not_available_ms: int
) -> None:
    (written,) = _writes(spark, 40908, mode="SYNC", latency_ms=latency_ms, ended_at_ms=1_000 + latency_ms)
    assert (written["current_latency_ms"], written["not_available_ms"]) == (latency_ms, not_available_ms)


def test_a_refused_retry_is_charged_to_the_broker_tried_before_it(spark: SparkSession) -> None:
    """Up to 4.9.2. The one between is charged too, which may be the last one itself (`middle_brokers`)."""
    found = _writes(spark, 40902, outcome=REFUSED, error_broker="c")
    (charged,) = (row for row in found if row["evidence"] == "INFERRED_RETRY_CHARGED")
    assert (charged["broker_name"], charged["current_latency_ms"]) == ("a", 3_000)
    assert (charged["middle_topic"], charged["middle_after"]) == ("T", "c")
    assert "c" not in {row["broker_name"] for row in found}


def test_the_port_two_above_the_vip_port_is_the_same_broker(spark: SparkSession) -> None:
    """Up to 4.4.0 a send goes to 10909 by default, and its retries to 10911."""
    error = "connect to <10.0.0.2:10911> failed"
    sends = [
        (1, "c", "10.0.0.1:10909", "a", "ASYNC", REFUSED, None, error),
        (2, "c", "10.0.0.2:10909", "b", "SYNC", "SEND_OK", None, None),
        (3, "c", "10.0.0.3:10909", "a-of-another-name", "ASYNC", REFUSED, None, "connect to <10.0.0.9:10911> failed"),
    ]
    columns = ("row_hash", "cluster", "broker_addr", "broker_name", "mode", "outcome", "cause", "error")
    frame = spark.createDataFrame(
        sends, ", ".join(f"{name} {'int' if name == 'row_hash' else 'string'}" for name in columns)
    )
    names = attempts.broker_names(frame.withColumn("sends", F.lit(1)))
    found = attempts.with_addressed_broker(frame, names).collect()
    assert {row["row_hash"]: row["error_broker"] for row in found} == {1: "b", 2: "b", 3: "a-of-another-name"}


def test_an_address_has_the_name_that_most_attempts_give_it(spark: SparkSession) -> None:
    counted = [("c", "a:1", "often", 3), ("c", "a:1", "mostly", 4), ("c", "a:1", "often", 2), ("d", "a:1", "here", 1)]
    frame = spark.createDataFrame(
        [*counted, ("c", None, "b", 9)], "cluster string, broker_addr string, broker_name string, sends int"
    )
    assert {tuple(row) for row in attempts.broker_names(frame).collect()} == {
        ("c", "a:1", "often"),
        ("d", "a:1", "here"),
    }


@pytest.mark.parametrize(
    ("version", "other", "stale"),
    [
        pytest.param(40903, {}, [2], id="the hook fires again with the exception of the last try"),
        pytest.param(40902, {}, [], id="4.9.2 retries after the submit call"),
        pytest.param(40903, {"submitted_at_ms bigint": 1_000}, [], id="the submit call returned"),
        pytest.param(40903, {"outcome string": "SEND_OK"}, [], id="an answer"),
        pytest.param(40903, {"mode string": "SYNC"}, [], id="a sync send"),
        pytest.param(40903, {"invoke_id bigint": None}, [], id="which send it was is not logged"),
    ],
)
def test_the_second_line_of_a_refused_send_is_stale(
    spark: SparkSession, version: int, other: dict[str, object], stale: list[int]
) -> None:
    """4.9.3 retries inside the submit call. Three lines: two of one send, one of another."""
    base: dict[str, object] = {
        "cluster string": "c", "client_id string": "p", "producer_group string": "g", "process string": "#1",
        "broker_addr string": None, "broker_name string": "a", "result_broker_name string": None,
        "mode string": "ASYNC", "outcome string": REFUSED, "version_number int": version,
        "started_at_ms bigint": 900, "submitted_at_ms bigint": None, "ended_at_ms bigint": 1_000,
        "latency_ms bigint": 100, "attempt int": 1,
    }  # fmt: skip
    rows = [
        base | {"row_hash bigint": row_hash, "seq bigint": row_hash, "invoke_id bigint": invoke_id} | other
        for row_hash, invoke_id in [(1, 7), (2, 7), (3, 8)]
    ]
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], ", ".join(rows[0]))
    found = attempts.marked_lines(frame).where("is_stale_line").collect()
    assert [row["row_hash"] for row in found] == stale


@pytest.mark.parametrize(
    ("version", "submitted_at_ms", "before", "late"),
    [
        pytest.param(40908, 1_030, [], True, id="the first attempt there connects"),
        pytest.param(40908, 1_010, [], False, id="within 10 ms nothing was awaited"),
        pytest.param(40908, 1_011, [], True, id="a millisecond more"),
        pytest.param(50104, 1_030, [], True, id="up to 5.1.4"),
        pytest.param(50200, 1_030, [], False, id="5.2.0 starts its clock before"),
        pytest.param(40908, 1_030, [("a:1", 900, "SEND_OK")], False, id="one was answered: the channel was in use"),
        pytest.param(40908, 1_030, [("a:1", 900, "SEND_OK"), ("a:1", 950, REFUSED)], True, id="the last one was not"),
        pytest.param(40908, 1_030, [("b:1", 900, "SEND_OK")], True, id="at another address"),
        pytest.param(40908, 1_030, [("a:1", 1_005, "SEND_OK")], True, id="answered after this one had begun"),
        pytest.param(40908, 1_030, [("a:1", 1_000, "SEND_OK")], False, id="in the millisecond in which it began"),
    ],
)
def test_a_slow_submit_call_connected_unless_the_channel_was_in_use(
    spark: SparkSession,
    version: int,
    submitted_at_ms: int,
    before: list[tuple[str, int, str]],
    late: bool,  # noqa: FBT001 (a case of the table above)
) -> None:
    """4.9.8:549: `invokeAsync` connects, then makes the `ResponseFuture` whose clock the callback reads."""
    asked = (
        "c",
        "p",
        "g",
        "#1",
        "a:1",
        "a",
        None,
        "ASYNC",
        "SEND_OK",
        version,
        1_000,
        submitted_at_ms,
        1_050,
        50,
        9,
        0,
    )
    others = [
        ("c", "p", "g", "#1", address, "a", None, "ASYNC", outcome, version, ended - 5, ended - 4, ended, 5, 8, number)
        for number, (address, ended, outcome) in enumerate(before, 1)
    ]
    columns = (
        "cluster string, client_id string, producer_group string, process string, broker_addr string,"
        " broker_name string, result_broker_name string, mode string, outcome string, version_number int,"
        " started_at_ms bigint, submitted_at_ms bigint, ended_at_ms bigint, latency_ms bigint, seq bigint,"
        " row_hash bigint"
    )
    frame = spark.createDataFrame([asked, *others], columns)
    found = attempts._late_connects(frame).collect()
    assert [(row["row_hash"], row["connected_late"]) for row in found] == ([(0, True)] if late else [])
