"""Writes to broker a that ran within a millisecond, and what sends to brokers a, b and c show of their order.

Broker a was left available or isolated by the write that the log puts last; where the sends refute that, until when it
was isolated instead. Both sides of each edge: the client's clock may be 1 ms ahead of the log's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from jobs.fault_latency.inference.fault_item import Write
from jobs.fault_latency.inference.producer_process import Attempt, ProducerProcess
from jobs.fault_latency.inference.tied_writes import End, ties
from jobs.fault_latency.inference.write_order import order_proofs
from tests.given.inference_cases import ALWAYS_ABC, LATE_A
from tests.given.suspicious_processes import Answer, Suspicious, attempts_at, route_of, write_to

ALWAYS = 0, 1_000_000
Routes = Sequence[Answer]
Sends = Sequence[tuple[str, int]]


def write(at_ms: int, until_ms: int, thread: int = 0, **other: object) -> Write:
    """One write to broker a, by a thread of its own."""
    lasts_ms = until_ms - at_ms
    return write_to("a", at_ms, 0, lasts_ms, **({"seq": thread, "thread": f"{at_ms}-{thread}"} | other))


def tied(*ends_ms: int, **other: object) -> list[Write]:
    """Writes of millisecond 100,000 in the log's order: until when each isolates broker a."""
    return [write(100_000, until_ms, thread, **other) for thread, until_ms in enumerate(ends_ms)]


CLEARED, ISOLATED = tied(160_000, 100_000), tied(100_000, 160_000)
"""As the log has it; the other order leaves broker a isolated, or available."""
B_ISOLATED, B_AVAILABLE = write_to("b", 90_000, 0, 60_000), write_to("b", 50_000, 5, 0)


def process_of(writes: Sequence[Write], attempts: Sequence[Attempt], **routes: Routes) -> ProducerProcess:
    """A process, and routes by topic; without any, topic T has two queues on each of a, b and c."""
    case = Suspicious(writes, attempts, (ALWAYS_ABC,))
    knowledge = case.process().knowledge
    by_topic = {("c", topic): route_of(answers) for topic, answers in routes.items()}
    return ProducerProcess(case.first_pass, attempts, replace(knowledge, routes=by_topic or knowledge.routes))


def proved(writes: Sequence[Write], attempts: Sequence[Attempt], **routes: Routes) -> list[int]:
    """Until when broker a is isolated after all."""
    return [each.at_ms + each.not_available_ms for each in order_proofs(process_of(writes, attempts, **routes))]


def to_b(number: int, first_ms: int = 100_001) -> list[Attempt]:
    """So many sends to broker b, one each millisecond."""
    return attempts_at([("b", first_ms + each) for each in range(number)])


# A correction


@pytest.mark.parametrize(
    ("sends", "own_queues", "others", "band"),
    [
        (1, 99, 1, (100_000, 160_000)),  # a chance of one in a hundred, and no less
        (2, 99, 1, (None, None)),
        (24, 2, 4, (100_000, 160_000)),  # fewer queues than a send has choices
        (24, 3, 6, (None, None)),
    ],
)
def test_what_is_likely_keeps_the_band_of_all_orders(
    sends: int, own_queues: int, others: int, band: tuple[int | None, int | None]
) -> None:
    route = (Answer(*ALWAYS, "a", own_queues), Answer(*ALWAYS, "b", others))
    (found,) = order_proofs(process_of(CLEARED, to_b(sends), T=route))
    assert (found.not_available_ms, (found.carried_earliest_ms, found.carried_latest_ms)) == (60_000, band)


@pytest.mark.parametrize(
    ("writes", "send", "cause"),
    [
        ([*CLEARED, B_ISOLATED], ("b", 100_050), "RemotingTimeoutException"),
        ([*ISOLATED, B_AVAILABLE], ("a", 100_050), "LATENCY"),
    ],
)
def test_a_correction_has_the_cause_of_the_write_that_came_last_and_is_sure(
    writes: list[Write], send: tuple[str, int], cause: str
) -> None:
    """A send that went where it would not have gone leaves nothing to chance."""
    writes = [replace(each, cause="RemotingTimeoutException") if each.not_available_ms else each for each in writes]
    (found,) = order_proofs(process_of(writes, attempts_at([send])))
    assert (found.cause, found.carried_earliest_ms, found.carried_latest_ms) == (cause, None, None)


# Sends that passed the broker by


@pytest.mark.parametrize(("sends", "expected"), [(1, []), (2, [160_000])])
def test_a_chance_of_one_in_ten_refutes_nothing(sends: int, expected: list[int]) -> None:
    """Of ten queues one is not a's: it is chosen once in ten times, and less often twice."""
    route = (Answer(*ALWAYS, "a", 9), Answer(*ALWAYS, "b", 1))
    assert proved(CLEARED, to_b(sends), T=route) == expected


@pytest.mark.parametrize(
    ("ends_ms", "attempts", "expected"),
    [
        ((160_000, 100_050), to_b(7, 100_050), []),  # the first may still have met the isolation
        ((160_000, 100_050), to_b(7, 100_051), [160_000]),
        ((100_000, 160_000, 100_050), to_b(7, 100_051), [160_000]),  # none that is shorter than the log's
        ((160_000, 100_057, 100_050), to_b(7, 100_051), [100_057]),
        ((160_000, 100_057, 100_050), to_b(14, 100_051), [160_000]),
    ],
)
def test_only_sends_after_an_end_refute_it(ends_ms: list[int], attempts: list[Attempt], expected: list[int]) -> None:
    """Of six queues a has two: seven sends pass it by in less than one case in ten, six do not."""
    assert proved(tied(*ends_ms), attempts) == expected


def test_each_topic_has_a_round_of_its_own() -> None:
    """One send of U, of which a has one queue of a hundred, says next to nothing, and makes those of T say no less."""
    of_u = [replace(each, topic="U") for each in to_b(1)]
    routes = {"T": (ALWAYS_ABC,), "U": (Answer(*ALWAYS, "a", 1), Answer(*ALWAYS, "b", 99))}
    assert proved(CLEARED, [*to_b(7), *of_u], **routes) == [160_000]


@pytest.mark.parametrize(
    ("changed_ms", "before", "after", "first_ms", "expected"),
    [
        (80_000, 1, 4, 119_999, []),  # what was replaced may be in use for 40 s
        (80_000, 1, 4, 120_000, [160_000]),
        (125_010, 4, 1, 110_000, []),  # what comes next may be in use 15 s before its capture
        (125_011, 4, 1, 110_000, [160_000]),
    ],
)
def test_the_fewest_queues_of_the_routes_that_may_be_in_use_count(
    changed_ms: int, before: int, after: int, first_ms: int, expected: list[int]
) -> None:
    """Eleven sends pass by four queues of twelve in less than one case in ten, one queue more often."""
    route = [
        Answer(*time, *queues)
        for time, own in (((0, changed_ms), before), ((changed_ms, 1_000_000), after))
        for queues in (("a", own), ("bc", 4))
    ]
    assert proved(CLEARED, to_b(11, first_ms), T=route) == expected


def test_a_route_that_the_client_had_before_its_capture_says_how_many_queues() -> None:
    """Captured after all sends: that the client had it shows a send to broker a before the tie."""
    route = (Answer(0, 105_000, "b", 4), Answer(105_000, 1_000_000, "ab", 4))
    assert proved(CLEARED, to_b(7), T=route) == []
    assert proved(CLEARED, [*attempts_at([("a", 95_000)]), *to_b(7)], T=route) == [160_000]


# A send that went to an isolated broker instead


def test_a_topic_without_a_route_shows_nothing() -> None:
    of_none = [replace(each, topic=None) for each in to_b(1)]
    assert proved([*CLEARED, B_ISOLATED], of_none) == []


@pytest.mark.parametrize(
    ("sends", "route", "expected"),
    [
        ([("b", 100_049)], [Answer(100_050, 1_000_000, "abc", 2)], []),  # no route captured yet
        ([("b", 100_050)], [Answer(100_050, 1_000_000, "abc", 2)], [160_000]),
        # a leaves the route, and the client may know up to 15 s before the capture
        ([("b", 100_050)], [Answer(0, 115_050, "abc", 2), Answer(115_050, 1_000_000, "bc", 2)], []),
        ([("b", 100_050)], [Answer(0, 115_051, "abc", 2), Answer(115_051, 1_000_000, "bc", 2)], [160_000]),
        # a came into the route 10 s ago
        ([("b", 100_050)], LATE_A, []),
        ([("b", 95_000), ("b", 100_050)], LATE_A, []),
        ([("a", 95_000), ("b", 100_050)], LATE_A, [160_000]),
        ([("a", 100_000), ("b", 100_050)], LATE_A, [160_000]),  # as it was written, the client knew it
    ],
)
def test_a_broker_is_passed_over_by_who_knows_it(sends: Sends, route: Routes, expected: list[int]) -> None:
    assert proved([*CLEARED, B_ISOLATED], attempts_at(sends), T=route) == expected


@pytest.mark.parametrize(
    ("sends", "next_of_a", "expected"),
    [
        ([("b", 100_050)], 100_050, []),  # which may have isolated it before the choice
        ([("b", 100_050)], 100_051, [160_000]),
        ([("b", 100_050), ("a", 100_050)], None, []),  # a was chosen as well, perhaps before
        ([("b", 100_050), ("a", 100_051)], None, [160_000]),
    ],
)
def test_a_broker_is_passed_over_before_it_is_sent_or_written_to(
    sends: Sends, next_of_a: int | None, expected: list[int]
) -> None:
    again = [] if next_of_a is None else [write(next_of_a, 170_000)]
    assert proved([*CLEARED, B_ISOLATED, *again], attempts_at(sends)) == expected


@pytest.mark.parametrize(
    ("of_b", "expected"),
    [
        ([("b", 90_000, 0, 10_050)], []),  # available from 100,050 on
        ([("b", 90_000, 0, 10_051)], [160_000]),
        ([("b", 100_049, 0, 60_000)], []),
        ([("b", 100_048, 0, 60_000)], [160_000]),
        ([("b", 90_000, 0, 60_000), ("b", 100_051, 5, 0)], []),
        ([("b", 90_000, 0, 60_000), ("b", 100_052, 5, 0)], [160_000]),
    ],
)
def test_the_broker_of_the_send_was_isolated_just_before_and_at_the_choice(
    of_b: list[tuple[str, int, int, int]], expected: list[int]
) -> None:
    assert proved([*CLEARED, *(write_to(*each) for each in of_b)], attempts_at([("b", 100_050)])) == expected


def test_of_a_renamed_queue_nobody_knows_which_broker_was_chosen() -> None:
    renamed = [replace(each, addressed_broker="c") for each in to_b(1, 100_050)]
    assert proved([*CLEARED, B_ISOLATED, write_to("c", 90_000, 0, 60_000)], renamed) == []


@pytest.mark.parametrize(
    ("ends_ms", "sends_at", "expected"),
    [
        ((160_000, 100_050), [100_040], []),  # a was isolated then, in any order
        ((160_000, 100_050), [100_050], []),  # it may have been still
        ((160_000, 100_050), [100_051], [160_000]),
        ((160_000, 100_050), [100_040, 100_060], [160_000]),
        ((160_000, 100_050, 100_000), [100_049], [100_050]),
        ((160_000, 100_050, 100_000), [100_050], [160_000]),  # a would have been available again
    ],
)
def test_a_broker_that_is_passed_over_is_isolated_for_longer(
    ends_ms: list[int], sends_at: list[int], expected: list[int]
) -> None:
    sends = attempts_at([("b", at_ms) for at_ms in sends_at])
    assert proved([*tied(*ends_ms), B_ISOLATED], sends) == expected


# A send that went to the broker while another was available


@pytest.mark.parametrize(
    ("ends_ms", "sent_at", "expected"),
    [
        ((100_000, 160_000), 100_000, []),  # perhaps chosen before it was written
        ((100_000, 160_000), 100_001, [100_000]),
        ((100_000, 160_000, 100_050), 100_049, [100_000]),
        ((100_000, 160_000, 100_050), 100_050, []),  # available again, as the log has it
        ((100_000, 100_050, 160_000), 100_049, [100_000]),
        ((100_000, 100_050, 160_000), 100_050, [100_050]),
        ((130_000, 160_000), 100_050, []),  # no order explains it
    ],
)
def test_a_broker_that_is_sent_to_was_available_by_then(ends_ms: list[int], sent_at: int, expected: list[int]) -> None:
    assert proved([*tied(*ends_ms), B_AVAILABLE], attempts_at([("a", sent_at)])) == expected


@pytest.mark.parametrize(
    ("since_ms", "until_ms", "isolated_at", "expected"),
    [
        (60_051, 1_000_000, 200_000, []),  # the client may use the answer before
        (60_050, 1_000_000, 200_000, [100_000]),
        (0, 100_050, 200_000, []),  # it may use the next answer already
        (0, 1_000_000, 100_050, []),  # perhaps before the choice
        (0, 1_000_000, 100_051, [100_000]),
    ],
)
def test_the_other_broker_was_known_and_available(
    since_ms: int, until_ms: int, isolated_at: int, expected: list[int]
) -> None:
    route = (Answer(*ALWAYS, "ac", 2), Answer(since_ms, until_ms, "b", 2))
    writes = [*ISOLATED, B_AVAILABLE, write_to("b", isolated_at, 0, 60_000)]
    assert proved(writes, attempts_at([("a", 100_050)]), T=route) == expected


@pytest.mark.parametrize(
    ("left_ms", "band"),
    [
        (100_051, (100_000, 160_000)),  # the client may have known by then that b is gone
        (115_050, (100_000, 160_000)),
        (115_051, (None, None)),
    ],
)
def test_another_broker_that_leaves_soon_afterwards_makes_it_likely(
    left_ms: int, band: tuple[int | None, int | None]
) -> None:
    route = (Answer(*ALWAYS, "ac", 2), Answer(0, left_ms, "b", 2))
    (found,) = order_proofs(process_of([*ISOLATED, B_AVAILABLE], attempts_at([("a", 100_050)]), T=route))
    assert (found.not_available_ms, (found.carried_earliest_ms, found.carried_latest_ms)) == (0, band)


def test_the_other_broker_is_one_of_the_same_topic() -> None:
    """A send of U in the same millisecond could choose b, the one of T to a could not."""
    of_u = [replace(each, topic="U") for each in to_b(1, 100_050)]
    routes = {"T": (Answer(*ALWAYS, "ac", 2),), "U": (Answer(*ALWAYS, "ab", 2),)}
    assert proved([*ISOLATED, B_AVAILABLE], [*attempts_at([("a", 100_050)]), *of_u], **routes) == []


# What ties


@pytest.mark.parametrize(("until_ms", "expected"), [(100_020, []), (100_021, [100_021])])
def test_no_more_than_20_ms_are_not_worth_a_look(until_ms: int, expected: list[int]) -> None:
    assert proved([*tied(until_ms, 100_000), B_ISOLATED], attempts_at([("b", 100_010)])) == expected


@pytest.mark.parametrize("ends_ms", [(100_000, 100_001), (100_002, 100_001), (100_100, 100_100)])
def test_a_write_two_milliseconds_before_is_in_order_whatever_lies_between(ends_ms: tuple[int, int]) -> None:
    """And what lies between ends as the last one does, or before a send could show that it does not."""
    between, last = write(100_000, ends_ms[0]), write(100_001, ends_ms[1])
    assert list(ties(process_of([write(99_999, 160_000), between, last], []))) == []


def test_where_the_latest_end_stays_no_order_counts() -> None:
    """5.1.4: nothing is isolated, and only the order of the flags is open."""
    first, second = tied(100_000, 100_000, policy="P4", profile="P4")
    process = process_of([replace(first, reachable=False), second], [])
    assert process.items["a"].states[-1].earliest_ms < process.items["a"].states[-1].latest_ms
    assert list(ties(process)) == []


def test_where_a_millisecond_is_an_order_nothing_ties() -> None:
    process = process_of([write(100_000, 100_000), write(100_001, 160_000)], [])
    assert len(list(ties(process))) == 1
    knowledge = replace(process.knowledge, rules=replace(process.knowledge.rules, unordered_within_ms=0))
    in_order = [state.last_write for state in process.items["a"].states]
    assert list(ties(ProducerProcess(in_order, [], knowledge))) == []


@pytest.mark.parametrize(("at_ms", "expected"), [(0, [0, 30_000, 60_000]), (1, [1, 60_001])])
def test_what_midnight_carried_over_ties_with_a_write_at_midnight_only(at_ms: int, expected: list[int]) -> None:
    """It was written on the day before, and ends at 00:00:30: two milliseconds later nothing is open any more."""
    carried = write(0, 0, -1, op="CARRIED", carried_until_ms=30_000)
    (tie,) = ties(process_of([carried, write(at_ms, at_ms + 60_000, 1), write(at_ms, at_ms, 2)], []))
    assert tie.ends_ms == expected


def test_a_write_that_was_inferred_itself_is_not_corrected() -> None:
    """It takes no logged write's place, so a correction of it would be one write more."""
    available, isolating = ISOLATED
    process = process_of([available, B_AVAILABLE], attempts_at([("a", 100_050)]))
    assert list(ties(process.with_writes([isolating]))) == []


def test_ends_at_the_same_time_are_in_the_order_of_their_causes() -> None:
    """Not in that of the threads; what has no cause comes first."""
    causes = ("TIMEOUT", "LATENCY", None, "LATENCY")
    writes = tied(160_000, 160_000, 160_000, 100_000)
    (tie,) = ties(process_of([replace(each, cause=cause) for each, cause in zip(writes, causes, strict=True)], []))
    assert tie.ends == (End(100_000, "LATENCY"), End(160_000, None), End(160_000, "LATENCY"), End(160_000, "TIMEOUT"))
