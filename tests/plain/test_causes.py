"""Causes why a queue is owned by another than the strategies say: when each acts, and on what."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace

import pytest

from jobs.allocation.group.causes import (
    Cause,
    causes,
    differing_views,
    duplicate_ids,
    of_several_views,
    rebalance_not_run,
)
from jobs.allocation.group.flapping import Flap, flaps
from jobs.allocation.group.inputs import Input
from jobs.allocation.group.known import (
    AnswerGap,
    GroupFacts,
    Languages,
    MemberList,
    Refusal,
    Route,
    RoutedBroker,
    Silence,
    Subscribed,
    Topic,
)
from jobs.allocation.group.ownership import Sight
from jobs.kinds import Source
from jobs.tables.day import Day

DAY = Day(dt.date(2026, 11, 21), "c")
STALE_MS = 300_000
Answer = tuple[str, str, float, float]
"""Broker, its members, from and until, seconds after midnight."""


def _ms(second: float) -> int:
    return DAY.start_ms + int(second * 1_000)


def _lists(*answers: Answer) -> list[MemberList]:
    return [MemberList(broker, tuple(ids), _ms(since), _ms(until), _ms(until)) for broker, ids, since, until in answers]


def _acts(found: Iterable[Cause]) -> list[tuple[float, float]]:
    """From and until, seconds after midnight."""
    return [((each.acts_from_ms - DAY.start_ms) / 1_000, (each.acts_until_ms - DAY.start_ms) / 1_000) for each in found]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param([("a", "xxy", 100, 200), ("b", "xxy", 110, 210)], [(110, 221)], id="two brokers name it"),
        pytest.param([("a", "xxy", 100, 200), ("b", "xy", 100, 200)], [], id="one of two: x came back to it"),
        pytest.param([("a", "xxy", 100, 200), ("b", "xxy", 200, 300)], [], id="one after the other"),
        pytest.param([("a", "xxy", 100, 200)], [(100, 221)], id="the only broker that has the group"),
        pytest.param([("a", "xxy", 100, 200), ("b", "", 0, 300)], [(100, 221)], id="another knows no such group"),
        pytest.param([("a", "xy", 100, 200), ("b", "xy", 100, 200)], [], id="each id once"),
    ],
)
def test_duplicate_ids_are_named_by_more_than_one_broker(
    answers: list[Answer], expected: list[tuple[float, float]]
) -> None:
    acting = list(duplicate_ids(_lists(*answers)))
    assert _acts(acting) == expected
    assert all((each.cause, each.broker_name) == ("DUPLICATE_CLIENT_ID", None) for each in acting)


def test_a_change_of_members_acts_on_every_brokers_queues() -> None:
    lists = [MemberList("a", ("x",), _ms(100), _ms(210), _ms(200)), *_lists(("a", "xy", 210, 300))]
    acting = list(rebalance_not_run(lists, DAY))
    first_answer, changed = (100, 121), (200, 231)
    assert _acts(acting) == [first_answer, changed]
    assert [(each.cause, each.broker_name) for each in acting] == [("REBALANCE_NOT_RUN", None)] * 2


def test_answers_of_two_brokers_in_turn_are_not_a_change() -> None:
    both = [("a", "x", 0, 200), ("b", "xy", 0, 300), ("a", "xz", 200, 900), ("b", "xyz", 300, 900)]
    acting = rebalance_not_run(_lists(*(answer for answer in both if answer[2] == 0)), DAY)
    assert _acts(acting) == []
    assert _acts(rebalance_not_run(_lists(*both), DAY)) == [(200, 221), (300, 321)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("xy", "xy", [], id="the same members"),
        pytest.param("xy", "x", [(95, 121), (900, 921)], id="others"),
    ],
)
def test_a_broker_that_was_not_heard_shows_a_change_where_its_list_ends_and_begins(
    before: str, after: str, expected: list[tuple[float, float]]
) -> None:
    """Not in between, where other brokers may name the members; the last answer of the first list was at 95."""
    lists = [MemberList("b", tuple(before), _ms(0), _ms(100), _ms(95)), *_lists(("b", after, 900, 1_000))]
    assert _acts(rebalance_not_run(lists, DAY)) == expected


def test_what_held_at_midnight_is_not_a_change_and_what_ended_then_is() -> None:
    assert _acts(rebalance_not_run(_lists(("a", "x", 0, 200)), DAY)) == []
    assert _acts(rebalance_not_run(_lists(("a", "x", 0, 0), ("a", "y", 0, 200)), DAY)) == [(0, 21)]


def _input(strategy: str, views: int = 2, until: float = 130, topic: str = "T") -> Input:
    return Input(topic, None, (), (), views, _ms(100), _ms(until), strategy=strategy)


@pytest.mark.parametrize(("strategy", "expected"), [("AVG", [(100, 151)]), ("BROADCASTING", [])])
def test_who_takes_every_queue_asks_no_broker_for_members(strategy: str, expected: list[tuple[float, float]]) -> None:
    acting = list(differing_views([_input(strategy)]))
    assert _acts(acting) == expected
    assert all((each.cause, each.topic) == ("VIEWS_DIFFER", "T") for each in acting)


def test_brokers_that_differ_act_on_the_topics_that_they_have() -> None:
    """A client asks a broker of the topic: MQClientInstance.findBrokerAddrByTopic."""
    acting = differing_views([_input("AVG", views=1), _input("AVG", topic="U"), _input("AVG", until=140, topic="V")])
    assert [(each.topic, each.acts_until_ms) for each in acting] == [("U", _ms(151)), ("V", _ms(161))]


@pytest.mark.parametrize(("views", "until", "expected"), [(2, 110.001, 1), (2, 110, 0), (1, 130, 0)])
def test_views_differ_for_longer_than_a_change_takes_to_reach_all(views: int, until: float, expected: int) -> None:
    assert len(of_several_views([_input("AVG", views, until)])) == expected


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        pytest.param([(100, 110), (220, 230), (400, 520)], [("x", _ms(110), _ms(541))], id="three times"),
        pytest.param([(100, 110), (400, 520)], [], id="twice"),
        pytest.param([(100, 110), (220, 230), (590, 710)], [("x", _ms(110), _ms(731))], id="in ten minutes"),
        pytest.param([(100, 110), (220, 230), (590, 710.001)], [], id="a return after more than two minutes away"),
        pytest.param([(100, 110), (220, 230), (600, 711)], [], id="in more than ten minutes"),
        pytest.param([(100, 110), (220, 230), (400, 400)], [], id="never away"),
        pytest.param([(9, 10), (20, 20.001), (30, 31)], [("x", _ms(10), _ms(52))], id="away for a millisecond"),
        pytest.param([(0, 10), (20, 30), (40, 50)], [("x", _ms(10), _ms(71))], id="there at midnight only"),
    ],
)
def test_members_that_return_again_and_again(returns: list[tuple[float, float]], expected: list[Flap]) -> None:
    """Each pair: dropped off and back, on broker a; y stays."""
    edges = [0.0, *(second for pair in returns for second in pair), 2_000.0]
    away = [("a", "y", left, back) for left, back in returns if back > left]
    there = [("a", "xy", edges[n], edges[n + 1]) for n in range(0, len(edges), 2)]
    assert flaps(_lists(*there, *away)) == expected


def test_a_member_that_is_on_each_list_of_its_broker_never_left() -> None:
    """Asked each 90 s, an answer holds for 60 s; what another broker names in between is none of it."""
    of_a = [("a", "x", since, since + 60) for since in range(0, 900, 90)]
    of_b = [("b", "y", since + 60, since + 90) for since in range(0, 900, 90)]
    assert flaps(_lists(*of_a, *of_b)) == []


def test_each_broker_and_member_returns_by_itself() -> None:
    """x thrice by broker a, y once by each."""
    of_a = [("a", "x" if n % 2 else "y", n * 10, n * 10 + 10) for n in range(6)]
    of_b = [("b", "y", 0, 10), ("b", "", 10, 20), ("b", "y", 20, 30)]
    assert flaps(_lists(("a", "x", 0, 0), *of_a, *of_b)) == [("x", _ms(10), _ms(71))]


def _causes(known: GroupFacts, *sights: Sight) -> list[Cause]:
    return causes(known, [], sights, [], DAY, STALE_MS)


def _topic(name: str = "T", *routes: Route) -> Topic:
    return Topic(name, _ms(0), _ms(900), routes, None)


@pytest.mark.parametrize(("topics", "expected"), [(("U",), 1), (("T", "U"), 0), ((None, "U"), 0)])
def test_a_client_without_the_topic(topics: tuple[str | None, ...], expected: int) -> None:
    known = GroupFacts(topics=[_topic()], subscribed=[Subscribed("x", topics, _ms(1_000), _ms(1_010))])
    acting = [Cause("NOT_SUBSCRIBED", _ms(700), _ms(1_310), topic="T", client_id="x")]
    assert _causes(known) == acting * expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param(
            [("U", 0, 500), ("T", 500, 900)], [(-300, 551)], id="names it from 500 on: then the route, and a share"
        ),
        pytest.param([("T", 0, 500), ("U", 500, 900)], [(500, 1_200)], id="named it until 500"),
        pytest.param([("T", 0, 150), ("U", 500, 900), ("T", 1_250, 1_300)], [(200, 1_200)], id="not near"),
        pytest.param(
            [("T", 0, 300), ("V", 500, 600), ("U", 600, 700), ("T", 800, 900), ("T", 950, 990)],
            [(300, 851), (300, 851)],
            id="the nearest answers that do",
        ),
    ],
)
def test_a_client_without_the_topic_acts_no_longer_than_to_an_answer_with_it(
    answers: list[tuple[str, int, int]], expected: list[tuple[float, float]]
) -> None:
    subscribed = [Subscribed("x", (topic,), _ms(since), _ms(until)) for topic, since, until in answers]
    other = Subscribed("y", ("T",), _ms(0), _ms(2_000))
    assert _acts(_causes(GroupFacts(topics=[_topic()], subscribed=[other, *subscribed]))) == expected


def test_a_route_that_changed_acts_on_its_topic() -> None:
    before = Route((), _ms(0), _ms(500), _ms(495))
    after = Route((RoutedBroker("a", 1),), _ms(500), _ms(900), _ms(900))
    assert _causes(GroupFacts(topics=[_topic("T", after, before), _topic("U", before)])) == [
        Cause("STALE_ROUTE", _ms(495), _ms(551), topic="T")
    ]
    not_heard = replace(before, end_ms=_ms(400)), replace(before, start_ms=_ms(700), end_ms=_ms(900))
    assert _causes(GroupFacts(topics=[_topic("T", *not_heard)])) == []


def test_what_acts_on_the_whole_group() -> None:
    languages, flap = Languages(_ms(100), _ms(200)), ("x", _ms(300), _ms(400))
    assert causes(GroupFacts(languages=[languages]), [], [], [flap], DAY, STALE_MS) == [
        Cause("FLAPPING", _ms(300), _ms(400)), Cause("MIXED_LANGUAGES", _ms(100), _ms(500))
    ]  # fmt: skip


def test_a_broker_that_dropped_the_group_at_midnight_does_not_count_as_one_that_has_it() -> None:
    lists = _lists(("b", "x", 0, 0), ("a", "xxy", 0, 200))
    assert _causes(GroupFacts(member_lists=lists)) == [Cause("DUPLICATE_CLIENT_ID", _ms(0), _ms(221))]


def test_a_client_that_is_gone() -> None:
    gone, there = (
        Sight(name, Source.CLIENT_LOG, _ms(1), _ms(50), ended) for name, ended in (("x", True), ("y", False))
    )
    assert _causes(GroupFacts(), gone, there) == [Cause("STOPPED_NOT_EXPIRED", _ms(49), _ms(201), client_id="x")]


def test_a_client_that_is_back_before_its_broker_drops_it() -> None:
    """Its group rebalances within 20 s of its return: an end of which another life knows nothing is none."""

    def until(*lives: tuple[float, float]) -> list[tuple[float, float]]:
        other = Sight("y", Source.CLIENT_LOG, _ms(1), _ms(900), ended=False)
        later = Sight("x", Source.RUNNING_INFO, _ms(60), _ms(900), ended=False)
        return _acts(
            _causes(
                GroupFacts(),
                other,
                later,
                *(Sight("x", Source.CLIENT_LOG, _ms(a), _ms(b), ended=True) for a, b in lives),
            )
        )

    assert until((1, 50), (55, 300)) == [(49, 76), (299, 451)]
    assert until((1, 50), (200, 300)) == [(49, 201), (299, 451)]
    assert until((55, 70), (1, 50), (400, 500)) == [(69, 221), (49, 76), (499, 651)]
    assert until((1, 50), (20, 300)) == [(49, 71), (299, 451)]  # two have one id


def test_a_process_that_stood_still() -> None:
    silences = [Silence("x", _ms(100), _ms(130)), Silence("y", _ms(100), _ms(130.001))]
    assert _causes(GroupFacts(silences=silences)) == [Cause("CLIENT_SILENT", _ms(100), _ms(151.001), client_id="y")]


def test_queues_that_a_client_could_not_take() -> None:
    refusals = [
        Refusal("T", "a", queue, _ms(at), event)
        for queue, (at, event) in enumerate([(100, "LOCK_FAILED"), (200, "OFFSET_UNKNOWN"), (300, "DROPPED")])
    ]
    assert _causes(GroupFacts(refusals=refusals)) == [
        Cause("LOCK_NOT_GRANTED", _ms(79), _ms(121), "T", "a", 0),
        Cause("OFFSET_UNKNOWN", _ms(179), _ms(221), "T", "a", 1),
        Cause("OFFSET_RESET", _ms(300), _ms(331), "T", "a", 2),
    ]


def test_causes_act_longer_where_members_are_seen_by_answers_only() -> None:
    gaps = [AnswerGap("x", 5_000), AnswerGap("y", 9_000), AnswerGap("z", None)]
    known = GroupFacts(member_lists=_lists(("a", "xxy", 0, 200)), answer_gaps=gaps)
    assert _acts(_causes(known)) == [(-9, 230)]
    assert _acts(_causes(known, Sight("y", Source.RUNNING_INFO, 0, 1, ended=False))) == [(-9, 230)]
    assert _acts(_causes(known, Sight("y", Source.CLIENT_LOG, 0, 1, ended=False))) == [(-5, 226)]


def test_causes_act_no_longer_than_an_answer_holds() -> None:
    """A client that answered twice, 800 s apart."""
    known = GroupFacts(member_lists=_lists(("a", "xxy", 0, 200)), answer_gaps=[AnswerGap("x", 800_000)])
    assert _acts(_causes(known)) == [(-300, 521)]
