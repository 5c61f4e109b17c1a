"""What the fallback removed, and the middle of three tries: both sides of each edge of time, latency and route."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.fault_latency.inference.fault_item import Write
from jobs.fault_latency.inference.middle_brokers import middle_brokers
from jobs.fault_latency.inference.removed_items import removes
from tests.given.inference_cases import A_LEFT, ALL_ISOLATED, ALWAYS_ABC
from tests.given.suspicious_processes import Answer, Suspicious, attempts_at, write_to
from udfs.evidence import LOGGED, RETRY_CHARGED

A, B, C = (write_to(*item) for item in ALL_ISOLATED)
"""Isolated to 660 s, 661 s and 662 s, with latencies of 5, 50 and 90 ms: a is the fallback's pick."""
REMOVED, PERHAPS = [("REMOVE", "a", 100_000)], [("UPDATE", "a", 100_000)]


def dropped(
    writes: list[Write], sends: list[tuple[str, int]], answers: tuple[Answer, ...] = A_LEFT
) -> list[tuple[str, str, int | None]]:
    """What is removed when, and what may be gone from when on."""
    found = removes(Suspicious(writes, attempts_at(sends), answers).process())
    return [
        (each.op, each.broker_name, each.at_ms if each.op == "REMOVE" else each.carried_earliest_ms) for each in found
    ]


def test_each_of_two_brokers_may_be_the_pick() -> None:
    """Their latencies are a millisecond apart, and neither has a queue any more."""
    alike = [write_to("a", 60_000, 49, 600_000), B, C]
    only_c = (Answer(0, 90_000, "abc", 2), Answer(90_000, 1_000_000, "c", 2))
    assert dropped(alike, [("c", 100_000)], only_c) == [("UPDATE", "a", 100_000), ("UPDATE", "b", 100_000)]


def test_a_broker_of_higher_latency_than_the_pick_stays() -> None:
    only_c = (Answer(0, 90_000, "abc", 2), Answer(90_000, 1_000_000, "c", 2))
    assert dropped([A, B, C], [("c", 100_000)], only_c) == REMOVED


def test_a_pick_is_looked_for_beyond_the_broker_that_was_sent_to() -> None:
    b_is_pick = [write_to("a", 60_000, 50, 600_000), write_to("b", 61_000, 5, 600_000), C]
    b_left = (Answer(0, 90_000, "abc", 2), Answer(90_000, 1_000_000, "ac", 2))
    assert dropped(b_is_pick, [("a", 100_000)], b_left) == [("REMOVE", "b", 100_000)]


@pytest.mark.parametrize("topic", ["U", None])
def test_of_a_topic_without_a_known_route_nothing_is_removed(topic: str | None) -> None:
    (of_t,) = attempts_at([("b", 100_000)])
    assert removes(Suspicious([A, B, C], [replace(of_t, topic=topic)], A_LEFT).process()) == []


@pytest.mark.parametrize(("captured_ms", "expected"), [(115_000, REMOVED), (115_001, [])])
def test_a_route_may_be_known_15_s_before_its_first_capture(captured_ms: int, expected: list[object]) -> None:
    assert dropped([A, B, C], [("b", 100_000)], (Answer(captured_ms, 1_000_000, "bc", 2),)) == expected


@pytest.mark.parametrize(("at_ms", "expected"), [(99_999, [("REMOVE", "a", 99_999)]), (100_000, [])])
def test_a_broker_is_available_when_its_isolation_ends(at_ms: int, expected: list[object]) -> None:
    """`isAvailable`: now - startTimestamp >= 0. Then selection finds c, and the fallback picks none."""
    assert dropped([A, B, write_to("c", 62_000, 90, 38_000)], [("b", at_ms)]) == expected


@pytest.mark.parametrize(
    ("at_ms", "expected"), [(99_999, [("REMOVE", "a", 99_999)]), (100_000, [("UPDATE", "a", 100_000)])]
)
def test_a_broker_may_be_available_when_the_shortest_of_its_isolations_ends(at_ms: int, expected: list[object]) -> None:
    """Of two writes within a millisecond either may have come last."""
    tied = [write_to("c", 62_000, 90, 38_000), write_to("c", 62_001, 95, 600_000)]
    assert dropped([A, B, *tied], [("b", at_ms)]) == expected


def test_a_broker_that_was_perhaps_cleared_may_be_available() -> None:
    cleared_or_not = [write_to("c", 62_000, 90, 0), write_to("c", 62_001, 95, 600_000)]
    assert dropped([A, B, *cleared_or_not], [("b", 100_000)]) == PERHAPS


@pytest.mark.parametrize(("left_ms", "expected"), [(60_000, REMOVED), (60_001, [])])
def test_a_client_may_know_a_broker_40_s_after_it_left(left_ms: int, expected: list[object]) -> None:
    """Broker d has no fault item, so it is available: selection finds it, and the fallback picks none."""
    d_left = (Answer(0, left_ms, "abcd", 2), Answer(left_ms, 1_000_000, "bc", 2))
    assert dropped([A, B, C], [("b", 100_000)], d_left) == expected


@pytest.mark.parametrize(("came_ms", "expected"), [(115_000, []), (115_001, REMOVED)])
def test_a_client_may_know_a_broker_15_s_before_its_capture(came_ms: int, expected: list[object]) -> None:
    d_came = (Answer(0, came_ms, "bc", 2), Answer(came_ms, 1_000_000, "bcd", 2))
    assert dropped([A, B, C], [("b", 100_000)], d_came) == expected


@pytest.mark.parametrize(("back_ms", "expected"), [(60_000, []), (60_001, REMOVED)])
def test_a_route_without_the_pick_may_be_in_use_40_s_after_the_next(back_ms: int, expected: list[object]) -> None:
    was_away = (Answer(0, 50_000, "abc", 2), Answer(50_000, back_ms, "bc", 2), Answer(back_ms, 1_000_000, "abc", 2))
    assert dropped([A, B, C], [("b", 100_000)], was_away) == expected


@pytest.mark.parametrize("version", ["4.9.8", "5.1.3"])
def test_the_fallback_finds_the_queues_of_a_broker_without_a_master(version: str) -> None:
    """`TopicPublishInfo` (4.9.8:96-105): it looks at the queues of the route, and at their permission."""
    masterless = (Answer(0, 90_000, "a", 2), Answer(90_000, 1_000_000, "a", 2, 6, False), Answer(0, 1_000_000, "bc", 2))
    assert dropped([replace(each, version=version) for each in (A, B, C)], [("b", 200_000)], masterless) == []


def test_a_broker_without_a_master_is_not_selected() -> None:
    """Broker d has no fault item, and no master either: every broker of the topic is isolated."""
    masterless = (*A_LEFT, Answer(0, 1_000_000, "d", 2, 6, False))
    assert dropped([A, B, C], [("b", 100_000)], masterless) == REMOVED
    assert tried(lost("c", 100_000, "a"), answers=(ALWAYS_ABC, Answer(0, 1_000_000, "d", 2, 6, False))) == (
        [("b", 100_000)]
    )


@pytest.mark.parametrize(("second_ms", "expected"), [(60_001, PERHAPS), (60_002, REMOVED)])
def test_a_latency_counts_until_a_write_that_is_surely_later(second_ms: int, expected: list[object]) -> None:
    twice = [write_to("a", 60_000, 95, 600_000), write_to("a", second_ms, 5, 600_000)]
    assert dropped([*twice, B, C], [("b", 100_000)]) == expected


def test_the_latency_of_an_item_from_the_day_before_is_not_known() -> None:
    """Its row has the latency that opened the isolation, not the one written last."""
    ends: dict[str, int] = dict.fromkeys(("carried_until_ms", "carried_earliest_ms", "carried_latest_ms"), 660_000)
    carried = write_to("a", 0, 5, 0, op="CARRIED", seq=-1, row_hash=None, thread=None, **ends)
    assert dropped([carried, B, C], [("b", 100_000)]) == [("CARRIED", "a", 100_000)]


def test_a_removal_says_nothing_of_the_write_before_it() -> None:
    failed = replace(
        A, reachable=False, carried_until_ms=660_000, carried_earliest_ms=650_000, carried_latest_ms=670_000,
        carried_extensions=2, middle_topic="T", middle_after="b",
    )  # fmt: skip
    (gone,) = removes(Suspicious([failed, B, C], attempts_at([("b", 100_000)]), A_LEFT).process())
    assert (gone.op, gone.at_ms, gone.reachable) == ("REMOVE", 100_000, True)
    assert (gone.carried_until_ms, gone.carried_earliest_ms, gone.carried_latest_ms) == (None, None, None)
    assert (gone.carried_extensions, gone.middle_topic, gone.middle_after) == (0, None, None)


def lost(broker_name: str, at_ms: int, first: str, latency_ms: int = 0, **other: object) -> Write:
    """An async send that failed at this broker after three tries, of which the first went to another."""
    return write_to(broker_name, at_ms, latency_ms, 600_000, middle_topic="T", middle_after=first, **other)


def tried(*writes: Write, answers: tuple[Answer, ...] = (ALWAYS_ABC,)) -> list[tuple[str, int]]:
    """The middle brokers, and when they were tried."""
    return [(each.broker_name, each.at_ms) for each in middle_brokers(Suspicious(writes, [], answers).process())]


@pytest.mark.parametrize(("captured_ms", "expected"), [(100_000, [("b", 100_000)]), (100_001, [])])
def test_a_middle_broker_is_of_a_route_captured_by_then(captured_ms: int, expected: list[object]) -> None:
    assert tried(lost("c", 100_000, "a"), answers=(Answer(captured_ms, 1_000_000, "abc", 2),)) == expected


@pytest.mark.parametrize(("left_ms", "expected"), [(115_000, []), (115_001, [("b", 100_000)])])
def test_a_middle_broker_is_of_each_route_that_the_client_may_have_known(left_ms: int, expected: list[object]) -> None:
    """It may have learnt 15 s before the capture that b is gone."""
    answers = (Answer(0, left_ms, "abc", 2), Answer(left_ms, 1_000_000, "ac", 2))
    assert tried(lost("c", 100_000, "a"), answers=answers) == expected


def test_of_a_topic_without_a_known_route_no_broker_is_the_middle_one() -> None:
    assert tried(replace(lost("c", 100_000, "a"), middle_topic="U")) == []


def test_a_write_that_hides_no_try_does_not_end_the_search() -> None:
    assert tried(write_to("c", 50_000, 5, 0), lost("c", 100_000, "a")) == [("b", 100_000)]


@pytest.mark.parametrize(("evidence", "profile", "expected"), [(LOGGED, "P2", 0), (RETRY_CHARGED, "P1", 3_000)])
def test_a_middle_broker_took_no_time_or_is_charged(evidence: str, profile: str, expected: int) -> None:
    """`onExceptionImpl` (4.7.1:616): `updateFaultItem(brokerName, 3000, true)`, of each try but the last."""
    failure = lost("a", 100_000, "c", 3_000, evidence=evidence, profile=profile)
    assert [each.current_latency_ms for each in middle_brokers(Suspicious([failure], [], (ALWAYS_ABC,)).process())] == (
        [expected]
    )


def test_of_two_tries_in_one_millisecond_the_first_row_is_the_first() -> None:
    """It isolated the broker, so the other send did not try it."""
    failures = [lost("a", 100_000, "c", row_hash=1), lost("c", 100_000, "a", row_hash=0)]
    assert [each.row_hash for each in middle_brokers(Suspicious(failures, [], (ALWAYS_ABC,)).process())] == [0]


@pytest.mark.parametrize(
    ("cleared_ms", "expected"), [(100_000, [100_000]), (100_001, [100_000]), (100_002, [100_000, 160_000])]
)
def test_a_write_within_a_millisecond_does_not_surely_clear_a_middle_broker(
    cleared_ms: int, expected: list[int]
) -> None:
    failures = [lost("c", 100_000, "a"), lost("c", 160_000, "a")]
    assert tried(*failures, write_to("b", cleared_ms, 5, 0)) == [("b", at_ms) for at_ms in expected]


@pytest.mark.parametrize(("second_ms", "expected"), [(700_000, [100_000]), (700_001, [100_000, 700_001])])
def test_a_broker_whose_isolation_ends_as_the_send_fails_was_perhaps_not_tried(
    second_ms: int, expected: list[int]
) -> None:
    """It was chosen before the send failed."""
    assert tried(lost("c", 100_000, "a"), lost("c", second_ms, "a")) == [("b", at_ms) for at_ms in expected]
