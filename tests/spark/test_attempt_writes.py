"""What one async attempt writes, release by release: which broker is charged and when, and what other lines show."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.producers import attempts
from jobs.fault_latency.producers.sends_per_process import broker_names
from jobs.kinds import Evidence
from tests.given.attempt_that_writes import writes_of

REFUSED, SPENT = "RemotingConnectException", "RemotingTooMuchRequestException"
ADDRESSED = (
    "row_hash int, cluster string, broker_addr string, broker_name string, mode string, outcome string,"
    " effective_outcome string, error string, one_line_per string"
)
NAMES = "cluster string, broker_addr string, name string, spellings array<string>"


def _writes(spark: SparkSession, version: int, **other: Any) -> list[dict[str, Any]]:
    written = writes_of(spark, [{"version_number": version} | other])
    return [row.asDict() for row in written.orderBy("at_ms", "step").collect()]


@pytest.mark.parametrize(
    ("version", "at_ms"), [(40908, 1_005), (50104, 1_005), (50200, 1_005), (50300, 1_020), (50303, 1_020)]
)
def test_a_broker_that_refused_at_submit_is_isolated_in_the_call_up_to_5_2(
    spark: SparkSession, version: int, at_ms: int
) -> None:
    """5.3.0 is the first to connect beside the call (`NettyRemotingClient.invokeAsync`)."""
    found = _writes(spark, version, result_broker_name="b", error_broker="b")
    assert [(row["broker_name"], row["at_ms"]) for row in found if row["is_failure"]] == [("a", at_ms)]


@pytest.mark.parametrize(("latency_ms", "not_available_ms"), [(549, 0), (550, 30_000)])
def test_an_answer_at_a_floor_of_the_ladder_isolates(
    spark: SparkSession, latency_ms: int, not_available_ms: int
) -> None:
    (written,) = _writes(spark, 40908, mode="SYNC", latency_ms=latency_ms, ended_at_ms=1_000 + latency_ms)
    assert (written["current_latency_ms"], written["not_available_ms"]) == (latency_ms, not_available_ms)


def test_a_refused_retry_is_charged_to_the_broker_tried_before_it(spark: SparkSession) -> None:
    """Up to 4.9.2 (`MQClientAPIImpl.onExceptionImpl` 617-620)."""
    found = _writes(spark, 40902, outcome=REFUSED, error_broker="c")
    (charged,) = (row for row in found if row["evidence"] == "INFERRED_RETRY_CHARGED")
    assert (charged["broker_name"], charged["current_latency_ms"]) == ("a", 3_000)
    assert "c" not in {row["broker_name"] for row in found}


def test_the_port_two_above_the_vip_port_is_the_same_broker(spark: SparkSession) -> None:
    """Up to 4.4.0 a send goes to 10909 by default, and its retries to 10911. An address that nobody has is unknown."""
    error = "connect to <10.0.0.2:10911> failed"
    sends = [
        (1, "c", "10.0.0.1:10909", "a", "ASYNC", REFUSED, REFUSED, error),
        (2, "c", "10.0.0.2:10909", "b", "SYNC", "SEND_OK", "SEND_OK", None),
        (
            3,
            "c",
            "10.0.0.3:10909",
            "a-of-another-name",
            "ASYNC",
            REFUSED,
            REFUSED,
            "connect to <10.0.0.9:10911> failed",
        ),
    ]
    frame = spark.createDataFrame([(*send, None) for send in sends], ADDRESSED)
    names = broker_names(frame.withColumn("sends", F.lit(1)))
    found = attempts.with_addressed_broker(frame, names).collect()
    assert {row["row_hash"]: row["error_broker"] for row in found} == {1: "b", 2: "b", 3: None}


def test_a_retry_at_an_address_that_nobody_has_charges_the_first_broker_alone(spark: SparkSession) -> None:
    found = _writes(spark, 40908, outcome=REFUSED, addressed_broker="a", error_broker=None)
    assert {(each["broker_name"], each["evidence"]) for each in found if each["is_failure"]} == {
        ("a", Evidence.RETRY_FIRST)
    }


def test_the_error_of_a_line_that_is_one_try_is_of_its_own_broker(spark: SparkSession) -> None:
    """Whatever address it names, so that no other try is hidden behind the line."""
    error = "invokeAsync call the addr[10.0.0.2:10911] timeout"
    one = ("c", "10.0.0.1:10911", "a", "ASYNC", "RemotingTimeoutException", "RemotingTimeoutException", error)
    sends = [
        (1, *one, None),
        (2, *one, "TRY"),
        (3, "c", "10.0.0.2:10911", "b", "SYNC", "SEND_OK", "SEND_OK", None, None),
    ]
    frame = spark.createDataFrame(sends, ADDRESSED)
    names = broker_names(frame.withColumn("sends", F.lit(1)))
    found = attempts.with_addressed_broker(frame, names).collect()
    assert {row["row_hash"]: row["error_broker"] for row in found} == {1: "b", 2: "a", 3: "b"}
    for row in found:
        described = {name: row[name] for name in ("outcome", "addressed_broker", "error_broker", "one_line_per")}
        charged = {each["broker_name"] for each in _writes(spark, 40908, **described) if each["is_failure"]}
        assert charged == {1: {"a", "b"}, 2: {"a"}, 3: set()}[row["row_hash"]]


def test_an_address_has_the_name_that_most_attempts_give_it(spark: SparkSession) -> None:
    counted = [("c", "a:1", "often", 3), ("c", "a:1", "mostly", 4), ("c", "A:1", "often", 2), ("d", "a:1", "here", 1)]
    frame = spark.createDataFrame(
        [*counted, ("c", None, "b", 9)], "cluster string, broker_addr string, broker_name string, sends int"
    )
    found = {(*row[:3], *sorted(row["spellings"])) for row in broker_names(frame).collect()}
    assert found == {("c", "a:1", "often", "A:1", "a:1"), ("d", "a:1", "here", "a:1")}


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
        "cluster string": "c", "client_id string": "p", "producer_group string": "g", "process string": "p",
        "error string": None, "effective_outcome string": REFUSED, "one_line_per string": None,
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
    names = spark.createDataFrame([], NAMES)
    found = attempts.marked_lines(frame, names).where("is_stale_line").collect()
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
        "p",
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
        ("c", "p", "g", "p", address, "a", None, "ASYNC", outcome, version, ended - 5, ended - 4, ended, 5, 8, number)
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


# An async send from a to b: submitted within 1 ms at 1,001, answered at 5,000. What else of a failed, and when it
# became known that the first try had failed.
Line = dict[str, object]
SENT: Line = {
    "cluster string": "c", "client_id string": "p", "producer_group string": "g", "process string": "A",
    "broker_addr string": "10.0.0.1:1", "broker_name string": "a", "result_broker_name string": "b",
    "mode string": "ASYNC", "outcome string": "SEND_OK", "error string": None,
    "one_line_per string": None, "version_number int": 40908, "started_at_ms bigint": 1_000,
    "submitted_at_ms bigint": 1_001, "ended_at_ms bigint": 5_000, "latency_ms bigint": 4_000,
    "invoke_id bigint": None, "attempt int": 1, "seq bigint": 1, "row_hash bigint": 1,
}  # fmt: skip
TO_B: Line = {
    "error string": "invokeAsync call the addr[10.0.0.2:1] timeout",
    "outcome string": "RemotingTimeoutException",
    "result_broker_name string": None,
}


def _failed(ended_at_ms: int, **other: object) -> Line:
    """A sync attempt at a that failed."""
    own: Line = {"mode string": "SYNC", "outcome string": "RemotingTimeoutException", "result_broker_name string": None,
                 "submitted_at_ms bigint": None, "ended_at_ms bigint": ended_at_ms}  # fmt: skip
    return own | {f"{name} string": value for name, value in other.items()}


FailedThere = tuple[Line, list[Line], int | None]
"""What is other with the send, the other attempts, and when its first try is known to have failed."""
FAILED_THERE: dict[str, FailedThere] = {
    "an attempt at its broker failed meanwhile": ({}, [_failed(3_000)], 3_000),
    "the first of three": ({}, [_failed(3_000), _failed(2_000), _failed(4_000)], 2_000),
    "the first after the submit call": ({}, [_failed(900), _failed(2_000)], 2_000),
    "before the submit call": ({}, [_failed(1_000)], None),
    "as the submit call returned": ({}, [_failed(1_001)], 1_001),
    "as it ended": ({}, [_failed(5_000)], 5_000),
    "after it ended": ({}, [_failed(5_001)], None),
    "no other attempt": ({}, [], None),
    "an attempt there was answered": ({}, [_failed(3_000, outcome="SEND_OK")], None),
    "the broker answered an attempt with an error": ({}, [_failed(3_000, outcome="MQBrokerException")], None),
    "another process": ({}, [_failed(3_000, process="B")], None),
    "another client": ({}, [_failed(3_000, client_id="q")], None),
    "another group": ({}, [_failed(3_000, producer_group="h")], None),
    "another broker": ({}, [_failed(3_000, broker_name="b", broker_addr="10.0.0.2:1")], None),
    "the broker by its address": ({}, [_failed(3_000, broker_name="new")], 3_000),
    "the broker that an error names": (
        {},
        [
            _failed(
                3_000, mode="ASYNC", broker_name="b", broker_addr="10.0.0.2:1", error="connect to <10.0.0.1:1> failed"
            )
        ],
        3_000,
    ),
    "it failed at another": (TO_B, [_failed(3_000)], 3_000),
    "it failed at another, and its own failure is not the first broker's": (TO_B, [], None),
    "answered by its own broker": ({"result_broker_name string": "a"}, [_failed(3_000)], None),
    "who answered is not logged": ({"result_broker_name string": None}, [_failed(3_000)], None),
    "it failed at its own broker": (
        {"outcome string": "RemotingTimeoutException", "result_broker_name string": None},
        [_failed(3_000)],
        None,
    ),
    "a line that is one try hides none": ({"one_line_per string": "TRY"}, [_failed(3_000)], None),
    "submitted within 2 ms: refused": ({"submitted_at_ms bigint": 1_002}, [_failed(3_000)], None),
    "answered within 20 ms: refused": ({"ended_at_ms bigint": 1_021}, [_failed(1_010)], None),
    "answered within 21 ms": ({"ended_at_ms bigint": 1_022}, [_failed(1_010)], 1_010),
    "the submit call is not known": ({"submitted_at_ms bigint": None}, [_failed(3_000)], None),
    "a sync send": ({"mode string": "SYNC"}, [_failed(3_000)], None),
}


@pytest.fixture(scope="module")
def failed_there(spark: SparkSession) -> dict[str, dict[int, int]]:
    """Each case in a cluster of its own: its lines by their number, the send is 0."""
    rows = [
        SENT | line | {"cluster string": case, "row_hash bigint": 100 * number + place}
        for number, (case, (send, others, _)) in enumerate(FAILED_THERE.items())
        for place, line in enumerate((send, *others))
    ]
    hosts = {"10.0.0.1:1": "a", "10.0.0.2:1": "b"}
    addresses = [(case, address, name, [address]) for case in FAILED_THERE for address, name in hosts.items()]
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], ", ".join(SENT))
    frame = frame.withColumn("effective_outcome", F.col("outcome"))
    names = spark.createDataFrame(addresses, NAMES)
    cases = list(FAILED_THERE)
    found: dict[str, dict[int, int]] = {case: {} for case in cases}
    for row in attempts.marked_lines(frame, names).where("broker_failed_ms IS NOT NULL").collect():
        number, place = divmod(row["row_hash"], 100)
        found[cases[number]][place] = row["broker_failed_ms"]
    return found


@pytest.mark.parametrize("case", FAILED_THERE)
def test_a_first_try_failed_when_another_attempt_at_its_broker_did(
    failed_there: dict[str, dict[int, int]], case: str
) -> None:
    """A sync time-out closes the channel, which fails what is in flight on it (`invokeSync` 4.9.8:393)."""
    failed_ms = FAILED_THERE[case][2]
    assert failed_there[case] == ({0: failed_ms} if failed_ms else {})
