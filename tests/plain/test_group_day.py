"""A consumer group's day as a whole: which of what is known reaches which table."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from jobs.allocation.group.comparison import Compared
from jobs.allocation.group.day import GroupDay, group_day
from jobs.allocation.group.events import GroupEvent
from jobs.allocation.group.expected import Expected
from jobs.allocation.group.finding import Finding
from jobs.allocation.group.known import (
    Answered,
    AnswerGap,
    GroupFacts,
    Holding,
    Languages,
    Lifetime,
    MemberList,
    OwnerBefore,
    ProcessQueue,
    Route,
    RoutedBroker,
    Topic,
)
from jobs.allocation.group.observed_clients import ObservedClient
from jobs.allocation.group.rebalances import Rebalance
from jobs.settings.consumer_groups import GroupSettings, StrategySettings
from jobs.tables.day import Day

DAY = Day(dt.date(2026, 11, 21), "c")
STALE_MS = 60_000
TWO = (RoutedBroker("a", 2),)
AVG = GroupSettings(strategy="AVG")


def at(second: float) -> int:
    """A second of the day."""
    return DAY.start_ms + int(second * 1_000)


def members(ids: str, since: float, until: float, last: float | None = None, broker: str = "a") -> MemberList:
    return MemberList(broker, tuple(ids), at(since), at(until), at(until if last is None else last))


def topic(*brokers: RoutedBroker, name: str = "T", before: tuple[RoutedBroker, ...] | None = TWO) -> Topic:
    """Consumed from 00:00 to second 1,000."""
    return Topic(name, at(0), at(1_000), (Route(brokers or TWO, at(0), at(1_000), at(1_000)),), before)


def answer(client_id: str, queue_ids: str, since: float, until: float) -> Answered:
    """Queues of broker a that the client works on."""
    queues = tuple(ProcessQueue("T", "a", int(each), popped=False) for each in queue_ids)
    return Answered(client_id, queues, at(since), at(until), at(until - 1))


def of(facts: GroupFacts, configured: GroupSettings | None = AVG) -> GroupDay:
    return group_day("g", facts, configured, DAY, STALE_MS)


def found(day: GroupDay) -> list[tuple[str, str, float, float]]:
    """Kind, cause, from and until (seconds after midnight) of each finding."""
    return [
        (each.kind, each.cause, (each.start_ms - at(0)) / 1_000, (each.end_ms - at(0)) / 1_000)
        for each in day.allocation_findings
    ]


def given_to(day: GroupDay) -> list[tuple[int, int, str | None, bool]]:
    """Queue, second from which on, owner, and whether it was carried."""
    return [
        (row.queue_id, (row.start_ms - at(0)) // 1_000, row.client_id, row.is_carried) for row in day.queue_allocation
    ]


JOINS = GroupFacts(
    member_lists=[members("x", 0, 400, 390), members("xy", 400, 1_000)],
    topics=[topic()],
    running=[ObservedClient(each, "AVG", client_version="4.9.8", message_model="CLUSTERING") for each in "xy"],
    answered=[answer("x", "01", 0, 500), answer("x", "0", 500, 1_000), answer("y", "", 400, 500),
              answer("y", "1", 500, 1_000)],
    answer_gaps=[AnswerGap("x", 10_000)],
)  # fmt: skip
"""y joins at second 400, when the last list without it is 10 s old, and has its queue 100 s later."""


def test_each_table_of_a_day_on_which_a_client_joins() -> None:
    day = of(JOINS, None)
    should = Expected("T", at(0), at(400), "AVG", "RUNNING_INFO", None, "a", 0, True, "x", False)
    own = Holding(at(0), at(1_000), "T", "a", 0, "x", popped=False, source="RUNNING_INFO", last_answer_ms=at(999))
    late = Finding(
        at(400), at(431), "AGAINST_STRATEGY", "OBSERVED", "REBALANCE_NOT_RUN", "T", "a", 1, ("x", "y"), ("y",), ("x",),
        f"g {at(400)} JOINED",
    )  # fmt: skip
    after = replace(should, start_ms=at(400), end_ms=at(1_000))
    assert day.queue_allocation == [
        should, replace(should, queue_id=1), after, replace(after, queue_id=1, client_id="y")
    ]  # fmt: skip
    assert day.queue_ownership == [
        own, replace(own, queue_id=1, end_ms=at(500), last_answer_ms=at(499)),
        replace(own, queue_id=1, client_id="y", start_ms=at(500)),
    ]  # fmt: skip
    assert [replace(each, sentence="") for each in day.allocation_findings] == [
        late, replace(late, start_ms=at(431), end_ms=at(500), cause="UNEXPLAINED")
    ]  # fmt: skip
    assert [each.sentence for each in day.allocation_findings] == [
        (
            "g, T, a queue 1: a client that should not own the queue has it for 31.0 s"
            " (expected y, held by x; members had changed, and clients rebalance within 20 s)"
        ),
        (
            "g, T, a queue 1: a client that should not own the queue has it for 69.0 s"
            " (expected y, held by x; the data does not show why)"
        ),
    ]
    (joins,) = day.group_events
    assert replace(joins, troubles=()) == GroupEvent(
        f"g {at(400)} JOINED", "JOINED", at(400), None, at(400), at(400), at(500), ("y",), (), (), moved=1,
        unowned_queues=0, unowned_ms=0, doubly_owned_queues=0, doubly_owned_ms=0, misplaced_queues=1,
        misplaced_ms=100_000, causes=("REBALANCE_NOT_RUN", "UNEXPLAINED"), troubles=(),
        sentence="g: y joined; of its queues 1 had the wrong owner for up to 100.0 s; why: time between rebalances",
    )  # fmt: skip
    assert [(each["queue_id"], each["start_ms"], each["end_ms"]) for each in joins.queues] == [
        (1, at(400), at(431)), (1, at(431), at(500))
    ]  # fmt: skip
    assert day.rebalances == [Rebalance("T", at(400), "JOINED", ("y",), (), queues=2, moved=1, fewest_moves=1)]
    assert day.strategy_comparison[0] == Compared(
        "T", "AVG", True, 1, 1, 1, imbalance_max=0, broker_skew=0, unassigned_max=0, imbalance_mean=0.0
    )  # fmt: skip
    assert [each.strategy for each in day.strategy_comparison[1:]] == ["AVG_BY_CIRCLE", "CONSISTENT_HASH"]
    assert not any(each.is_own for each in day.strategy_comparison[1:])


@pytest.mark.parametrize(
    ("shown", "configured", "source"),
    [
        (GroupFacts(connected=[ObservedClient("x", message_model="CLUSTERING")]), None, "ASSUMED"),
        (GroupFacts(logged=[ObservedClient("x", "AVG")]), None, "CLIENT_LOG"),
        (GroupFacts(running=[ObservedClient("x", "AVG")]), None, "RUNNING_INFO"),
        (GroupFacts(), AVG, "SETTINGS"),
        (GroupFacts(), GroupSettings(), "ASSUMED"),
        (GroupFacts(), None, None),
    ],
)
def test_a_strategy_is_known_by_clients_or_by_settings(
    shown: GroupFacts, configured: GroupSettings | None, source: str | None
) -> None:
    """Of a group that neither shows nothing can be expected; what else there is to say of it is said."""
    facts = replace(shown, topics=[topic()], member_lists=[members("xx", 0, 1_000)], answered=[answer("x", "0", 0, 9)])
    day = of(facts, configured)
    assert {row.strategy_source for row in day.queue_allocation} == ({source} if source else set())
    cause = "NONE_NEEDED" if source else "MODEL_UNKNOWN"
    assert ("DUPLICATE_CLIENT_ID", cause, 0, 1_000) in found(day)
    assert len(day.queue_ownership) == 1


def test_a_client_whose_strategy_throws_keeps_what_it_had_at_midnight() -> None:
    throws = StrategySettings(strategy="CONSISTENT_HASH", virtual_nodes=-1)
    facts = GroupFacts(
        member_lists=[members("xy", 0, 1_000)], topics=[topic()], owners_before=[OwnerBefore("T", None, "a", 0, "y")]
    )
    day = of(facts, GroupSettings(strategy="AVG", clients={"y": throws}))
    assert given_to(day) == [(0, 0, "x", False), (0, 0, "y", True), (1, 0, None, False)]
    assert found(day) == [
        ("DOUBLY_OWNED", "STRATEGY_FAILS", 0, 1_000), ("UNASSIGNED", "STRATEGY_FAILS", 0, 1_000),
        ("MIXED_STRATEGIES", "NONE_NEEDED", 0, 1_000),
    ]  # fmt: skip


def test_what_was_carried_over_midnight_counts_in_the_own_strategy_and_in_no_other() -> None:
    """No room is known of x, on which both strategies near by throw: x keeps queue 0, by the group's own."""
    nearby = GroupSettings(strategy="MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE", client_room="^(room)")
    facts = GroupFacts(
        member_lists=[members("x", 0, 1_000)], topics=[topic()], owners_before=[OwnerBefore("T", None, "a", 0, "x")]
    )
    day = of(facts, nearby)
    assert given_to(day) == [(0, 0, "x", True), (1, 0, None, False)]
    compared = {(each.strategy, each.is_own): each.unassigned_max for each in day.strategy_comparison}
    assert compared == {
        ("MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE", True): 1, ("AVG", False): 0, ("AVG_BY_CIRCLE", False): 0,
        ("CONSISTENT_HASH", False): 0, ("MACHINE_ROOM_NEARBY-AVG", False): 2,
    }  # fmt: skip


BEFORE = GroupFacts(
    topics=[topic()],
    members_before=[MemberList("a", ("x",), at(-2), at(0), at(-2))],
    owners_before=[OwnerBefore("T", None, "a", 0, "x"), OwnerBefore("T", None, "a", 1, "x")],
)


def test_what_changed_at_midnight_is_a_rebalance_of_the_day_and_counts_under_each_strategy() -> None:
    day = of(replace(BEFORE, member_lists=[members("xy", 0, 1_000)]))
    assert day.rebalances == [Rebalance("T", at(0), "JOINED", ("y",), (), queues=2, moved=1, fewest_moves=1)]
    assert [(each.strategy, each.rebalances) for each in day.strategy_comparison] == [
        ("AVG", 1), ("AVG_BY_CIRCLE", 1), ("CONSISTENT_HASH", 1)
    ]  # fmt: skip
    same = of(replace(BEFORE, member_lists=[members("x", 0, 1_000)]))
    assert (same.rebalances, {each.rebalances for each in same.strategy_comparison}) == ([], {0})


@pytest.mark.parametrize(
    "configured",
    [
        GroupSettings(message_model="BROADCASTING"),
        GroupSettings(strategy="AVG", client_rebalance=False, request_mode="POP", pop_share_queue_num=1),
    ],
)
def test_where_each_client_takes_everything_nothing_moves(configured: GroupSettings) -> None:
    """y joins at second 400 and leaves at 700: x has both queues all the time."""
    lists = [members("x", 0, 400), members("xy", 400, 700), members("x", 700, 1_000)]
    changes = of(GroupFacts(member_lists=lists, topics=[topic()]), configured).rebalances
    assert [(each.trigger, each.moved, each.fewest_moves) for each in changes] == [("JOINED", 0, 0), ("LEFT", 0, 0)]


def test_owners_at_midnight_are_those_that_the_day_before_published() -> None:
    """Whatever the strategy would have given them: z owned queue 1, and y now has it."""
    owners = [OwnerBefore("T", None, "a", 0, "x"), OwnerBefore("T", None, "a", 1, "z")]
    facts = replace(BEFORE, members_before=[MemberList("a", ("x", "z"), at(-2), at(0), at(-2))], owners_before=owners)
    (change,) = of(replace(facts, member_lists=[members("xy", 0, 1_000)])).rebalances
    assert (change.trigger, change.joined, change.left, change.moved) == ("JOINED_AND_LEFT", ("y",), ("z",), 1)
    kept = [replace(each, queue_id=1 - each.queue_id) for each in owners]
    (change,) = of(replace(facts, owners_before=kept, member_lists=[members("xy", 0, 1_000)])).rebalances
    assert change.moved == 2  # x had queue 1, and has queue 0 now


def test_a_list_that_ended_at_midnight_shows_a_return_and_is_not_of_the_day() -> None:
    """Its members have one id twice, for no time of this day; with it x returns three times."""
    away = [members("y", since, since + 10) for since in (1, 21, 41)]
    there = [members("xy", since, since + 10) for since in (11, 31)]
    lists = [members("xxy", 0, 0), members("y", 0, 1), *away, *there, members("xy", 51, 1_000)]
    facts = GroupFacts(member_lists=lists, topics=[topic()])
    assert found(of(facts)) == [("FLAPPING", "NONE_NEEDED", 11, 72)]
    assert found(of(replace(facts, member_lists=lists[1:]))) == []


def test_a_flapping_member_explains_what_is_owned_otherwise() -> None:
    lists = [members("xy", 0, 10), members("y", 10, 20), members("xy", 20, 30), members("y", 30, 40),
             members("xy", 40, 50), members("y", 50, 60), members("xy", 60, 1_000)]  # fmt: skip
    facts = GroupFacts(
        member_lists=lists, topics=[topic()], answered=[answer("y", "01", 60, 120), answer("x", "", 60, 120)]
    )
    (_, _, since, _), *_ = found(of(facts))
    assert (since, [cause for _, cause, _, _ in found(of(facts))]) == (60, ["FLAPPING", "UNEXPLAINED", "NONE_NEEDED"])


def test_brokers_that_differ_for_long() -> None:
    """Each client asks one of them: the first counts as the history, and what is owned otherwise is explained."""
    lists = [members("x", 0, 100), members("x", 0, 100, broker="b"),
             members("x", 100, 1_000), members("xy", 100, 1_000, broker="b")]  # fmt: skip
    facts = GroupFacts(
        member_lists=lists, topics=[topic(RoutedBroker("a", 1), RoutedBroker("b", 1))],
        answered=[answer("y", "0", 200, 400)],
    )  # fmt: skip
    day = of(facts)
    assert {row.view_broker_name for row in day.queue_allocation} == {None, "a", "b"}
    assert [(each.trigger, each.changed_at_ms) for each in day.rebalances] == [("VIEW", at(100))]
    assert found(day) == [
        ("AGAINST_STRATEGY", "VIEWS_DIFFER", 200, 400), ("UNASSIGNED", "VIEWS_DIFFER", 200, 400),
        ("VIEWS_DIFFER", "NONE_NEEDED", 100, 1_000),
    ]  # fmt: skip


def test_a_broker_that_differed_once_is_not_the_history_of_those_that_differ_later() -> None:
    """Broker a lags for 20 s, and is off the route when b and c begin to differ: then b counts, by which z joins."""
    three, two = (tuple(RoutedBroker(each, 1) for each in names) for names in ("abc", "bc"))
    routes = Route(three, at(0), at(300), at(300)), Route(two, at(300), at(1_000), at(1_000))
    lists = [
        members("x", 0, 120), members("xy", 120, 300),
        members("x", 0, 100, broker="b"), members("xy", 100, 700, broker="b"), members("xyz", 700, 1_000, broker="b"),
        members("x", 0, 100, broker="c"), members("xy", 100, 300, broker="c"), members("x", 300, 1_000, broker="c"),
    ]  # fmt: skip
    day = of(GroupFacts(member_lists=lists, topics=[Topic("T", at(0), at(1_000), routes, None)]))
    assert [(each.trigger, each.changed_at_ms, each.joined) for each in day.rebalances] == [
        ("VIEW", at(100), ()), ("VIEW", at(120), ("y",)), ("VIEW", at(300), ()), ("JOINED", at(700), ("z",))
    ]  # fmt: skip


def test_a_broker_that_differs_at_noon_is_not_the_history_of_those_that_differ_at_midnight() -> None:
    two, three = (tuple(RoutedBroker(each, 1) for each in names) for names in ("bc", "abc"))
    routes = Route(two, at(0), at(500), at(500)), Route(three, at(500), at(1_000), at(1_000))
    facts = GroupFacts(
        member_lists=[
            members("xyz", 0, 1_000, broker="b"), members("x", 0, 1_000, broker="c"), members("x", 500, 1_000)
        ],
        topics=[Topic("T", at(0), at(1_000), routes, two)],
        members_before=[members("xy", -2, 0, broker="b"), members("x", -2, 0, broker="c")],
        owners_before=[OwnerBefore("T", "b", "b", 0, "x"), OwnerBefore("T", "b", "c", 0, "y"),
                       OwnerBefore("T", "c", "b", 0, "x"), OwnerBefore("T", "c", "c", 0, "x")],
    )  # fmt: skip
    assert [(each.trigger, each.changed_at_ms, each.joined) for each in of(facts).rebalances] == [
        ("JOINED", at(0), ("z",)), ("VIEW", at(500), ())
    ]  # fmt: skip


def test_of_a_strategy_that_nobody_knows_no_owner_is_expected() -> None:
    facts = GroupFacts(member_lists=[members("x", 0, 1_000)], topics=[topic()], running=[ObservedClient("x", "Own")])
    day = of(replace(facts, owners_before=BEFORE.owners_before, members_before=BEFORE.members_before), None)
    assert (day.queue_allocation, day.rebalances, day.strategy_comparison) == ([], [], [])
    assert found(day) == [("NOT_DETERMINABLE", "STRATEGY_UNKNOWN", 0, 1_000)]


def test_a_member_of_a_strategy_that_nobody_knows_counts_while_it_is_one() -> None:
    facts = GroupFacts(
        member_lists=[members("x", 0, 500), members("xz", 500, 1_000)],
        topics=[topic()],
        running=[ObservedClient("x", "AVG"), ObservedClient("z", "Own")],
    )
    day = of(facts, None)
    assert given_to(day) == [(0, 0, "x", False), (1, 0, "x", False)]
    assert ("NOT_DETERMINABLE", "STRATEGY_UNKNOWN", 500, 1_000) in found(day)


def test_what_logs_show_of_a_client_that_stopped() -> None:
    """It lacks its queues from then on until its group forgets it, for the cause that its end is."""
    facts = GroupFacts(
        member_lists=[members("x", 0, 1_000)],
        topics=[topic(RoutedBroker("a", 1))],
        lifetimes=[Lifetime("x", at(0), at(500), ended=True)],
        logged_holdings=[Holding(at(0), at(500), "T", "a", 0, "x", popped=False, process="p")],
    )  # fmt: skip
    day = of(facts)
    assert day.queue_ownership == [
        Holding(at(0), at(500), "T", "a", 0, "x", popped=False, source="CLIENT_LOG", process="p")
    ]
    assert found(day) == [("UNASSIGNED", "STOPPED_NOT_EXPIRED", 500, 630)]


def test_what_is_in_sight_ends_with_the_day() -> None:
    end = (DAY.end_ms - DAY.start_ms) / 1_000
    late = Topic("T", at(0), DAY.end_ms, (Route((RoutedBroker("a", 1),), at(0), DAY.end_ms, DAY.end_ms),), None)
    facts = GroupFacts(
        member_lists=[members("x", 0, end)], topics=[late], lifetimes=[Lifetime("x", at(0), at(end - 60), ended=True)]
    )
    assert found(of(facts))[-1][3] == end


def test_an_answer_holds_no_longer_than_is_said() -> None:
    """Members of several languages: a finding up to the last answer and 60 s, and a cause up to then."""
    facts = GroupFacts(
        member_lists=[members("x", 0, 1_000)], topics=[topic(RoutedBroker("a", 1))],
        languages=[Languages(at(100), at(200))], answered=[answer("y", "0", 200, 300)],
    )  # fmt: skip
    assert found(of(facts)) == [
        ("AGAINST_STRATEGY", "MIXED_LANGUAGES", 200, 260), ("AGAINST_STRATEGY", "UNEXPLAINED", 260, 300),
        ("MIXED_LANGUAGES", "NONE_NEEDED", 100, 260),
    ]  # fmt: skip


def test_a_topic_without_a_route_is_found() -> None:
    missing = replace(topic(name="U"), routes=())
    day = of(GroupFacts(member_lists=[members("x", 0, 1_000)], topics=[topic(), missing]))
    (finding,) = day.allocation_findings
    assert (finding.kind, finding.cause, finding.topic, finding.start_ms, finding.end_ms) == (
        "TOPIC_WITHOUT_ROUTE", "ROUTE_UNKNOWN", "U", at(0), at(1_000)
    )  # fmt: skip
    assert finding.sentence == (
        "g, U: the name server has no route for 1000.0 s (no snapshot has it, or it is a static topic, whose"
        " logical queues are not read)"
    )


def test_rooms_of_the_settings_are_compared() -> None:
    facts = GroupFacts(member_lists=[members("x", 0, 1_000)], topics=[topic()])
    rooms = GroupSettings(strategy="AVG", machine_rooms=("a",))
    assert "MACHINE_ROOM" in {each.strategy for each in of(facts, rooms).strategy_comparison}


def test_a_client_of_another_strategy_is_mixed_while_it_is_a_member() -> None:
    lists = [members("x", 0, 100), members("xy", 100, 110), members("x", 110, 1_000)]
    named = [ObservedClient("x", "AVG"), ObservedClient("y", "AVG_BY_CIRCLE")]
    day = of(GroupFacts(member_lists=lists, topics=[topic()], running=named), None)
    assert {(row.start_ms - at(0), row.strategy) for row in day.queue_allocation} == {
        (0, "AVG"), (100_000, "MIXED"), (110_000, "AVG")
    }  # fmt: skip
    assert ("MIXED_STRATEGIES", "NONE_NEEDED", 100, 110) in found(day)


def test_a_quiet_day_has_the_strategy_of_the_day_before() -> None:
    """Of which no line of today tells, nor of any client."""
    owners = [OwnerBefore("T", None, "a", 0, "x", "AVG_BY_CIRCLE", "CLIENT_LOG")]
    day = of(GroupFacts(member_lists=[members("xy", 0, 1_000)], topics=[topic()], owners_before=owners), None)
    assert {(row.strategy, row.strategy_source) for row in day.queue_allocation} == {("AVG_BY_CIRCLE", "CLIENT_LOG")}


def test_a_group_that_broadcasts_has_no_twins_that_share() -> None:
    day = of(
        GroupFacts(member_lists=[members("xx", 0, 1_000)], topics=[topic()]),
        GroupSettings(message_model="BROADCASTING"),
    )
    assert found(day) == []
