"""Changes of a consumer group as events: when, how, who noticed, and what the queues went through."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

import pytest

from jobs.allocation.group.changes import Change, changes
from jobs.allocation.group.events import GroupEvent, joined_changes, with_events
from jobs.allocation.group.finding import Finding
from jobs.allocation.group.known import (
    GroupFacts,
    Lifetime,
    MemberList,
    Refusal,
    Route,
    RoutedBroker,
    Silence,
    Topic,
    Unheard,
)
from jobs.allocation.group.rebalances import Rebalance
from jobs.allocation.group.sentence import event_sentence
from jobs.kinds import GroupEventKind
from jobs.tables.day import Day

DAY = Day(dt.date(2026, 11, 21), "c")


def at(second: float) -> int:
    """A second of the day."""
    return DAY.start_ms + int(second * 1_000)


def members(ids: str, since: float, until: float, broker: str = "a") -> MemberList:
    """One letter is one client; captured every 10 s."""
    return MemberList(broker, tuple(ids), at(since), at(until), at(until - 10))


def seen(facts: GroupFacts) -> list[tuple[str, str, float | None, float | None, float | None]]:
    """Kind, clients, and seconds: happened, first and last broker to show it."""

    def seconds(at_ms: int | None) -> float | None:
        return None if at_ms is None else (at_ms - DAY.start_ms) / 1_000

    return [
        (
            change.kind,
            "".join(change.client_ids or change.broker_names),
            seconds(change.happened_ms),
            seconds(change.noticed_from_ms),
            seconds(change.noticed_until_ms),
        )
        for change in joined_changes(changes(facts, DAY))
    ]


TWO_BROKERS = [
    members("x", 0, 100), members("xy", 100, 300), members("x", 300, 900),
    members("x", 0, 130, "b"), members("xy", 130, 250, "b"), members("x", 250, 900, "b"),
]  # fmt: skip
"""y appears on a at 100 and on b at 130; b drops it at 250 and a at 300."""


ONE = [members("x", 0, 900)]


def test_a_group_that_no_broker_listed_has_no_event() -> None:
    lives = [Lifetime("x", at(10), at(200), ended=True)]
    assert seen(GroupFacts(lifetimes=lives)) == []
    assert seen(GroupFacts(lifetimes=lives, member_lists=ONE)) != []


def test_members_come_and_go_as_the_first_and_the_last_broker_show_it() -> None:
    assert seen(GroupFacts(member_lists=TWO_BROKERS)) == [
        ("JOINED", "y", None, 100, 130),
        ("LEFT", "y", None, 250, 300),
    ]


@pytest.mark.parametrize(("ended", "kind"), [(True, "STOPPED"), (False, "KILLED")])
def test_the_clients_log_says_when_and_how(*, ended: bool, kind: str) -> None:
    facts = GroupFacts(member_lists=TWO_BROKERS, lifetimes=[Lifetime("y", at(95), at(240), ended)])
    assert seen(facts) == [("JOINED", "y", 95, 100, 130), (kind, "y", 240, 250, 300)]


def test_a_client_that_stood_still_while_brokers_dropped_it() -> None:
    facts = GroupFacts(
        member_lists=TWO_BROKERS,
        lifetimes=[Lifetime("y", at(95), at(900), ended=False)],
        silences=[Silence("y", at(130), at(131)), Silence("y", at(180), at(420))],
    )
    assert seen(facts)[1] == ("PAUSED", "y", 180, 250, 300)
    assert joined_changes(changes(facts, DAY))[1].acts_until_ms == at(420 + 42)


def test_a_log_that_went_on_does_not_say_why_brokers_dropped_the_client() -> None:
    facts = GroupFacts(member_lists=TWO_BROKERS, lifetimes=[Lifetime("y", at(95), at(900), ended=False)])
    assert seen(facts)[1] == ("LEFT", "y", None, 250, 300)


def test_a_log_that_ends_long_before_is_not_the_clients_end() -> None:
    facts = GroupFacts(member_lists=TWO_BROKERS, lifetimes=[Lifetime("y", at(95), at(110), ended=False)])
    assert seen(facts)[1] == ("LEFT", "y", None, 250, 300)


def test_a_log_that_ends_near_midnight_may_go_on_tomorrow() -> None:
    lists = [members("xy", 0, 86_350), members("x", 86_350, 86_400)]
    for last_s in (86_300, 86_400):
        facts = GroupFacts(member_lists=lists, lifetimes=[Lifetime("y", at(0), at(last_s), ended=False)])
        assert [kind for kind, *_ in seen(facts)] == ["LEFT"]


def test_a_start_is_told_once_however_late_a_broker_shows_it() -> None:
    facts = GroupFacts(
        member_lists=[members("x", 0, 100), members("xy", 700, 900)],
        lifetimes=[Lifetime("y", at(300), at(900), ended=False)],
    )
    assert seen(facts) == [("JOINED", "y", 300, 700, 700)]


def test_a_restart_between_two_captures_is_known_from_the_log_alone() -> None:
    lives = [Lifetime("x", at(0), at(200), ended=False), Lifetime("x", at(230), at(900), ended=False)]
    facts = GroupFacts(member_lists=[members("x", 0, 900)], lifetimes=lives)
    assert seen(facts) == [("KILLED", "x", 200, None, None), ("JOINED", "x", 230, None, None)]


def test_the_first_lists_are_a_change_only_if_the_day_before_is_known() -> None:
    lists = [members("xy", 0, 900)]
    assert seen(GroupFacts(member_lists=lists)) == []
    before = [MemberList("a", ("x", "z"), at(-2), at(0), at(-2))]
    assert seen(GroupFacts(member_lists=lists, members_before=before)) == [
        ("JOINED", "y", None, 0, 0), ("LEFT", "z", None, 0, 0),
    ]  # fmt: skip


def test_what_happened_while_nobody_was_asked_shows_afterwards() -> None:
    lists = [members("x", 0, 100), members("xy", 500, 900)]
    assert seen(GroupFacts(member_lists=lists)) == [("JOINED", "y", None, 500, 500)]


def test_after_a_gap_brokers_answer_one_after_the_other() -> None:
    lists = [members("xz", 0, 100), members("x", 500, 900), MemberList("b", ("x", "z"), at(500.04), at(900), at(890))]
    assert seen(GroupFacts(member_lists=lists)) == []


def test_clients_that_start_within_the_time_between_rebalances_are_one_event() -> None:
    lists = [
        members("x", 0, 100),
        members("xy", 100, 120),
        members("xyz", 120, 150),
        members("wxyz", 150, 900),
    ]
    assert seen(GroupFacts(member_lists=lists)) == [
        ("JOINED", "yz", None, 100, 120), ("JOINED", "w", None, 150, 150),
    ]  # fmt: skip


ROUTES = (
    Route((RoutedBroker("a", 4), RoutedBroker("b", 4)), at(0), at(210), at(200)),
    Route((RoutedBroker("a", 4),), at(210), at(240), at(230)),
    Route((RoutedBroker("a", 4), RoutedBroker("b", 4)), at(240), at(900), at(890)),
)
TOPIC = Topic("T", at(0), at(900), ROUTES, None)


def test_a_silent_broker_takes_in_its_routes_and_the_members_that_come_back_to_it() -> None:
    """b restarts with an empty list; a is asked again once y has reached b."""
    lists = [
        members("xy", 0, 200), members("xy", 0, 200, "b"),
        members("x", 230, 260, "b"), members("xy", 260, 900, "b"),
    ]  # fmt: skip
    silent = [Unheard("b", "BROKERS_SILENT", at(200), at(230)), Unheard("a", "BROKERS_SILENT", at(205), at(230))]
    (event,) = joined_changes(changes(GroupFacts(member_lists=lists, unheard=silent, topics=[TOPIC]), DAY))
    assert (event.kind, event.broker_names, event.topics) == ("BROKERS_UNREACHABLE", ("a", "b"), ("T",))
    assert (event.noticed_from_ms, event.noticed_until_ms) == (at(200), at(230))
    gone = [lists[0], lists[1], members("x", 230, 900, "b")]
    assert [kind for kind, *_ in seen(GroupFacts(member_lists=gone, unheard=silent))] == ["BROKERS_UNREACHABLE", "LEFT"]


def test_a_client_that_a_healthy_broker_drops_has_left() -> None:
    """b is away for 5 s; a answers all the time, and y is on no list for 30 s."""
    lists = [
        members("xy", 0, 270), members("x", 270, 300), members("xy", 300, 900),
        members("xy", 0, 200, "b"), members("x", 205, 300, "b"), members("xy", 300, 900, "b"),
    ]  # fmt: skip
    facts = GroupFacts(member_lists=lists, unheard=[Unheard("b", "BROKERS_SILENT", at(200), at(205))])
    assert [kind for kind, *_ in seen(facts)] == ["BROKERS_UNREACHABLE", "LEFT", "JOINED"]


def test_brokers_are_one_change_if_they_fall_silent_and_come_back_together() -> None:
    unheard = [
        Unheard("dead", "BROKERS_SILENT", at(0), at(86_400)),  # at 00:00 already
        Unheard("z", "BROKERS_SILENT", at(600), at(86_400)),
        Unheard("a", "BROKERS_SILENT", at(3_600), at(3_660)),
        Unheard("b", "BROKERS_SILENT", at(3_610), at(3_690)),
    ]
    found = joined_changes(changes(GroupFacts(member_lists=ONE, unheard=unheard), DAY))
    assert [(change.broker_names, change.noticed_until_ms) for change in found] == [
        (("z",), None), (("a", "b"), at(3_690)),
    ]  # fmt: skip
    assert [found[0].acts_at(at(second)) for second in (610, 681, 682, 40_000)] == [True, True, False, False]
    (event, _), _ = with_events(found, [], [], owners_known=[], consumer_group="g", day=DAY)
    assert event_sentence("g", event).startswith("g: z did not answer until 24:00; ")


def test_a_broker_that_restarts_without_a_client_has_not_noticed_that_it_left() -> None:
    lists = [*TWO_BROKERS[:3], members("xy", 0, 150, "b"), members("x", 180, 900, "b")]
    assert seen(GroupFacts(member_lists=lists))[-1] == ("LEFT", "y", None, 300, 300)


def test_a_broker_that_lost_a_client_for_a_while_notices_its_stop_when_it_drops_it_for_good() -> None:
    """Broker b restarts, has y again with its next heartbeat, and drops it at 310; y comes back in the evening."""
    of_b = [members("xy", 0, 200, "b"), members("x", 200, 230, "b"), members("xy", 230, 310, "b")]
    lists = [*TWO_BROKERS[:2], members("x", 300, 800), members("xy", 800, 900), *of_b, members("x", 310, 900, "b")]
    facts = GroupFacts(member_lists=lists, lifetimes=[Lifetime("y", at(-50), at(299), ended=True)])
    assert ("STOPPED", "y", 299, 300, 310) in seen(facts)


def test_a_broker_that_refuses_or_was_silent_at_midnight_is_not_a_change() -> None:
    unheard = [Unheard("a", "BROKERS_REFUSE", at(50), at(90)), Unheard("b", "BROKERS_SILENT", at(0), at(90))]
    assert seen(GroupFacts(member_lists=ONE, unheard=unheard)) == []


def test_routes_change_for_all_topics_at_once_but_not_by_an_answer_without_queues() -> None:
    empty = Route((), at(210), at(240), at(230))
    blip = Topic("E", at(0), at(900), (ROUTES[0], empty, ROUTES[2]), None)
    retry = Topic("%RETRY%g", at(0), at(900), ROUTES, None)
    (away, *_) = found = joined_changes(
        changes(
            GroupFacts(member_lists=ONE, topics=[TOPIC, Topic("U", at(0), at(900), ROUTES, None), blip, retry]), DAY
        )
    )
    assert [(change.topics, change.start_ms) for change in found] == [(("T", "U"), at(210)), (("T", "U"), at(240))]
    assert (away.kind, away.broker_names, away.acts_from_ms) == ("ROUTE_CHANGED", ("b",), at(200))


def test_a_route_that_changed_at_midnight() -> None:
    before = (RoutedBroker("a", 4),)
    at_midnight = Topic("T", at(0), at(900), (Route((RoutedBroker("a", 8),), at(0), at(900), at(890)),), before)
    (event,) = joined_changes(changes(GroupFacts(member_lists=ONE, topics=[at_midnight]), DAY))
    assert (event.kind, event.start_ms) == ("ROUTE_CHANGED", at(0))


def test_queues_given_up_to_set_their_offsets() -> None:
    drops = [Refusal("T", "a", number, at(50 + number), "DROPPED") for number in range(3)]
    (event,) = joined_changes(
        changes(GroupFacts(member_lists=ONE, refusals=[*drops, Refusal("T", "a", 9, at(70), "LOCK_FAILED")]), DAY)
    )
    assert (event.kind, event.topics, event.start_ms) == ("OFFSETS_RESET", ("T",), at(50))


JOIN = Change(GroupEventKind.JOINED, at(95), at(100), at(130), at(90), at(172), client_ids=("y",))
STOP = Change(GroupEventKind.STOPPED, at(150), at(151), at(152), at(149), at(192), client_ids=("z",))


def missing(since: float, until: float, cause: str = "REBALANCE_NOT_RUN", queue_id: int = 0, ids: str = "x") -> Finding:
    """Nobody has the queue."""
    return Finding(
        at(since), at(until), "UNASSIGNED", "OBSERVED", cause, "T", "a", queue_id, tuple(ids), ("x",), ()
    )  # fmt: skip


ALWAYS = [(at(0), at(86_400))]


def told(
    findings: Sequence[Finding], known: Sequence[tuple[int, int]] = ALWAYS
) -> tuple[list[GroupEvent], list[Finding]]:
    moves = [
        Rebalance("T", at(100), "JOINED", ("y",), (), 4, 2, 2),
        Rebalance("%RETRY%g", at(100), "JOINED", (), (), 1, 1, 1),
    ]
    return with_events(
        [JOIN, STOP], findings, moves, owners_known=known, consumer_group="g", day=DAY
    )  # fmt: skip


def test_what_every_rebalance_shows_is_part_of_the_event_and_longer_troubles_are_findings_too() -> None:
    short, long = missing(100, 141.9), missing(100, 142, queue_id=1)
    (joins, stops), left = told([short, long])
    assert (joins.unowned_queues, joins.unowned_ms, joins.moved, joins.settled_ms) == (2, 42_000, 2, at(142))
    assert (stops.unowned_queues, stops.queues, stops.settled_ms) == (0, (), at(152))
    assert [(finding.queue_id, finding.event_id) for finding in left] == [(1, joins.event_id)]


def test_a_trouble_with_two_causes_is_one_trouble() -> None:
    parts = [missing(100, 130), missing(130, 150, "UNEXPLAINED")]
    (joins, _), left = told(parts)
    assert (joins.unowned_ms, joins.causes, len(left)) == (50_000, ("REBALANCE_NOT_RUN", "UNEXPLAINED"), 2)


def test_what_several_clients_lack_is_one_time_of_the_queue() -> None:
    (joins, _), _ = told([missing(100, 130, ids="x"), missing(100, 130, ids="y"), missing(120, 140, ids="z")])
    assert (joins.unowned_queues, joins.unowned_ms, len(joins.queues)) == (1, 40_000, 2)


def test_what_lasts_for_another_reason_is_not_the_changes() -> None:
    lasting = [missing(20, 100, "MIXED_STRATEGIES"), missing(100, 110), missing(110, 400, "MIXED_STRATEGIES")]
    (joins, _), left = told(lasting)
    assert (joins.unowned_ms, joins.causes) == (10_000, ("REBALANCE_NOT_RUN",))
    assert [finding.event_id for finding in left] == [None, joins.event_id, None]


def test_a_queue_whose_owner_changes_while_it_has_none_is_one_trouble() -> None:
    """Each part is shorter than two rebalances, all of them together are not."""
    parts = [missing(100 + 20 * part, 120 + 20 * part) for part in range(4)]
    parts = [replace(part, owners_expected=(f"c{place}",)) for place, part in enumerate(parts)]
    (joins, stops), left = told(parts)
    assert {finding.event_id for finding in left} == {joins.event_id}
    assert (len(left), joins.unowned_ms, stops.unowned_ms) == (4, 80_000, 0)


def test_a_trouble_belongs_to_the_change_of_its_client_else_to_the_last_one() -> None:
    (joins, stops), _ = told([missing(155, 160), missing(155, 160, queue_id=1, ids="y"), missing(155, 160, queue_id=2)])
    assert [queue["queue_id"] for queue in joins.queues] == [1]
    assert [queue["queue_id"] for queue in stops.queues] == [0, 2]


@pytest.mark.parametrize(
    "finding",
    [
        missing(300, 310),  # nothing had changed
        missing(100, 110, "DUPLICATE_CLIENT_ID"),  # does not pass by itself
        missing(100, 200, "UNEXPLAINED"),
        Finding(at(100), at(110), "MEMBERS_UNKNOWN", cause="BROKERS_SILENT"),  # no broker was silent for an event
        Finding(at(100), at(110), "IDLE_CLIENT", cause="MORE_CLIENTS_THAN_QUEUES", topic="T"),
    ],
)
def test_findings_of_their_own(finding: Finding) -> None:
    assert told([finding])[1] == [finding]


def test_a_group_without_consumers_names_the_stop_that_left_it_so() -> None:
    (_, stops), (finding,) = told([Finding(at(152), at(800), "GROUP_WITHOUT_CONSUMERS")])
    assert (finding.event_id, stops.queues) == (stops.event_id, ())


def test_owners_that_nobody_knows_are_not_counted() -> None:
    (joins, _), _ = told([], [(at(0), at(89)), (at(200), at(300))])
    assert (joins.unowned_queues, joins.misplaced_ms, joins.settled_ms) == (None, None, None)
    assert event_sentence("g", joins) == (
        "g: y joined, first listed 5.0 s later; no answer or log shows who owned its queues"
    )


def test_a_trouble_until_midnight_is_not_settled() -> None:
    (joins, _), _ = told([missing(100, 86_400)])
    assert joins.settled_ms is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (STOP, "g: z stopped, and the last broker dropped it 2.0 s later"),
        (
            Change(GroupEventKind.LEFT, None, at(5), at(6), 0, 0, client_ids=("p", "q", "r", "s", "t")),
            "g: p, q, r and 2 more left, nothing shows why",
        ),
        (
            Change(GroupEventKind.BROKERS_UNREACHABLE, None, at(5), at(30.2), 0, 0, broker_names=("a", "b")),
            "g: a, b did not answer for 25.2 s",
        ),
        (
            Change(GroupEventKind.ROUTE_CHANGED, None, at(5), at(5), 0, 0, broker_names=("a",), topics=("T",)),
            "g: queues of T changed at a",
        ),
        (Change(GroupEventKind.OFFSETS_RESET, at(5), None, None, 0, 0, topics=("T",)), "g: offsets of T were set"),
    ],
)
def test_an_event_in_words(change: Change, words: str) -> None:
    (event,), _ = with_events([change], [], [], owners_known=[(0, at(86_400))], consumer_group="g", day=DAY)
    assert event_sentence("g", event) == words
