"""From answers on members and routes to what each client gets: views, kept queues, midnight."""

from __future__ import annotations

import datetime as dt

import pytest

from jobs.allocation.group.before_midnight import allocated_before, inputs_before
from jobs.allocation.group.expected import expected
from jobs.allocation.group.inputs import Input, inputs
from jobs.allocation.group.known import MemberList, OwnerBefore, Route, RoutedBroker, Topic
from jobs.allocation.group.shares import Allocated, PreviousShare, allocated, shares_at_midnight
from jobs.allocation.group.strategy import ClientStrategy, GroupStrategy
from jobs.tables.day import Day
from udfs.shares import Share
from udfs.strategy import Strategy

DAY = Day(dt.date(2026, 11, 21), "c")
A2, B1 = RoutedBroker("a", 2), RoutedBroker("b", 1)
QUEUES = (("a", 0), ("a", 1), ("b", 0))
AVG = GroupStrategy(ClientStrategy(Strategy("AVG"), "SETTINGS"), {})
THROWS = (("*", Strategy("AVG")), ("y", Strategy("CONSISTENT_HASH", virtual_nodes=-1)))


def _topic(*routes: Route, from_ms: int = 0, until_ms: int = 100) -> Topic:
    return Topic("T", from_ms, until_ms, routes, None)


def _route(start_ms: int = 0, end_ms: int = 100, *brokers: RoutedBroker) -> Route:
    return Route(brokers or (A2, B1), start_ms, end_ms, end_ms)


def _list(broker: str, ids: str, start_ms: int = 0, end_ms: int = 100) -> MemberList:
    return MemberList(broker, tuple(ids), start_ms, end_ms, end_ms)


def _intervals(topic: Topic, *lists: MemberList) -> list[tuple[str | None, str, int, int, int]]:
    """View, members, number of different lists, from, until."""
    return [
        (each.view_broker_name, "".join(each.client_ids), each.views, each.start_ms, each.end_ms)
        for each in inputs([topic], lists, AVG)
    ]


def test_brokers_that_agree_are_one_view() -> None:
    assert _intervals(_topic(_route()), _list("a", "xy"), _list("b", "xy")) == [(None, "xy", 1, 0, 100)]
    assert [each.queues for each in inputs([_topic(_route())], [_list("a", "x")], AVG)] == [QUEUES]


def test_brokers_that_differ_are_a_view_each_while_they_do() -> None:
    answers = _list("a", "x"), _list("b", "x", 0, 40), _list("b", "xy", 40, 60), _list("b", "x", 60, 100)
    assert _intervals(_topic(_route()), *answers) == [
        (None, "x", 1, 0, 40), (None, "x", 1, 60, 100), ("a", "x", 2, 40, 60), ("b", "xy", 2, 40, 60)
    ]  # fmt: skip


def test_a_broker_that_knows_no_such_group_allocates_nothing_while_another_knows_it() -> None:
    assert _intervals(_topic(_route()), _list("a", "x"), _list("b", "")) == [("a", "x", 2, 0, 100)]
    assert _intervals(_topic(_route()), _list("a", ""), _list("b", "")) == [(None, "", 1, 0, 100)]


def test_a_broker_that_the_topic_is_not_on_is_asked_by_nobody() -> None:
    assert _intervals(_topic(_route(0, 100, A2)), _list("a", "x"), _list("b", "y")) == [(None, "x", 1, 0, 100)]


def test_nothing_is_allocated_before_the_topic_is_consumed_nor_without_a_route() -> None:
    assert _intervals(_topic(_route(0, 80), from_ms=20), _list("a", "x")) == [(None, "x", 1, 20, 80)]
    assert _intervals(_topic(_route(), until_ms=30), _list("a", "x", 10)) == [(None, "x", 1, 10, 30)]
    assert _intervals(_topic(), _list("a", "x")) == []
    assert _intervals(_topic(_route(0, 20), from_ms=20), _list("a", "x")) == []


def test_a_route_that_changes_only_where_nobody_reads_changes_nothing() -> None:
    routes = _route(0, 50), _route(50, 100, A2, B1, RoutedBroker("c", 0))
    assert _intervals(_topic(*routes), _list("a", "x")) == [(None, "x", 1, 0, 100)]
    assert len(_intervals(_topic(_route(0, 50), _route(50, 100, A2)), _list("a", "x"))) == 2


def test_of_a_group_whose_clients_nothing_shows_nothing_is_said() -> None:
    assert inputs([_topic(_route())], [_list("a", "x")], None) == []


@pytest.mark.parametrize(("topic", "strategy", "undetermined"), [
    ("T", "POP:AVG", "REQUEST_MODE_UNKNOWN"), ("%RETRY%g", "AVG", None),
])  # fmt: skip
def test_of_retry_topics_the_broker_assigns_whole_queues(topic: str, strategy: str, undetermined: str | None) -> None:
    pop = GroupStrategy(ClientStrategy(Strategy("POP:AVG"), "SETTINGS", "REQUEST_MODE_UNKNOWN"), {})
    (found,) = inputs([Topic(topic, 0, 100, (_route(),), None)], [_list("a", "x")], pop)
    assert (found.strategy, found.undetermined) == (strategy, undetermined)


def test_an_unknown_strategy_is_one_on_retry_topics_too() -> None:
    unknown = GroupStrategy(ClientStrategy(Strategy("AVG"), "SETTINGS", "STRATEGY_UNKNOWN"), {})
    (found,) = inputs([Topic("%RETRY%g", 0, 100, (_route(),), None)], [_list("a", "x")], unknown)
    assert found.undetermined == "STRATEGY_UNKNOWN"


def _input(
    start_ms: int,
    ids: str = "xy",
    *,
    view: str | None = None,
    how: tuple[tuple[str, Strategy], ...] = AVG.strategies,
    topic: str = "T",
) -> Input:
    return Input(topic, view, QUEUES, tuple(ids), 1, start_ms, start_ms + 10, strategies=how, strategy="MIXED")


def _queues_of(client_id: str, rows: list[Allocated]) -> list[tuple[str, tuple[tuple[str, int], ...]]]:
    """Outcome and queues of the client, by interval."""
    return [(share.outcome, share.queues) for row in rows for share in row.shares if share.client_id == client_id]


def test_a_client_whose_strategy_throws_keeps_what_it_had() -> None:
    rows = allocated([_input(0), _input(10, how=THROWS), _input(20, how=THROWS)])
    kept = ("UNCHANGED", (("b", 0),))
    assert _queues_of("y", rows) == [("RESULT", (("b", 0),)), kept, kept]


def test_it_keeps_nothing_of_later_or_of_the_same_moment_nor_of_another_topic() -> None:
    rows = allocated([
        _input(0, how=THROWS), _input(0, view="a"), _input(5), _input(-9, topic="U"),
    ])  # fmt: skip
    assert _queues_of("y", rows)[0] == ("UNCHANGED", ())
    assert _queues_of("y", allocated([_input(0, how=THROWS)])) == [("UNCHANGED", ())]


def test_it_keeps_the_latest_and_of_two_as_late_those_by_its_own_view() -> None:
    more = _input(0, "xyz", view="a"), _input(0, "xy", view="b")
    for view, queues in (("a", (("a", 1),)), ("b", (("b", 0),))):
        rows = allocated([*more, _input(10, how=THROWS, view=view)])
        assert _queues_of("y", rows)[-1] == ("UNCHANGED", queues)
    rows = allocated([more[0], _input(5, "vwxy", view="b"), _input(10, how=THROWS, view="a")])
    assert _queues_of("y", rows)[-1] == ("UNCHANGED", ())  # four clients, three queues


def test_it_keeps_what_it_had_at_midnight() -> None:
    owners = [
        OwnerBefore("T", None, "b", 7, "y"),
        OwnerBefore("T", None, "a", 0, "x"),
        OwnerBefore("T", None, "a", 1, None),
    ]
    previous = shares_at_midnight(owners)
    assert previous == [PreviousShare("y", "T", None, 0, (("b", 7),)), PreviousShare("x", "T", None, 0, (("a", 0),))]
    assert _queues_of("y", allocated([_input(10, how=THROWS)], previous)) == [("UNCHANGED", (("b", 7),))]


def test_rows_name_each_owner_and_queues_without_one() -> None:
    shares = (Share("x", "RESULT", None, (("a", 0), ("z", 0))), Share("y", "UNCHANGED", "thrown", (("a", 0),)))
    rows = expected([Allocated(_input(0), shares)])
    assert {(each.broker_name, each.queue_id, each.in_route, each.client_id, each.is_carried) for each in rows} == {
        ("a", 0, True, "x", False), ("a", 0, True, "y", True), ("a", 1, True, None, False), ("b", 0, True, None, False),
        ("z", 0, False, "x", False),
    }  # fmt: skip
    assert len(rows) == 5


def test_any_queue_of_a_broker_stands_for_its_queues() -> None:
    share = Share("x", "RESULT", None, (("a", -1), ("a", -1), ("b", -1)))
    rows = expected([Allocated(_input(0), (share,))])
    assert [(each.broker_name, each.queue_id, each.in_route) for each in rows] == [("a", -1, True), ("b", -1, True)]


def test_midnight_has_the_members_queues_and_owners_of_the_day_before() -> None:
    topics = [Topic("T", 0, 100, (), (A2,)), Topic("U", 0, 100, (), (A2,)), Topic("V", 0, 100, (), None)]
    owners = [OwnerBefore(topic, None, "a", 1, "x") for topic in "TV"]  # U is consumed from today on
    members = [MemberList("a", ("x",), DAY.start_ms - 2_000, DAY.start_ms, DAY.start_ms - 2_000)]
    at_midnight = inputs_before(topics, members, owners, AVG, DAY)
    assert [(each.topic, each.queues, each.end_ms) for each in at_midnight] == [
        ("T", (("a", 0), ("a", 1)), DAY.start_ms)
    ]
    (row,) = allocated_before(at_midnight, shares_at_midnight(owners))
    assert row == Allocated(at_midnight[0], (Share("x", "RESULT", None, (("a", 1),)),))
    (without,) = allocated_before(at_midnight, shares_at_midnight([OwnerBefore("T", "b", "a", 1, "x")]))
    assert without.shares == ()  # of this view nobody owned a queue
