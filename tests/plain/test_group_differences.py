"""What should be owned beside what was, and why the two differ."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import pytest

from jobs.allocation.group.causes import Cause
from jobs.allocation.group.differences import Difference, differences
from jobs.allocation.group.expected import Expected
from jobs.allocation.group.explained import explained
from jobs.allocation.group.finding import Finding, without_pauses
from jobs.allocation.group.known import Answered, Holding, Lifetime, MemberList, ProcessQueue
from jobs.allocation.group.ownership import Sight, holdings, sights
from jobs.allocation.group.sentence import sentence
from jobs.kinds import Source
from jobs.tables.day import Day

DAY = Day(dt.date(1970, 1, 1), "c")
QUEUE = ("T", "a", 0)


def _should(client_id: str | None, start_ms: int = 0, end_ms: int = 10_000, **other: object) -> Expected:
    values = {
        "strategy": "AVG", "strategy_source": "SETTINGS", "view_broker_name": None, "in_route": True,
        "is_carried": False, "broker_name": "a", "queue_id": 0,
    } | other  # fmt: skip
    return Expected(topic="T", start_ms=start_ms, end_ms=end_ms, client_id=client_id, **values)  # type: ignore[arg-type]


def _did(
    client_id: str, start_ms: int = 0, end_ms: int = 10_000, source: str = Source.CLIENT_LOG, queue_id: int = 0
) -> Holding:
    return Holding(start_ms, end_ms, "T", "a", queue_id, client_id, popped=False, source=source, process="p")


def _sight(
    client_id: str, start_ms: int = 0, end_ms: int = 10_000, source: str = Source.CLIENT_LOG, *, ended: bool = False
) -> Sight:
    return Sight(client_id, source, start_ms, end_ms, ended)


def _found(should: Sequence[Expected], did: Sequence[Holding], *times: Sight) -> list[tuple[str, str, int, int]]:
    """Kind, clients concerned, from, until."""
    return [
        (each.kind, "".join(each.client_ids), each.start_ms, each.end_ms)
        for each in differences(should, did, times, DAY)
    ]


def test_as_it_should_be() -> None:
    assert _found([_should("x")], [_did("x")], _sight("x")) == []


def test_another_has_it() -> None:
    assert _found([_should("x")], [_did("y")], _sight("y")) == [("AGAINST_STRATEGY", "xy", 0, 10_000)]


def test_what_differs_in_one_way_over_two_allocations_is_one_difference() -> None:
    should = [_should("x", 0, 5_000), _should("x", 5_000, 10_000)]
    assert _found(should, [_did("y")]) == [("AGAINST_STRATEGY", "xy", 0, 10_000)]


def test_two_have_it_unless_queues_are_shared() -> None:
    both = [_did("x"), _did("y")]
    assert _found([_should("x")], both) == [("DOUBLY_OWNED", "xy", 0, 10_000)]
    for strategy in ("BROADCASTING", "POP:AVG"):
        assert _found([_should(name, strategy=strategy) for name in "xy"], both) == []


def test_any_queue_of_a_broker_has_several_owners_under_every_strategy() -> None:
    """x and y pop, as one of a MIXED group that allocates itself does not."""
    should = [_should(name, strategy="MIXED", queue_id=-1) for name in "xy"]
    assert _found(should, [_did(name, queue_id=-1) for name in "xy"]) == []
    assert _found(should, [_did(name, queue_id=-1) for name in "xyz"]) == [("AGAINST_STRATEGY", "xyz", 0, 10_000)]


@pytest.mark.parametrize(("start_ms", "expected"), [(8_999, [("AGAINST_STRATEGY", "xy", 8_999, 10_000)]), (9_000, [])])
def test_a_second_is_a_hand_over(start_ms: int, expected: list[tuple[str, str, int, int]]) -> None:
    assert _found([_should("x")], [_did("y", start_ms)]) == expected


def test_who_lacks_a_queue_is_said_while_it_is_in_sight() -> None:
    assert _found([_should("x")], [], _sight("x", 2_000, 5_000)) == [("UNASSIGNED", "x", 2_000, 5_000)]
    assert _found([_should("x")], [], _sight("y")) == []
    assert _found([_should("x"), _should("y")], [_did("y")], _sight("x", 2_000, 5_000)) == [
        ("AGAINST_STRATEGY", "x", 2_000, 5_000)
    ]


def test_a_client_that_is_gone_lacks_it_until_its_group_forgets_it() -> None:
    should = [_should("x", 0, 200_000)]
    assert _found(should, [], _sight("x", 0, 5_000, ended=True)) == [("UNASSIGNED", "x", 0, 135_000)]
    late = DAY.end_ms - 100_000
    should = [_should("x", late, DAY.end_ms)]
    assert _found(should, [], _sight("x", late, late + 5_000, ended=True)) == [("UNASSIGNED", "x", late, DAY.end_ms)]


@pytest.mark.parametrize(("back_ms", "is_one"), [(3_000, True), (5_000, True), (5_001, False)])
def test_times_in_sight_that_overlap_or_touch_give_one_difference(back_ms: int, is_one: bool) -> None:  # noqa: FBT001
    """Of one queue, kind and client no two findings overlap: these are their key."""
    both = _sight("x", 0, 5_000), _sight("x", back_ms, 9_000)
    apart = [("UNASSIGNED", "x", 0, 5_000), ("UNASSIGNED", "x", back_ms, 9_000)]
    assert _found([_should("x")], [], *both) == ([("UNASSIGNED", "x", 0, 9_000)] if is_one else apart)


def test_a_client_that_is_back_before_its_group_forgets_it_lacks_a_queue_once() -> None:
    lives = _sight("x", 0, 100_000, ended=True), _sight("x", 105_000, 400_000)
    owned = [_did("x", 0, 100_000), _did("x", 260_000, 400_000)]
    assert _found([_should("x", 0, 400_000)], owned, *lives) == [("UNASSIGNED", "x", 100_000, 260_000)]


def test_of_a_client_with_a_log_only_that_counts() -> None:
    answered = _did("y", source=Source.RUNNING_INFO)
    assert _found([_should("x")], [answered]) == [("AGAINST_STRATEGY", "xy", 0, 10_000)]
    assert _found([_should("x")], [answered], _sight("y", 20_000, 30_000)) == []
    assert _found([_should("x")], [], _sight("x", source=Source.RUNNING_INFO), _sight("x", 20_000, 30_000)) == []


def test_each_queue_differs_by_itself() -> None:
    """Though the one does from when the other no longer does, and in the same way."""
    should = [_should("x"), _should("x", queue_id=1)]
    did = [_did("y", 0, 5_000), _did("x", 5_000), _did("x", 0, 5_000, queue_id=1), _did("y", 5_000, queue_id=1)]
    assert [(each.queue[2], each.start_ms, each.end_ms) for each in differences(should, did, [], DAY)] == [
        (0, 0, 5_000), (1, 5_000, 10_000)
    ]  # fmt: skip


def test_of_a_topic_that_the_group_does_not_allocate_nothing_differs() -> None:
    other = Holding(0, 10_000, "U", "a", 0, "x", popped=False, process="p")
    assert _found([_should("x")], [_did("x"), other]) == []


def test_a_queue_that_the_topic_lacks_is_known_while_the_topic_is() -> None:
    assert _found([_should("x", 0, 6_000)], [_did("x", 0, 6_000), _did("x", 2_000, queue_id=9)]) == [
        ("AGAINST_STRATEGY", "x", 2_000, 6_000)
    ]


def test_a_difference_says_what_the_strategies_themselves_say() -> None:
    twice = [_should("x", strategy="MIXED"), _should("y", strategy="MIXED")]
    both = [_did("x"), _did("y")]
    (found,) = differences(twice, both, [], DAY)
    assert (found.as_given, found.is_mixed, found.in_route) == (True, True, True)
    for strategy, as_given in (("MIXED", False), ("CONFIG", True)):
        in_views = [_should("x", strategy=strategy, view_broker_name="a"), _should("y", strategy=strategy)]
        (found,) = differences(in_views, both, [], DAY)
        assert found.as_given is as_given


def _difference(**other: object) -> Difference:
    values = {
        "queue": QUEUE, "kind": "UNASSIGNED", "client_ids": ("x",), "owners_expected": ("x",), "owners_observed": (),
        "in_route": True, "is_mixed": False, "as_given": False, "start_ms": 0, "end_ms": 10_000,
    } | other  # fmt: skip
    return Difference(**values)  # type: ignore[arg-type]


def _caused(difference: Difference, *causes: Cause) -> list[tuple[str, int, int]]:
    return [(each.cause, each.start_ms, each.end_ms) for each in explained([difference], causes)]


def test_time_without_a_cause_is_cut_off() -> None:
    assert _caused(_difference(), Cause("FLAPPING", 3_000, 7_000)) == [
        ("UNEXPLAINED", 0, 3_000), ("FLAPPING", 3_000, 7_000), ("UNEXPLAINED", 7_000, 10_000)
    ]  # fmt: skip
    assert _caused(_difference()) == [("UNEXPLAINED", 0, 10_000)]


@pytest.mark.parametrize(("start_ms", "expected"), [
    (1_000, [("FLAPPING", 1_000, 10_000)]),
    (1_001, [("UNEXPLAINED", 0, 1_001), ("FLAPPING", 1_001, 10_000)]),
])  # fmt: skip
def test_what_is_cut_off_may_be_a_hand_over(start_ms: int, expected: list[tuple[str, int, int]]) -> None:
    assert _caused(_difference(), Cause("FLAPPING", start_ms, 99_000)) == expected


def test_a_difference_of_the_evening_is_cut_like_one_of_the_morning() -> None:
    late = 80_000_000
    difference = _difference(start_ms=late, end_ms=late + 10_000)
    assert _caused(difference, Cause("FLAPPING", late + 1_000, late + 99_000)) == [
        ("FLAPPING", late + 1_000, late + 10_000)
    ]


def test_a_cause_counts_while_it_acts_and_ranks_first() -> None:
    """A cause of a moment does not explain an hour."""
    later, first = Cause("STALE_ROUTE", 0, 9_000), Cause("CLIENT_SILENT", 5_000, 7_000)
    assert _caused(_difference(), later, first) == [
        ("STALE_ROUTE", 0, 5_000), ("CLIENT_SILENT", 5_000, 7_000), ("STALE_ROUTE", 7_000, 9_000)
    ]  # fmt: skip
    many = [Cause("LOCK_NOT_GRANTED", since, since + 4_000) for since in (0, 2_000, 6_000)]
    assert _caused(_difference(), *many) == [("LOCK_NOT_GRANTED", 0, 10_000)]


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0, 5_000), (6_000, 10_000)], [("FLAPPING", 0, 10_000)]),
        (
            [(0, 5_000), (6_001, 10_000)],
            [("FLAPPING", 0, 5_000), ("UNEXPLAINED", 5_000, 6_001), ("FLAPPING", 6_001, 10_000)],
        ),
        ([(4_000, 5_000)], [("UNEXPLAINED", 0, 10_000)]),
        ([(0, 1_000)], [("UNEXPLAINED", 0, 10_000)]),
        ([(0, 1_001)], [("FLAPPING", 0, 1_001), ("UNEXPLAINED", 1_001, 10_000)]),
    ],
)
def test_what_acts_for_a_second_cuts_nothing(
    spans: list[tuple[int, int]], expected: list[tuple[str, int, int]]
) -> None:
    assert _caused(_difference(), *(Cause("FLAPPING", *span) for span in spans)) == expected


@pytest.mark.parametrize(("of", "is_concerned"), [
    ({}, True), ({"topic": "T"}, True), ({"topic": "U"}, False), ({"client_id": "x"}, True),
    ({"client_id": "y"}, False), ({"topic": "T", "broker_name": "a", "queue_id": 0}, True),
    ({"topic": "T", "broker_name": "a", "queue_id": 1}, False), ({"topic": "T", "client_id": "y"}, False),
])  # fmt: skip
def test_a_cause_concerns_what_it_names(of: dict[str, object], is_concerned: bool) -> None:  # noqa: FBT001
    cause = Cause("FLAPPING", 0, 10_000, **of)  # type: ignore[arg-type]
    assert _caused(_difference(), cause) == [("FLAPPING" if is_concerned else "UNEXPLAINED", 0, 10_000)]


def test_what_the_difference_itself_says_wins() -> None:
    cause = Cause("DUPLICATE_CLIENT_ID", 3_000, 7_000)
    assert _caused(_difference(in_route=False), cause) == [("QUEUE_DOES_NOT_EXIST", 0, 10_000)]
    assert _caused(_difference(as_given=True), cause) == [("STRATEGY_NAMES_TWICE", 0, 10_000)]
    assert _caused(_difference(as_given=True, is_mixed=True), cause) == [("MIXED_STRATEGIES", 0, 10_000)]
    assert _caused(_difference(in_route=False, owners_expected=()), cause)[0] == ("UNEXPLAINED", 0, 3_000)


def test_equal_differences_are_one_finding() -> None:
    assert len(explained([_difference(), _difference(), _difference(end_ms=9_000)], [])) == 2


def test_answers_that_show_a_queue_again_are_one_holding() -> None:
    shown, popped = ProcessQueue("T", "a", 0, popped=False), ProcessQueue("T", "a", 0, popped=True)
    answered = [
        Answered("x", (shown, shown), 0, 10, 8), Answered("x", (popped, shown), 10, 20, 19),
        Answered("x", (shown,), 30, 40, 35),
    ]  # fmt: skip
    owned = sorted((each.popped, each.start_ms, each.end_ms, each.last_answer_ms) for each in holdings(answered, []))
    assert owned == [(False, 0, 20, 19), (False, 30, 40, 35), (True, 10, 20, 19)]


def test_a_logged_holding_without_length_is_ignored() -> None:
    logged = [Holding(5, end, "T", "a", 0, "x", popped=False, process="p") for end in (5, 6)]
    assert [(each.source, each.process, each.end_ms) for each in holdings([], logged)] == [(Source.CLIENT_LOG, "p", 6)]


def test_a_life_is_in_sight_from_its_start_on() -> None:
    lives = [Lifetime("x", None, 10, ended=True), Lifetime("x", 10, 10, ended=True), Lifetime("x", 9, 10, ended=True)]
    assert sights([], lives, []) == [Sight("x", Source.CLIENT_LOG, 9, 10, ended=True)]
    assert sights([Answered("x", (), 0, 10, 8)], [], []) == [Sight("x", Source.RUNNING_INFO, 0, 10, ended=False)]


@pytest.mark.parametrize(
    ("lists", "gone"),
    [
        pytest.param([], None, id="no list"),
        pytest.param([("x", 0, 3_600, 3_590)], None, id="listed for an hour"),
        pytest.param([("x", 0, 3_600, 3_590), ("y", 3_600, 7_200, 7_200)], None, id="dropped an hour later"),
        pytest.param([("x", 0, 220, 219), ("y", 220, 7_200, 7_200)], 100, id="dropped two minutes later"),
        pytest.param([("x", 0, 290, 230), ("y", 290, 7_200, 7_200)], 100, id="listed last 130 s later"),
        pytest.param([("x", 0, 290, 231), ("y", 290, 7_200, 7_200)], None, id="listed last more than that later"),
        pytest.param([("x", 0, 100, 99), ("y", 100, 7_200, 7_200)], 100, id="at once"),
        pytest.param([("x", 0, 110, 99), ("y", 110, 7_200, 7_200)], 110, id="within a pause of the log"),
        pytest.param([("x", 0, 111, 99), ("y", 111, 7_200, 7_200)], 100, id="after a pause that no log makes"),
        pytest.param([("x", 0, 220, 219)], None, id="then nothing is known"),
        pytest.param([("x", 0, 220, 219), ("y", 230, 7_200, 7_200)], None, id="nor when it was dropped"),
        pytest.param([("x", 0, 110, 109), ("y", 110, 140, 139), ("x", 140, 900, 890)], None, id="listed again"),
        pytest.param([("y", 0, 7_200, 7_200)], 100, id="never listed"),
    ],
)
def test_a_log_that_stops_ends_a_client_only_with_the_brokers(
    lists: list[tuple[str, int, int, int]], gone: int | None
) -> None:
    member_lists = [MemberList("a", (each,), s * 1_000, e * 1_000, last * 1_000) for each, s, e, last in lists]
    sight, *ends = sights([], [Lifetime("x", 1_000, 100_000, ended=False)], member_lists)
    assert (sight.end_ms, sight.ended) == (100_000, False)
    assert ends == ([] if gone is None else [Sight("x", Source.CLIENT_LOG, gone * 1_000, gone * 1_000, ended=True)])


def test_a_client_that_is_back_did_not_end_unless_a_list_lacked_it_meanwhile() -> None:
    lives = [Lifetime("x", 1_000, 100_000, ended=False), Lifetime("x", 150_000, 900_000, ended=False)]
    listed = [MemberList("a", ("x",), 0, 900_000, 890_000)]
    dropped = [MemberList("a", ids, start, end, end) for ids, start, end in (
        (("x",), 0, 120_000), ((), 120_000, 160_000), (("x",), 160_000, 900_000)
    )]  # fmt: skip
    assert [[each.end_ms for each in sights([], lives, lists) if each.ended] for lists in (listed, dropped)] == [
        [], [100_000]
    ]  # fmt: skip


def test_findings_of_other_clients_are_apart() -> None:
    x, y = Finding(0, 5, "FLAPPING", client_ids=("x",)), Finding(5, 9, "FLAPPING", client_ids=("y",))
    assert without_pauses([x, y]) == [x, y]


@pytest.mark.parametrize(("finding", "expected"), [
    (
        Finding(0, 1_249, "UNASSIGNED", topic="T", broker_name="a", queue_id=0, client_ids=(), owners_expected=(),
                cause="STRATEGY_LEAVES_OUT"),
        "g, T, a queue 0: the queue is assigned to nobody for 1.2 s (the strategy, as configured, leaves it out)",
    ),
    (
        Finding(0, 86_400_000, "UNASSIGNED", basis="OBSERVED", topic="T", broker_name="a", queue_id=0,
                client_ids=("x",), owners_expected=("x", ""), owners_observed=(), cause="FLAPPING"),
        (
            'g, T, a queue 0: nobody has the queue for 86400.0 s (expected x, "", held by nobody; members of the group'
            " drop off and return)"
        ),
    ),
    (
        Finding(0, 50, "DOUBLY_OWNED", topic="T", broker_name="a", queue_id=0, client_ids=("x", "y"),
                owners_expected=("x", "y")),
        "g, T, a queue 0: the queue is assigned to several clients for 0.1 s (x, y)",
    ),
    (
        Finding(0, 2_000, "AGAINST_STRATEGY", basis="OBSERVED", topic="T", broker_name="a", queue_id=9,
                client_ids=("x",), owners_expected=(), owners_observed=("x",), cause="QUEUE_DOES_NOT_EXIST"),
        (
            "g, T, a queue 9: a client that should not own the queue has it for 2.0 s (expected nobody, held by x;"
            " the topic has no such queue)"
        ),
    ),
    (
        Finding(0, 2_000, "AGAINST_STRATEGY", basis="OBSERVED", topic="T", broker_name="a", queue_id=0,
                client_ids=("y",), owners_expected=("x", "y"), owners_observed=("x",), cause="REBALANCE_NOT_RUN"),
        (
            "g, T, a queue 0: not every client that should own the queue has it for 2.0 s (expected x, y, held by x;"
            " members had changed, and clients rebalance within 20 s)"
        ),
    ),
    (Finding(0, 49, "GROUP_WITHOUT_CONSUMERS"), "g: no broker knows a consumer of the group for 0.0 s"),
])  # fmt: skip
def test_a_finding_in_words(finding: Finding, expected: str) -> None:
    assert sentence("g", finding) == expected
