"""Each inference of the walk in its smallest case, and silent when one of its conditions is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.fault_latency.inference.fault_item import WriteRules
from jobs.fault_latency.inference.middle_brokers import middle_brokers
from jobs.fault_latency.inference.removed_items import removes
from jobs.fault_latency.inference.walk import inferred_in
from jobs.fault_latency.inference.write_order import order_proofs
from tests.given.inference_cases import (
    ALL_ISOLATED,
    ALWAYS_ABC,
    BEFORE,
    CHARGED,
    ISOLATED_THEN_CLEARED,
    LIKELY,
    MANY,
    MIDDLE,
    NO_ADDRESS,
    ORDERS,
    PERHAPS,
    READ_ONLY,
    REMOVES,
    middle_cases,
    order_cases,
    remove_cases,
)
from tests.given.suspicious_processes import Answer, Suspicious, attempts_at, write_to
from udfs.evidence import EVIDENCES, ORDER, REMOVED, RETRY_CHARGED, RETRY_MIDDLE
from udfs.ladder import Ladder
from udfs.policy import Policy

MIDDLES, REMOVED_ITEMS, TIES = dict(middle_cases()), dict(remove_cases()), dict(order_cases())


@pytest.mark.parametrize("case", MIDDLE)
def test_middle_broker(case: str) -> None:
    found = middle_brokers(MIDDLES[case].process())
    assert [each.broker_name for each in found] == MIDDLE[case][2]
    assert all((each.evidence, each.at_ms, each.not_available_ms) == (RETRY_MIDDLE, 100_000, 600_000) for each in found)


def test_a_middle_broker_is_written_as_a_try_of_the_failed_send() -> None:
    found = [each for case in MIDDLE for each in middle_brokers(MIDDLES[case].process())]
    assert {(each.step, each.current_latency_ms, each.cause) for each in found} == {(2, 0, "HIDDEN_RETRY")}
    assert {(each.middle_topic, each.middle_after, each.first_position) for each in found} == {(None, None, None)}


@pytest.mark.parametrize("case", BEFORE)
def test_a_middle_broker_is_isolated_by_the_one_before(case: str) -> None:
    policy, _, _, expected = BEFORE[case]
    found = middle_brokers(MIDDLES[case].process())
    assert sorted((each.broker_name, each.at_ms) for each in found) == [("b", at_ms) for at_ms in expected]
    assert all(each.reachable == (policy == "P2") for each in found)


@pytest.mark.parametrize("case", CHARGED)
def test_a_refused_retry_leaves_its_broker_available_for_the_next(case: str) -> None:
    """`onExceptionImpl` (4.7.1:616): the charge goes to the broker before. Then `selectOneMessageQueue` takes the last
    broker while it is available (4.7.1:68), and from 4.8.0 on the next available one.
    """
    found = middle_brokers(MIDDLES[case].process())
    assert [(each.broker_name, each.at_ms, each.current_latency_ms, each.not_available_ms) for each in found] == [
        (broker_name, 100_000, 3_000, 600_000) for broker_name in CHARGED[case][3]
    ]
    assert all((each.evidence, each.cause, each.step) == (RETRY_CHARGED, "HIDDEN_RETRY", 2) for each in found)


@pytest.mark.parametrize("brokers", NO_ADDRESS)
def test_an_error_without_an_address_hides_the_last_try_too(brokers: str) -> None:
    assert sorted(each.broker_name for each in middle_brokers(MIDDLES[brokers].process())) == NO_ADDRESS[brokers]


@pytest.mark.parametrize("case", REMOVES)
def test_removes(case: str) -> None:
    gone = [each for each in removes(REMOVED_ITEMS[case].process()) if each.op == "REMOVE"]
    assert [(each.broker_name, each.at_ms) for each in gone] == REMOVES[case][3]
    first_in_its_millisecond = {"seq": -1, "step": 0}
    of_no_write = {
        "current_latency_ms": 0, "is_failure": False, "not_available_ms": 0, "carried_until_ms": None,
        "carried_earliest_ms": None, "carried_latest_ms": None, "carried_extensions": 0, "middle_topic": None,
        "middle_after": None, "first_position": None,
    }  # fmt: skip
    expected = {**first_in_its_millisecond, **of_no_write, "cause": "REMOVED", "evidence": REMOVED, "thread": "t0"}
    for each in gone:
        assert {name: getattr(each, name) for name in expected} == expected
        assert (each.started_at_ms, each.reachable) == (each.at_ms, True)  # a new item is reachable


@pytest.mark.parametrize("case", REMOVES)
def test_what_may_be_removed_widens_the_band(case: str) -> None:
    widened = [each for each in removes(REMOVED_ITEMS[case].process()) if each.op == "UPDATE"]
    assert [(each.broker_name, each.carried_earliest_ms) for each in widened] == PERHAPS.get(case, [])
    assert all((each.evidence, each.carried_latest_ms) == ("LOGGED", each.at_ms + 600_000) for each in widened)
    assert all(each.first_position == 1 for each in widened)


@pytest.mark.parametrize("version", READ_ONLY)
def test_only_4_9_8_removes_for_want_of_permission(version: str | None) -> None:
    assert [each.broker_name for each in removes(REMOVED_ITEMS[str(version)].process())] == READ_ONLY[version]


@pytest.mark.parametrize(("earlier", "expected"), [({}, ["a"]), ({"d": 99_999}, []), ({"d": 100_000}, ["a"])])
def test_an_item_from_before_the_stretch_is_available(earlier: dict[str, int], expected: list[str]) -> None:
    """Then not every item is isolated, and the fallback picks none; one written at the choice is not there yet."""
    only_b = (Answer(0, 90_000, "ab", 2), Answer(90_000, 1_000_000, "b", 2))
    writes = [write_to(*item) for item in ALL_ISOLATED[:2]]
    process = Suspicious(writes, attempts_at([("b", 100_000)]), only_b, earlier).process()
    assert [each.broker_name for each in removes(process)] == expected


@pytest.mark.parametrize("case", ORDERS)
def test_order_proofs(case: str) -> None:
    found = order_proofs(TIES[case].process())
    assert [each.not_available_ms for each in found] == ORDERS[case][2]
    assert all((each.evidence, each.broker_name, each.at_ms) == (ORDER, "a", 100_001) for each in found)
    assert all(each.first_position == 2 for each in found)


def test_the_order_rests_on_middle_brokers() -> None:
    """No line says that b is isolated; as it is, the send that went there shows that a is isolated after all."""
    lost = write_to("c", 90_000, 0, 600_000, middle_topic="T", middle_after="a")
    tied = [write_to(*item) for item in ISOLATED_THEN_CLEARED[:2]]
    process = Suspicious([lost, *tied], attempts_at([("b", 100_050)]), (ALWAYS_ABC,)).process()
    assert [(each.broker_name, each.evidence, each.not_available_ms) for each in inferred_in(process)] == [
        ("b", RETRY_MIDDLE, 600_000),
        ("a", ORDER, 59_999),
    ]


@pytest.mark.parametrize("case", LIKELY)
def test_what_is_only_likely_keeps_the_band(case: str) -> None:
    found = order_proofs(TIES[case].process())
    assert [each.carried_earliest_ms for each in found] == LIKELY[case][3]
    assert all(each.not_available_ms == 59_999 for each in found)


@pytest.mark.parametrize(
    ("latency_ms", "expected"),
    [
        pytest.param(5, [("UPDATE", 2, 150_000, 160_000)], id="perhaps"),
        pytest.param(7, [("UPDATE", 2, None, None), ("REMOVE", None, None, None)], id="for sure"),
    ],
)
def test_a_removed_item_rests_on_the_order(latency_ms: int, expected: list[tuple[object, ...]]) -> None:
    """The order says that a is isolated after all: then every item is, and the one of lowest latency is dropped.

    What is widened comes once, with the order that was inferred before.
    """
    others = [write_to("b", 90_000, latency_ms, 600_000), write_to("c", 91_000, 90, 600_000)]
    writes = [*(write_to(*item) for item in ISOLATED_THEN_CLEARED[:2]), *others]
    answers = (Answer(0, 140_000, "abc", 4), Answer(140_000, 1_000_000, "bc", 4))
    found = inferred_in(Suspicious(writes, attempts_at([*MANY, ("b", 150_000)]), answers).process())
    assert [(each.op, each.first_position, each.carried_earliest_ms, each.carried_latest_ms) for each in found] == (
        expected
    )
    assert [each.not_available_ms for each in found if each.op == "UPDATE"] == [59_999]


@given(order=st.permutations([*TIES["14 sends, none to a: still isolated"].first_pass]))
def test_rows_may_come_in_any_order(order: list[object]) -> None:
    case = TIES["14 sends, none to a: still isolated"]
    shuffled = Suspicious(order, [*reversed(case.attempts)], case.answers)  # type: ignore[arg-type]
    assert [each.not_available_ms for each in inferred_in(shuffled.process())] == [59_999]


def test_every_evidence_is_explained_once() -> None:
    names = [name for name, _ in EVIDENCES]
    assert len(set(names)) == len(names)
    assert all(name in ("LOGGED", "RECORDED") or name.startswith("INFERRED_") for name in names)


@pytest.mark.parametrize(
    ("broker", "at_ms", "expected"),
    [
        ("b", 1_000, False),  # isolated up to then
        ("b", 1_001, True),
        ("d", 99_999, False),  # first written then, before the stretch
        ("d", 100_000, True),
        ("x", 100_000, False),  # never written
    ],
)
def test_a_broker_is_surely_available(broker: str, at_ms: int, expected: bool) -> None:  # noqa: FBT001 - a case's value
    answers = (Answer(0, 1_000_000, "bdx", 2),)
    process = Suspicious([write_to("b", 0, 3_000, 1_000)], [], answers, {"d": 99_999}).process()
    assert process.is_surely_available(broker, at_ms) == expected


def test_a_write_counts_by_the_rules_of_its_policy() -> None:
    ladder = Ladder((50,), (1_000,))
    last = Policy("LAST", "P2", ladder, 3_000, "LAST_WRITE", reachable_gates=False, not_exist_isolates=True)
    most = Policy("MOST", "P4", ladder, 3_000, "MAX", reachable_gates=False, not_exist_isolates=False)
    gated = Policy("GATED", "P3", ladder, 3_000, "MAX", reachable_gates=True, not_exist_isolates=False)
    assert WriteRules.of(iter((last, most, gated)), 7) == WriteRules(
        frozenset({"MOST", "GATED"}), frozenset({"GATED"}), 7
    )
