"""Each inference of the second pass in its smallest case, and silent when one of its conditions is missing."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency.hosts import topic_hosts
from jobs.fault_latency.inferences import detector_rounds, with_inferences
from jobs.fault_latency.middle_brokers import middle_brokers
from jobs.fault_latency.order_proofs import order_proofs
from jobs.fault_latency.producers import policies
from jobs.fault_latency.removes import removes
from jobs.fault_latency.replay import replay
from jobs.profiles import released_profiles
from udfs.evidence import DETECTOR, EVIDENCES, ORDER, REMOVED, RETRY_MIDDLE

POLICIES = policies(released_profiles(), {})
WRITES = {
    "cluster": "string",
    "client_id": "string",
    "producer_group": "string",
    "process": "string",
    "enforced": "boolean",
    "broker_name": "string",
    "at_ms": "bigint",
    "step": "int",
    "thread": "string",
    "current_latency_ms": "bigint",
    "is_failure": "boolean",
    "reachable": "boolean",
    "cause": "string",
    "evidence": "string",
    "middle_topic": "string",
    "middle_after": "string",
    "seq": "bigint",
    "started_at_ms": "bigint",
    "invoke_id": "bigint",
    "attempt": "int",
    "row_hash": "bigint",
    "policy": "string",
    "profile": "string",
    "version": "string",
    "dies_at_ms": "bigint",
    "op": "string",
    "not_available_ms": "bigint",
    "carried_until_ms": "bigint",
    "carried_earliest_ms": "bigint",
    "carried_latest_ms": "bigint",
    "carried_extensions": "int",
}
ATTEMPTS = (
    "cluster string, client_id string, producer_group string, process string, enforced boolean, topic string,"
    " went_to string, addressed_broker string, thread string, chosen_at_ms bigint, row_hash bigint"
)
SENDS = (
    "cluster string, client_id string, producer_group string, process string, enforced boolean, policy string,"
    " detector boolean, outcome string, result_broker_name string, error_broker string, started_at_ms bigint,"
    " ended_at_ms bigint"
)
TOPIC_BROKERS = (
    "cluster string, topic string, valid_from_ms bigint, valid_until_ms bigint, broker_name string, perm int,"
    " read_queue_nums int, write_queue_nums int, has_master boolean"
)
OWNER = ("c", "p1", "g", "#1", True)


def _write(broker: str, at_ms: int, latency_ms: int, not_available_ms: int, **other: object) -> tuple[object, ...]:
    write: dict[str, object] = dict.fromkeys(WRITES)
    write |= dict(zip(WRITES, OWNER, strict=False))
    write |= {
        "broker_name": broker,
        "at_ms": at_ms,
        "step": 4,
        "thread": f"t{at_ms}",
        "current_latency_ms": latency_ms,
        "is_failure": not_available_ms > 0,
        "reachable": True,
        "cause": "LATENCY",
        "evidence": "LOGGED",
        "seq": at_ms,
        "row_hash": at_ms,
        "policy": "P2",
        "profile": "P2",
        "version": "4.9.4",
        "op": "UPDATE",
        "not_available_ms": not_available_ms,
        "carried_extensions": 0,
    }
    return tuple((write | other).values())


def _keep(_: str, frame: DataFrame) -> DataFrame:
    return frame.localCheckpoint()


def _items(spark: SparkSession, *writes: tuple[object, ...]) -> DataFrame:
    schema = ", ".join(f"{name} {kind}" for name, kind in WRITES.items())
    replayed = replay(spark.createDataFrame(list(writes), schema), POLICIES, 1)
    return replayed.withColumn("first_position", replayed["position"])


def _attempts(spark: SparkSession, *sends: tuple[str, int], threads: int = 1) -> DataFrame:
    rows = [
        (*OWNER, "T", broker, broker, f"t{number % threads}", at_ms, number)
        for number, (broker, at_ms) in enumerate(sends)
    ]
    return spark.createDataFrame(rows, ATTEMPTS)


def _hosts(spark: SparkSession, *stretches: tuple[int, int, str, int]) -> DataFrame:
    """Of topic T: from, until, the brokers, and the write queues of each."""
    rows = [
        ("c", "T", since, until, broker, 6, 2, queues, True)
        for since, until, brokers, queues in stretches
        for broker in brokers
    ]
    return topic_hosts(spark.createDataFrame(rows, TOPIC_BROKERS))


ALWAYS_ABC = (0, 1_000_000, "abc", 2)
A_LEFT = ((0, 90_000, "abc", 2), (90_000, 1_000_000, "bc", 2))


@pytest.mark.parametrize(
    ("hosts", "middle_isolated_at", "expected"),
    [
        pytest.param((ALWAYS_ABC,), None, ["b"], id="the third broker was tried in between"),
        pytest.param(((0, 1_000_000, "abcd", 2),), None, [], id="one of two, and nobody knows which"),
        pytest.param(((0, 1_000_000, "abcd", 2),), 70_000, ["d"], id="one of two, of which one was isolated"),
        pytest.param((ALWAYS_ABC,), 70_000, [], id="it was isolated, so it was not tried"),
        pytest.param(((0, 1_000_000, "ac", 2),), None, [], id="there is no third broker"),
        pytest.param(((0, 80_000, "ac", 2), (80_000, 1_000_000, "abc", 2)), None, [], id="the client may not know it"),
        pytest.param(((200_000, 1_000_000, "abc", 2),), None, [], id="no route yet"),
    ],
)
def test_middle_broker(
    spark: SparkSession,
    hosts: tuple[tuple[int, int, str, int], ...],
    middle_isolated_at: int | None,
    expected: list[str],
) -> None:
    before = [_write("b", middle_isolated_at, 500, 60_000)] if middle_isolated_at else []
    failure = _write("c", 100_000, 0, 600_000, middle_topic="T", middle_after="a")
    found = middle_brokers(_items(spark, failure, *before), _hosts(spark, *hosts), POLICIES).collect()
    assert [row.broker_name for row in found] == expected
    assert all((row.evidence, row.at_ms, row.not_available_ms) == (RETRY_MIDDLE, 100_000, 600_000) for row in found)


@pytest.mark.parametrize(
    ("policy", "failures_at", "known", "expected"),
    [
        pytest.param("P2", (100_000, 160_000), (), [100_000], id="the first one isolated it"),
        pytest.param("P2", (100_000, 701_000), (), [100_000, 701_000], id="for ten minutes"),
        pytest.param("P2", (100_000, 160_000), ((150_000, 5, 0),), [100_000, 160_000], id="a later write cleared it"),
        pytest.param("P2", (100_000, 160_000), ((90_000, 5, 0),), [100_000], id="one before it did not"),
        pytest.param("P5", (100_000, 105_000, 110_001), (), [100_000, 110_001], id="the last for ten seconds"),
        pytest.param("P5", (100_000, 105_000), ((102_000, 5, 0),), [100_000], id="where the latest end stays"),
        pytest.param(
            "P2", (160_000,), ((100_000, 0, 600_000), (100_001, 5, 0)), [], id="another order leaves it isolated"
        ),
    ],
)
def test_a_middle_broker_is_isolated_by_the_one_before(
    spark: SparkSession,
    policy: str,
    failures_at: tuple[int, ...],
    known: tuple[tuple[int, int, int], ...],
    expected: list[int],
) -> None:
    rules = {"policy": policy, "profile": policy}
    lasts = 600_000 if policy == "P2" else 10_000
    failures = [_write("c", at, 0, lasts, middle_topic="T", middle_after="a", **rules) for at in failures_at]
    before = [_write("b", at, took, left, **rules) for at, took, left in known]
    hosts = _hosts(spark, (0, 1_000_000, "abc", 2))
    found = middle_brokers(_items(spark, *failures, *before), hosts, POLICIES).collect()
    assert sorted((row.broker_name, row.at_ms) for row in found) == [("b", at) for at in expected]
    assert all(row.reachable == (policy == "P2") for row in found)


@pytest.mark.parametrize(
    ("brokers", "expected"),
    [("abc", ["b", "c"]), ("ab", ["b"]), ("abcd", []), ("a", [])],
)
def test_an_error_without_an_address_hides_the_last_try_too(
    spark: SparkSession, brokers: str, expected: list[str]
) -> None:
    failure = _write("a", 100_000, 0, 600_000, middle_topic="T", middle_after="a")
    hosts = _hosts(spark, (0, 1_000_000, brokers, 2))
    found = middle_brokers(_items(spark, failure), hosts, POLICIES).collect()
    assert sorted(row.broker_name for row in found) == expected


ALL_ISOLATED = (_write("a", 60_000, 5, 600_000), _write("b", 61_000, 50, 600_000), _write("c", 62_000, 90, 600_000))


@pytest.mark.parametrize(
    ("writes", "sends", "hosts", "expected"),
    [
        pytest.param(ALL_ISOLATED, [("b", 100_000), ("b", 100_500)], A_LEFT, [("a", 100_000)], id="the pick is gone"),
        pytest.param(ALL_ISOLATED, [("a", 100_000)], A_LEFT, [], id="the send went to the pick"),
        pytest.param(ALL_ISOLATED, [("b", 100_000)], (ALWAYS_ABC,), [], id="the pick has its queues"),
        pytest.param(ALL_ISOLATED[:2], [("b", 100_000)], A_LEFT, [], id="a broker of the route is not isolated"),
        pytest.param(
            (_write("a", 60_000, 49, 600_000), *ALL_ISOLATED[1:]),
            [("b", 100_000)],
            A_LEFT,
            [],
            id="a millisecond of latency decides nothing",
        ),
        pytest.param(
            (*ALL_ISOLATED, _write("d", 63_000, 99, 600_000)),
            [("b", 100_000)],
            A_LEFT,
            [],
            id="of four items the pick is not certain",
        ),
        pytest.param((*ALL_ISOLATED, _write("c", 99_000, 3, 0)), [("b", 100_000)], A_LEFT, [], id="one is available"),
    ],
)
def test_removes(
    spark: SparkSession,
    writes: tuple[tuple[object, ...], ...],
    sends: list[tuple[str, int]],
    hosts: tuple[tuple[int, int, str, int], ...],
    expected: list[tuple[str, int]],
) -> None:
    asked = _items(spark, *writes), _attempts(spark, *sends), _hosts(spark, *hosts)
    found = removes(*asked, POLICIES, _keep).collect()
    assert [(row.broker_name, row.at_ms) for row in found] == expected
    assert all((row.op, row.evidence) == ("REMOVE", REMOVED) for row in found)


@pytest.mark.parametrize(
    ("version", "expected"),
    [("4.9.8", ["a"]), ("V4_9_8", ["a"]), ("4.9.7", []), ("5.1.3", []), (None, [])],
)
def test_only_4_9_8_removes_for_want_of_permission(
    spark: SparkSession, version: str | None, expected: list[str]
) -> None:
    at = list(WRITES).index("version")
    items = _items(spark, *((*write[:at], version, *write[at + 1 :]) for write in ALL_ISOLATED))
    read_only = [("c", "T", 90_000, 1_000_000, "a", 4, 2, 2, True)]
    routes = [("c", "T", 0, 90_000 if broker == "a" else 1_000_000, broker, 6, 2, 2, True) for broker in "abc"]
    hosts = topic_hosts(spark.createDataFrame(routes + read_only, TOPIC_BROKERS))
    found = removes(items, _attempts(spark, ("b", 200_000)), hosts, POLICIES, _keep).collect()
    assert [row.broker_name for row in found] == expected


ISOLATED_THEN_CLEARED = (_write("a", 100_000, 0, 60_000), _write("a", 100_001, 5, 0), _write("b", 50_000, 5, 0))
CLEARED_THEN_ISOLATED = (_write("a", 100_000, 5, 0), _write("a", 100_001, 0, 60_000), _write("b", 50_000, 5, 0))
STARVED = [("b", 100_010 + 10 * number) for number in range(7)]


@pytest.mark.parametrize(
    ("writes", "sends", "threads", "expected"),
    [
        pytest.param(ISOLATED_THEN_CLEARED, STARVED, 1, [59_999], id="7 sends, 6 queues, none to a: still isolated"),
        pytest.param(ISOLATED_THEN_CLEARED, STARVED[:6], 1, [], id="6 sends may all go elsewhere"),
        pytest.param(ISOLATED_THEN_CLEARED, STARVED, 2, [], id="each of two threads has its own round"),
        pytest.param(ISOLATED_THEN_CLEARED, [("a", 100_005), *STARVED], 1, [], id="a was sent to"),
        pytest.param(CLEARED_THEN_ISOLATED, [("a", 100_050)], 1, [0], id="sent to while b was available: cleared"),
        pytest.param(
            (*CLEARED_THEN_ISOLATED, _write("a", 100_050, 5, 0)),
            [("a", 100_050)],
            1,
            [0],
            id="the send that cleared it was chosen before",
        ),
        pytest.param(
            (*CLEARED_THEN_ISOLATED, _write("a", 100_049, 5, 0)),
            [("a", 100_050)],
            1,
            [],
            id="another write had cleared it",
        ),
        pytest.param(CLEARED_THEN_ISOLATED, [("b", 100_050)], 1, [], id="skipped, as an isolated broker is"),
        pytest.param(
            (*CLEARED_THEN_ISOLATED[:2], _write("b", 90_000, 0, 60_000)),
            [("a", 100_050)],
            1,
            [],
            id="b was isolated as well",
        ),
        pytest.param(
            (*ISOLATED_THEN_CLEARED[:2], _write("b", 90_000, 0, 60_000)),
            [("b", 100_050)],
            1,
            [59_999],
            id="passed over for an isolated one: still isolated",
        ),
        pytest.param(
            (*ISOLATED_THEN_CLEARED[:2], _write("b", 100_049, 0, 60_000)),
            [("b", 100_050)],
            1,
            [],
            id="the other one was isolated just as it was chosen",
        ),
        pytest.param((_write("a", 100_000, 0, 60_000), _write("a", 100_002, 5, 0)), STARVED, 1, [], id="2 ms apart"),
        pytest.param(
            (_write("a", 100_000, 0, 60_000, thread="t"), _write("a", 100_001, 5, 0, thread="t")),
            STARVED,
            1,
            [],
            id="one thread has an order",
        ),
    ],
)
def test_order_proofs(
    spark: SparkSession,
    writes: tuple[tuple[object, ...], ...],
    sends: list[tuple[str, int]],
    threads: int,
    expected: list[int],
) -> None:
    hosts = _hosts(spark, (0, 1_000_000, "abc", 2))
    items, attempts = _items(spark, *writes), _attempts(spark, *sends, threads=threads)
    found = order_proofs(items, attempts, hosts, POLICIES, _keep).collect()
    assert [row.not_available_ms for row in found] == expected
    assert all((row.evidence, row.broker_name, row.at_ms) == (ORDER, "a", 100_001) for row in found)


@pytest.mark.parametrize(
    ("detector", "policy", "answered", "next_at_ms", "expected"),
    [
        pytest.param(True, "P4", (100_500, 100_600), None, [103_600], id="the round after an answer"),
        pytest.param(True, "P4", (99_999, 100_600), None, [], id="sent before the flag fell"),
        pytest.param(True, "P4", (100_500, 100_600), 103_600, [], id="the next write came first"),
        pytest.param(False, "P4", (100_500, 100_600), None, [], id="no detector"),
        pytest.param(True, "P5", (100_500, 100_600), None, [], id="the flag does not count"),
    ],
)
def test_detector(
    spark: SparkSession,
    detector: bool,  # noqa: FBT001 (a case of the table above)
    policy: str,
    answered: tuple[int, int],
    next_at_ms: int | None,
    expected: list[int],
) -> None:
    rules = {"policy": policy, "profile": policy}
    later = [_write("a", next_at_ms, 5, 0, **rules)] if next_at_ms else []
    items = _items(spark, _write("a", 100_000, 0, 10_000, reachable=False, **rules), *later)
    sends = [
        (*OWNER, policy, detector, "RemotingConnectException", None, "a", 99_000, 100_000),
        ("c", "p2", "g", "#1", True, "P5", False, "SEND_OK", "a", "a", *answered),
        ("c", "p2", "g", "#1", True, "P5", False, "SENT", "a", "a", 100_100, 100_101),
        ("c", "p2", "g", "#1", True, "P5", False, "SEND_OK", "b", "b", 100_100, 100_101),
    ]
    found = detector_rounds(items, spark.createDataFrame(sends, SENDS), POLICIES).collect()
    assert [row.at_ms for row in found] == expected
    assert all((row.evidence, row.reachable, row.not_available_ms) == (DETECTOR, True, 0) for row in found)


@pytest.mark.parametrize(
    ("cause", "other", "expected"),
    [
        pytest.param("MQBrokerException", "RemotingTimeoutException", [103_000], id="the refusal itself"),
        pytest.param("RemotingTimeoutException", "MQBrokerException", [103_600], id="a refusal to another"),
        pytest.param("RemotingTimeoutException", "RemotingTimeoutException", [], id="silence"),
    ],
)
def test_a_refusal_is_an_answer(spark: SparkSession, cause: str, other: str, expected: list[int]) -> None:
    rules = {"policy": "P4", "profile": "P4", "cause": cause}
    items = _items(spark, _write("a", 100_000, 0, 10_000, reachable=False, **rules))
    sends = [
        (*OWNER, "P4", True, cause, None, "a", 99_000, 100_000),
        ("c", "p2", "g", "#1", True, "P5", False, other, None, "a", 100_500, 100_600),
    ]
    found = detector_rounds(items, spark.createDataFrame(sends, SENDS), POLICIES).collect()
    assert [row.at_ms for row in found] == expected


def test_nothing_inferred_leaves_the_first_pass(spark: SparkSession) -> None:
    first_pass = _items(spark, *ALL_ISOLATED).drop("first_position")
    attempts = spark.createDataFrame(
        [],
        (
            f"{SENDS}, attempt int, by_caller boolean, not_replayed string, mode string, cause string,"
            " version_number int, topic string, broker_name string, thread string,"
            " latency_ms bigint, row_hash bigint"
        ),
    )
    hosts = topic_hosts(spark.createDataFrame([], TOPIC_BROKERS))
    second = with_inferences(first_pass, attempts, hosts, POLICIES, 1, _keep)
    assert sorted(second.select(*first_pass.columns).collect()) == sorted(first_pass.collect())


def test_every_evidence_is_explained_once() -> None:
    names = [name for name, _ in EVIDENCES]
    assert len(set(names)) == len(names)
    assert all(name == "LOGGED" or name.startswith("INFERRED_") for name in names)
