"""Each inference of the second pass in its smallest case, and silent when one of its conditions is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from jobs.fault_latency.fault_items.replay import replay
from jobs.fault_latency.inference.job import detector_rounds, with_inferences
from jobs.fault_latency.inference.middle_retries import middle_brokers
from jobs.fault_latency.inference.removed_items import removes
from jobs.fault_latency.inference.write_order import order_proofs
from jobs.fault_latency.producers.known_routes import known_routes_of
from jobs.fault_latency.producers.rules import policies
from jobs.fault_latency.producers.sends_per_process import process_sends
from jobs.settings.client_profiles import released_profiles
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
    "cluster string, topic string, start_ms bigint, end_ms bigint, broker_name string, perm int,"
    " read_queue_nums int, write_queue_nums int, has_master boolean"
)
OWNER = ("c", "p1", "g", "#1", True)
Stretch = tuple[int, int, str, int]
"""Of a route of topic T: from, until, the brokers, and the write queues of each."""


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


def _told(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by their cluster: each case of a table below is a cluster of its own, so that one plan serves them all."""
    by_cluster: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_cluster[row.cluster].append(row)
    return by_cluster


def _attempts(cluster: str, sends: Iterable[tuple[str, int]]) -> list[tuple[object, ...]]:
    return [
        (cluster, *OWNER[1:], "T", broker, broker, "t0", at_ms, number) for number, (broker, at_ms) in enumerate(sends)
    ]


def _routes(cluster: str, *stretches: Stretch) -> list[tuple[object, ...]]:
    return [
        (cluster, "T", since, until, broker, 6, 2, queues, True)
        for since, until, brokers, queues in stretches
        for broker in brokers
    ]


def _hosts(spark: SparkSession, routes: list[tuple[object, ...]]) -> DataFrame:
    return known_routes_of(spark.createDataFrame(routes, TOPIC_BROKERS))


ALWAYS_ABC: Stretch = (0, 1_000_000, "abc", 2)
ALWAYS_ABCD: Stretch = (0, 1_000_000, "abcd", 2)
A_LEFT = ((0, 90_000, "abc", 2), (90_000, 1_000_000, "bc", 2))

MIDDLE: dict[str, tuple[tuple[Stretch, ...], int | None, list[str]]] = {
    "the third broker was tried in between": ((ALWAYS_ABC,), None, ["b"]),
    "one of two, and nobody knows which": ((ALWAYS_ABCD,), None, []),
    "one of two, of which one was isolated": ((ALWAYS_ABCD,), 70_000, ["d"]),
    "it was isolated, so it was not tried": ((ALWAYS_ABC,), 70_000, []),
    "there is no third broker": (((0, 1_000_000, "ac", 2),), None, []),
    "the client may not know it": (((0, 80_000, "ac", 2), (80_000, 1_000_000, "abc", 2)), None, []),
    "no route yet": (((200_000, 1_000_000, "abc", 2),), None, []),
}
"""Routes, when b was isolated before, and the brokers between a failure at a and one at c."""
BEFORE: dict[str, tuple[str, tuple[int, ...], tuple[tuple[int, int, int], ...], list[int]]] = {
    "the first one isolated it": ("P2", (100_000, 160_000), (), [100_000]),
    "for ten minutes": ("P2", (100_000, 701_000), (), [100_000, 701_000]),
    "a later write cleared it": ("P2", (100_000, 160_000), ((150_000, 5, 0),), [100_000, 160_000]),
    "one before it did not": ("P2", (100_000, 160_000), ((90_000, 5, 0),), [100_000]),
    "the last for ten seconds": ("P5", (100_000, 105_000, 110_001), (), [100_000, 110_001]),
    "where the latest end stays": ("P5", (100_000, 105_000), ((102_000, 5, 0),), [100_000]),
    "another order leaves it isolated": ("P2", (160_000,), ((100_000, 0, 600_000), (100_001, 5, 0)), []),
}
"""Policy, when c failed after a, what was written of b, and when b was in the middle."""
NO_ADDRESS = {"abc": ["b", "c"], "ab": ["b"], "abcd": [], "a": []}
"""Brokers of the route, and those that a failure at a without another address hides."""


@pytest.fixture(scope="module")
def middles(spark: SparkSession) -> dict[str, list[Row]]:
    """Middle brokers of all cases."""
    writes, routes = [], []
    for case, (stretches, isolated_at, _) in MIDDLE.items():
        writes.append(_write("c", 100_000, 0, 600_000, cluster=case, middle_topic="T", middle_after="a"))
        if isolated_at:
            writes.append(_write("b", isolated_at, 500, 60_000, cluster=case))
        routes += _routes(case, *stretches)
    for case, (policy, failures_at, known, _) in BEFORE.items():
        rules = {"cluster": case, "policy": policy, "profile": policy}
        lasts = 600_000 if policy == "P2" else 10_000
        writes += [_write("c", at, 0, lasts, middle_topic="T", middle_after="a", **rules) for at in failures_at]
        writes += [_write("b", at, took, left, **rules) for at, took, left in known]
        routes += _routes(case, ALWAYS_ABC)
    for case in NO_ADDRESS:
        writes.append(_write("a", 100_000, 0, 600_000, cluster=case, middle_topic="T", middle_after="a"))
        routes += _routes(case, (0, 1_000_000, case, 2))
    return _told(middle_brokers(_items(spark, *writes), _hosts(spark, routes), POLICIES).collect())


@pytest.mark.parametrize("case", MIDDLE)
def test_middle_broker(middles: dict[str, list[Row]], case: str) -> None:
    found = middles[case]
    assert [row.broker_name for row in found] == MIDDLE[case][2]
    assert all((row.evidence, row.at_ms, row.not_available_ms) == (RETRY_MIDDLE, 100_000, 600_000) for row in found)


@pytest.mark.parametrize("case", BEFORE)
def test_a_middle_broker_is_isolated_by_the_one_before(middles: dict[str, list[Row]], case: str) -> None:
    policy, _, _, expected = BEFORE[case]
    assert sorted((row.broker_name, row.at_ms) for row in middles[case]) == [("b", at) for at in expected]
    assert all(row.reachable == (policy == "P2") for row in middles[case])


@pytest.mark.parametrize("brokers", NO_ADDRESS)
def test_an_error_without_an_address_hides_the_last_try_too(middles: dict[str, list[Row]], brokers: str) -> None:
    assert sorted(row.broker_name for row in middles[brokers]) == NO_ADDRESS[brokers]


Item = tuple[str, int, int, int]
"""Broker, when it was written, latency and isolation, all in ms."""
ALL_ISOLATED: tuple[Item, ...] = (("a", 60_000, 5, 600_000), ("b", 61_000, 50, 600_000), ("c", 62_000, 90, 600_000))
REMOVES: dict[str, tuple[tuple[Item, ...], list[tuple[str, int]], tuple[Stretch, ...], list[tuple[str, int]]]] = {
    "the pick is gone": (ALL_ISOLATED, [("b", 100_000), ("b", 100_500)], A_LEFT, [("a", 100_000)]),
    "the send went to the pick": (ALL_ISOLATED, [("a", 100_000)], A_LEFT, []),
    "the pick has its queues": (ALL_ISOLATED, [("b", 100_000)], (ALWAYS_ABC,), []),
    "a broker of the route is not isolated": (ALL_ISOLATED[:2], [("b", 100_000)], A_LEFT, []),
    "a millisecond of latency decides nothing": (
        (("a", 60_000, 49, 600_000), *ALL_ISOLATED[1:]),
        [("b", 100_000)],
        A_LEFT,
        [],
    ),
    "of four items the pick is not certain": (
        (*ALL_ISOLATED, ("d", 63_000, 99, 600_000)),
        [("b", 100_000)],
        A_LEFT,
        [],
    ),
    "one is available": ((*ALL_ISOLATED, ("c", 99_000, 3, 0)), [("b", 100_000)], A_LEFT, []),
    "one may be available": ((*ALL_ISOLATED, ("c", 62_001, 95, 0)), [("b", 100_000)], A_LEFT, []),
    "for some time it was not certain": (
        (*ALL_ISOLATED, ("c", 62_001, 95, 0), ("c", 100_200, 90, 600_000)),
        [("b", 100_000), ("b", 100_500)],
        A_LEFT,
        [("a", 100_500)],
    ),
}
"""Items, sends, routes, and what was removed when."""
PERHAPS = {
    "a millisecond of latency decides nothing": [("a", 100_000)],
    "one may be available": [("a", 100_000)],
    "for some time it was not certain": [("a", 100_000)],
}
"""What may have been removed, and from when on it may be gone."""
READ_ONLY = {"4.9.8": ["a"], "V4_9_8": ["a"], "4.9.7": [], "5.1.3": [], None: []}
"""Versions, and what they remove when broker a may no longer be written to."""


@pytest.fixture(scope="module")
def removed(spark: SparkSession) -> dict[str, list[Row]]:
    """What was removed in all cases."""
    writes, sends, routes = [], [], []
    for case, (items, sent, stretches, _) in REMOVES.items():
        writes += [_write(*item, cluster=case) for item in items]
        sends += _attempts(case, sent)
        routes += _routes(case, *stretches)
    for version in READ_ONLY:
        case = str(version)
        writes += [_write(*item, cluster=case, version=version) for item in ALL_ISOLATED]
        sends += _attempts(case, [("b", 200_000)])
        routes += _routes(case, (0, 90_000, "a", 2), (0, 1_000_000, "bc", 2))
        routes.append((case, "T", 90_000, 1_000_000, "a", 4, 2, 2, True))
    attempts = spark.createDataFrame(sends, ATTEMPTS)
    return _told(removes(_items(spark, *writes), attempts, _hosts(spark, routes), POLICIES, _keep).collect())


@pytest.mark.parametrize("case", REMOVES)
def test_removes(removed: dict[str, list[Row]], case: str) -> None:
    gone = [row for row in removed[case] if row.op == "REMOVE"]
    assert [(row.broker_name, row.at_ms) for row in gone] == REMOVES[case][3]
    assert all(row.evidence == REMOVED for row in gone)


@pytest.mark.parametrize("case", REMOVES)
def test_what_may_be_removed_widens_the_band(removed: dict[str, list[Row]], case: str) -> None:
    widened = [row for row in removed[case] if row.op == "UPDATE"]
    assert [(row.broker_name, row.carried_earliest_ms) for row in widened] == PERHAPS.get(case, [])
    assert all((row.evidence, row.carried_latest_ms) == ("LOGGED", row.at_ms + 600_000) for row in widened)


@pytest.mark.parametrize("version", READ_ONLY)
def test_only_4_9_8_removes_for_want_of_permission(removed: dict[str, list[Row]], version: str | None) -> None:
    assert [row.broker_name for row in removed[str(version)]] == READ_ONLY[version]


ISOLATED_THEN_CLEARED: tuple[Item, ...] = (("a", 100_000, 0, 60_000), ("a", 100_001, 5, 0), ("b", 50_000, 5, 0))
CLEARED_THEN_ISOLATED: tuple[Item, ...] = (("a", 100_000, 5, 0), ("a", 100_001, 0, 60_000), ("b", 50_000, 5, 0))
ELSEWHERE = [("b", 100_010 + 10 * number) for number in range(14)]
Order = tuple[tuple[Item, ...], list[tuple[str, int]], list[int]]
ORDERS: dict[str, Order] = {
    "6 sends, 6 queues: all may go elsewhere": (ISOLATED_THEN_CLEARED, ELSEWHERE[:6], []),
    "a was sent to": (ISOLATED_THEN_CLEARED, [("a", 100_005), *ELSEWHERE], []),
    "14 sends, none to a: still isolated": (ISOLATED_THEN_CLEARED, ELSEWHERE, [59_999]),
    "sent to while b was available: cleared": (CLEARED_THEN_ISOLATED, [("a", 100_050)], [0]),
    "the send that cleared it was chosen before": (
        (*CLEARED_THEN_ISOLATED, ("a", 100_050, 5, 0)),
        [("a", 100_050)],
        [0],
    ),
    "another write had cleared it": ((*CLEARED_THEN_ISOLATED, ("a", 100_049, 5, 0)), [("a", 100_050)], []),
    "skipped, as an isolated broker is": (CLEARED_THEN_ISOLATED, [("b", 100_050)], []),
    "b was isolated as well": ((*CLEARED_THEN_ISOLATED[:2], ("b", 90_000, 0, 60_000)), [("a", 100_050)], []),
    "passed over for an isolated one: still isolated": (
        (*ISOLATED_THEN_CLEARED[:2], ("b", 90_000, 0, 60_000)),
        [("b", 100_050)],
        [59_999],
    ),
    "the other one was isolated just as it was chosen": (
        (*ISOLATED_THEN_CLEARED[:2], ("b", 100_049, 0, 60_000)),
        [("b", 100_050)],
        [],
    ),
    "2 ms apart": ((("a", 100_000, 0, 60_000), ("a", 100_002, 5, 0)), ELSEWHERE, []),
    "one thread has an order": ((("a", 100_000, 0, 60_000), ("a", 100_001, 5, 0)), ELSEWHERE, []),
}
"""Items, sends, and for how long a is isolated after all."""
MANY = [("b", 100_010 + 10 * number) for number in range(24)]
FOURS: Stretch = (0, 1_000_000, "abc", 4)
LATE_A: tuple[Stretch, ...] = ((0, 1_000_000, "bc", 4), (90_000, 1_000_000, "a", 4))
LIKELY: dict[str, tuple[list[tuple[str, int]], tuple[Stretch, ...], str, list[int | None]]] = {
    "24 sends: the band is told too": (MANY, (FOURS,), "P2", [None]),
    "12 sends: less than one in ten": (MANY[:12], (FOURS,), "P2", [100_001]),
    "10 sends: not even that": (MANY[:10], (FOURS,), "P2", []),
    "to 4.7.1 retries rename queues": (MANY, (FOURS,), "P1", [100_001]),
    "retries may pass by a broker of two queues": (MANY, (ALWAYS_ABC,), "P2", [100_001]),
    "a came into the route of late": (MANY, LATE_A, "P2", []),
    "the client had sent to it there": ([("a", 95_000), *MANY], LATE_A, "P2", [None]),
    "or by the route before": ([("a", 95_000), *MANY], ((0, 60_000, "a", 4), *LATE_A), "P2", []),
    "more queues elsewhere": (MANY, ((0, 1_000_000, "a", 4), (0, 1_000_000, "bc", 16)), "P2", []),
}
"""Sends after a was perhaps cleared, routes, policy, and the earliest end of what is told after all."""


@pytest.fixture(scope="module")
def proofs(spark: SparkSession) -> dict[str, list[Row]]:
    """What tells another order of writes, in all cases."""
    writes, sends, routes = [], [], []
    for case, (items, sent, _) in ORDERS.items():
        of_one: dict[str, Any] = {"thread": "t"} if case == "one thread has an order" else {}
        writes += [_write(*item, cluster=case, **of_one) for item in items]
        sends += _attempts(case, sent)
        routes += _routes(case, ALWAYS_ABC)
    for case, (sent, stretches, policy, _) in LIKELY.items():
        rules: dict[str, Any] = {"cluster": case, "policy": policy, "profile": policy}
        writes += [_write(*item, **rules) for item in ISOLATED_THEN_CLEARED]
        sends += _attempts(case, sent)
        routes += _routes(case, *stretches)
    attempts = spark.createDataFrame(sends, ATTEMPTS)
    return _told(order_proofs(_items(spark, *writes), attempts, _hosts(spark, routes), POLICIES, _keep).collect())


@pytest.mark.parametrize("case", ORDERS)
def test_order_proofs(proofs: dict[str, list[Row]], case: str) -> None:
    assert [row.not_available_ms for row in proofs[case]] == ORDERS[case][2]
    assert all((row.evidence, row.broker_name, row.at_ms) == (ORDER, "a", 100_001) for row in proofs[case])


@pytest.mark.parametrize("case", LIKELY)
def test_what_is_only_likely_keeps_the_band(proofs: dict[str, list[Row]], case: str) -> None:
    assert [row.carried_earliest_ms for row in proofs[case]] == LIKELY[case][3]
    assert all(row.not_available_ms == 59_999 for row in proofs[case])


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
    first_pass = _items(spark, *(_write(*item) for item in ALL_ISOLATED)).drop("first_position")
    attempts = spark.createDataFrame(
        [],
        (
            f"{SENDS}, attempt int, by_caller boolean, not_replayed string, mode string, cause string,"
            " version_number int, topic string, broker_name string, thread string,"
            " latency_ms bigint, row_hash bigint, version string, profile string, switch_assumed boolean,"
            " dies_at_ms bigint, seq bigint"
        ),
    )
    hosts = known_routes_of(spark.createDataFrame([], TOPIC_BROKERS))
    second = with_inferences(first_pass, attempts, process_sends(attempts), hosts, POLICIES, 1, _keep)
    assert sorted(second.select(*first_pass.columns).collect()) == sorted(first_pass.collect())


def test_every_evidence_is_explained_once() -> None:
    names = [name for name, _ in EVIDENCES]
    assert len(set(names)) == len(names)
    assert all(name == "LOGGED" or name.startswith("INFERRED_") for name in names)
