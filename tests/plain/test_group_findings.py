"""Findings of a group that rest on members, routes and strategies alone, each by the smallest input that has it."""

from __future__ import annotations

import dataclasses
import datetime as dt

import pytest

from jobs.allocation.group.expected import expected
from jobs.allocation.group.finding import Finding
from jobs.allocation.group.findings import of_allocation, of_group, of_members, of_topics
from jobs.allocation.group.flapping import Flap
from jobs.allocation.group.inputs import Input
from jobs.allocation.group.known import Languages, MemberList, Route, RoutedBroker, Topic, Unheard
from jobs.allocation.group.observed_clients import ObservedClient
from jobs.allocation.group.sentence import sentence
from jobs.allocation.group.shares import Allocated
from jobs.allocation.group.strategy import GroupStrategy, group_strategy
from jobs.settings.consumer_groups import GroupSettings
from jobs.tables.day import Day
from udfs.shares import shares_of_group
from udfs.strategy import Queue, Strategy

DAY = Day(dt.date(2026, 11, 21), "c")
START, END = DAY.start_ms, DAY.end_ms
TWO: tuple[Queue, ...] = (("a", 0), ("a", 1))


def of(
    strategy: str,
    clients: str,
    queues: tuple[Queue, ...] = TWO,
    *,
    topic: str = "T",
    specs: dict[str, Strategy] | None = None,
    start_ms: int = START,
    end_ms: int = START + 1_000,
) -> Allocated:
    """A group of clients of one letter each, and what its strategy gives them."""
    specs = specs or {"*": Strategy(strategy)}
    given = Input(
        topic, None, queues, tuple(clients), views=1, start_ms=start_ms, end_ms=end_ms, strategy=strategy,
        strategies=tuple(specs.items()), strategy_source="SETTINGS",
    )  # fmt: skip
    return Allocated(given, shares_of_group(specs.items(), topic, queues, clients))


def found(*allocated: Allocated) -> list[tuple[str, str, str | None, int | None, str]]:
    """Kind, cause, broker, queue and clients of each."""
    rows = of_allocation(expected(allocated), allocated)
    assert all((row.topic, row.basis, row.owners_observed, row.sentence) == ("T", "EXPECTED", None, "") for row in rows)
    assert all((row.start_ms, row.end_ms) == (START, START + 1_000) for row in rows)
    of_queues = [row for row in rows if row.queue_id is not None]
    assert all(row.owners_expected == row.client_ids for row in of_queues)
    assert all(row.owners_expected is None for row in rows if row.queue_id is None)
    return [(row.kind, row.cause, row.broker_name, row.queue_id, "".join(row.client_ids)) for row in rows]


ROOMS = {"*": Strategy("MACHINE_ROOM", machine_rooms=("A",))}
OF_ROOMS: tuple[Queue, ...] = (("A@x", 0), ("A@x", 1), ("B@x", 0))


@pytest.mark.parametrize(
    ("allocated", "findings"),
    [
        (of("AVG", "xy"), []),
        (of("AVG", ""), []),
        (of("AVG", "xyz"), [("IDLE_CLIENT", "MORE_CLIENTS_THAN_QUEUES", None, None, "z")]),
        (of("AVG", "xx"), [("UNASSIGNED", "DUPLICATE_CLIENT_ID", "a", 1, "")]),
        (of("AVG", "xxz"), [("UNASSIGNED", "DUPLICATE_CLIENT_ID", "a", 1, ""),
                            ("IDLE_CLIENT", "MORE_CLIENTS_THAN_QUEUES", None, None, "z")]),
        (of("AVG", "xxy", (*TWO, ("a", 2))), [("UNASSIGNED", "DUPLICATE_CLIENT_ID", "a", 1, "")]),
        (of("CONFIG", "xx", specs={"*": Strategy("CONFIG", queues=(("a", 0),))}),
         [("UNASSIGNED", "STRATEGY_LEAVES_OUT", "a", 1, "")]),
        (of("CONFIG", "xy", specs={"*": Strategy("CONFIG", queues=(("a", 0), ("a", 1)))}),
         [("DOUBLY_OWNED", "STRATEGY_NAMES_TWICE", "a", 0, "xy"),
          ("DOUBLY_OWNED", "STRATEGY_NAMES_TWICE", "a", 1, "xy")]),
        (of("CONFIG", "xy",
            specs={"*": Strategy("CONFIG", queues=()), "x": Strategy("CONFIG", queues=(("a", 0),))}),
         [("UNASSIGNED", "STRATEGY_LEAVES_OUT", "a", 1, ""), ("IDLE_CLIENT", "STRATEGY_LEAVES_OUT", None, None, "y")]),
        (of("MIXED", "xy", specs={"*": Strategy("AVG"), "y": Strategy("CONFIG", queues=(("a", 0),))}),
         [("DOUBLY_OWNED", "MIXED_STRATEGIES", "a", 0, "xy"), ("UNASSIGNED", "MIXED_STRATEGIES", "a", 1, "")]),
        (of("BROKER:CONFIG", "xx"),
         [("UNASSIGNED", "STRATEGY_FAILS", "a", 0, ""), ("UNASSIGNED", "STRATEGY_FAILS", "a", 1, ""),
          ("IDLE_CLIENT", "STRATEGY_FAILS", None, None, "x")]),
        (of("POP:AVG", "xyz", (*TWO, ("a", 2), ("a", 3)),
            specs={"*": Strategy("POP:AVG", pop_share_queue_num=1)}), []),
        (of("MIXED", "xyz", specs={"*": Strategy("POP:AVG"), "x": Strategy("AVG")}), []),
        (of("BROADCASTING", "xy"), []),
        (of("MACHINE_ROOM", "xx", OF_ROOMS, specs=ROOMS),
         [("UNASSIGNED", "DUPLICATE_CLIENT_ID", "A@x", 1, ""), ("UNASSIGNED", "STRATEGY_LEAVES_OUT", "B@x", 0, "")]),
        (of("MACHINE_ROOM", "xx", (("A@x", 0), ("A@x", 1), ("A", 0)), specs=ROOMS),
         [("UNASSIGNED", "STRATEGY_LEAVES_OUT", "A", 0, ""), ("UNASSIGNED", "DUPLICATE_CLIENT_ID", "A@x", 1, "")]),
        (of("AVG", "xx", topic="%RETRY%G"), []),
    ],
)  # fmt: skip
def test_what_a_strategy_leaves_out_gives_twice_or_gives_nothing(
    allocated: Allocated, findings: list[tuple[str, str, str | None, int | None, str]]
) -> None:
    assert sorted(found(allocated), key=str) == sorted(findings, key=str)


def test_a_finding_goes_on_over_changes_that_leave_it_so() -> None:
    """Its interval ends where an input has it no more; each interval is looked at with its own members."""
    first, second = of("AVG", "xx"), of("AVG", "xx", start_ms=START + 1_000, end_ms=START + 3_000)
    third = of("AVG", "xy", start_ms=START + 3_000, end_ms=START + 4_000)
    (row,) = of_allocation(expected([first, second, third]), [first, second, third])
    assert (row.start_ms, row.end_ms, row.kind) == (START, START + 3_000, "UNASSIGNED")


def list_of(clients: str, start_ms: int, end_ms: int, broker: str = "a") -> MemberList:
    return MemberList(broker, tuple(clients), START + start_ms, START + end_ms, START + end_ms)


def group(
    *lists: MemberList,
    inputs: tuple[Input, ...] = (),
    flaps: tuple[Flap, ...] = (),
    languages: tuple[Languages, ...] = (),
    stale_ms: int = 300_000,
    strategy: GroupStrategy | None = None,
) -> list[Finding]:
    return of_group(lists, inputs, strategy, flaps, languages, DAY, stale_ms)


def test_a_group_whose_members_share_an_id_or_have_none() -> None:
    twins = MemberList("a", ("x", "x", "y", "z", "z"), START, START + 5, START + 5)
    assert group(twins, strategy=group_strategy(GroupSettings(), [])) == [
        Finding(START, START + 5, "DUPLICATE_CLIENT_ID", client_ids=("x", "z"))
    ]
    (unknown,) = group(twins)  # they may broadcast, where each has every queue
    assert (unknown.kind, unknown.cause) == ("DUPLICATE_CLIENT_ID", "MODEL_UNKNOWN")
    go = group_strategy(GroupSettings(), [ObservedClient("x", language="GO")])
    assert [each.cause for each in group(twins, strategy=go)] == ["MODEL_UNKNOWN"]
    assert sentence("g", unknown) == (
        "g: two connections have one client id for 0.0 s (x, z; nothing says whether the group broadcasts)"
    )
    nameless = MemberList("a", ("", "x"), START, START + 5, START + 5)
    assert group(nameless) == [Finding(START, START + 5, "EMPTY_CLIENT_ID")]


def test_a_broadcasting_client_takes_every_queue() -> None:
    """Neither a second connection of the id nor another list of members changes that (`RebalanceImpl`, 5.3.3)."""
    all_broadcast = group_strategy(GroupSettings(message_model="BROADCASTING"), [])
    split = Input("T", "a", TWO, ("x",), views=2, start_ms=START, end_ms=START + 600_000, strategy="BROADCASTING")
    assert group(list_of("xx", 0, 5), inputs=(split,), strategy=all_broadcast) == []
    assert group(list_of("xx", 0, 5), strategy=group_strategy(GroupSettings(), [])) == [
        Finding(START, START + 5, "DUPLICATE_CLIENT_ID", client_ids=("x",))
    ]


def test_a_group_is_without_consumers_while_no_broker_has_one() -> None:
    lists = (list_of("", 0, 100), list_of("x", 40, 60, "b"), list_of("", 60, 90, "b"))
    after = Finding(START + 60, START + 100, "GROUP_WITHOUT_CONSUMERS")
    assert of_members(lists, [], is_awaited=True) == [Finding(START, START + 40, "GROUP_WITHOUT_CONSUMERS"), after]
    assert of_members(lists, [], is_awaited=False) == [after]  # before x nobody ever consumed


def test_members_are_unknown_while_brokers_are_asked_and_none_has_a_list() -> None:
    unheard = [
        Unheard("a", "BROKERS_SILENT", START + 5, START + 30), Unheard("b", "BROKERS_REFUSE", START + 20, START + 40),
    ]  # fmt: skip
    assert of_members([list_of("x", 0, 10)], unheard, is_awaited=False) == [
        Finding(START + 10, START + 20, "MEMBERS_UNKNOWN", cause="BROKERS_SILENT"),
        Finding(START + 20, START + 40, "MEMBERS_UNKNOWN", cause="BROKERS_REFUSE"),
    ]


def test_what_cannot_be_computed_and_what_differs() -> None:
    base = {"view_broker_name": None, "queues": TWO, "client_ids": ("x",), "start_ms": START}
    unknown = Input("T", **base, views=1, end_ms=START + 5, undetermined="STRATEGY_UNKNOWN")  # type: ignore[arg-type]
    mixed = Input("T", **base, views=1, end_ms=START + 7, strategy="MIXED")  # type: ignore[arg-type]
    split = Input("T", **base, views=2, end_ms=START + 600_000, strategy="AVG")  # type: ignore[arg-type]
    assert group(inputs=(unknown,)) == [
        Finding(START, START + 5, "NOT_DETERMINABLE", cause="STRATEGY_UNKNOWN", topic="T")
    ]
    assert group(inputs=(mixed,)) == [Finding(START, START + 7, "MIXED_STRATEGIES")]
    assert group(inputs=(split,)) == [Finding(START, START + 600_000, "VIEWS_DIFFER")]
    by_proxy = dataclasses.replace(split, undetermined="CLIENTS_BY_PROXY")  # its clients ask no broker
    assert [each.kind for each in group(inputs=(by_proxy,))] == ["NOT_DETERMINABLE"]


def test_what_reaches_over_midnight_is_of_the_day() -> None:
    assert group(flaps=(("x", START - 5, START + 9),)) == [Finding(START, START + 9, "FLAPPING", client_ids=("x",))]
    assert group(flaps=(("x", END - 5, END + 9),)) == [Finding(END - 5, END, "FLAPPING", client_ids=("x",))]
    assert group(languages=(Languages(START + 1, START + 2),), stale_ms=10) == [
        Finding(START + 1, START + 12, "MIXED_LANGUAGES")
    ]
    assert group(languages=(Languages(END - 3, END - 2),), stale_ms=10) == [Finding(END - 3, END, "MIXED_LANGUAGES")]


def route(*brokers: str, start_ms: int, end_ms: int) -> Route:
    return Route(tuple(RoutedBroker(each, 4) for each in brokers), START + start_ms, START + end_ms, START + end_ms)


@pytest.mark.parametrize(
    ("routes", "findings"),
    [
        ((), [("ROUTE_UNKNOWN", 10, 90)]),
        ((route("a", start_ms=20, end_ms=20),), [("ROUTE_UNKNOWN", 10, 90)]),
        ((route("a", start_ms=0, end_ms=100),), []),
        ((route(start_ms=0, end_ms=100),), [("NO_ROUTE", 10, 90)]),
        ((route("a", start_ms=0, end_ms=40), route(start_ms=40, end_ms=60), route("a", start_ms=60, end_ms=100)),
         [("NO_ROUTE", 40, 60)]),
        ((route(start_ms=0, end_ms=10), route("a", start_ms=59, end_ms=90)), []),
        ((route("a", start_ms=0, end_ms=40),), [("ROUTE_UNKNOWN", 40, 90)]),
        ((route("a", start_ms=0, end_ms=41),), []),  # a route that nobody asked for since holds as long
    ],
)  # fmt: skip
def test_a_topic_without_a_route(routes: tuple[Route, ...], findings: list[tuple[str, int, int]]) -> None:
    topic = Topic("T", START + 10, START + 90, routes, None)
    assert of_topics([topic], DAY, 49) == [
        Finding(START + since, START + until, "TOPIC_WITHOUT_ROUTE", cause=cause, topic="T")
        for cause, since, until in findings
    ]
    assert of_topics([Topic("%RETRY%G", START + 10, START + 90, routes, None)], DAY, 49) == []


def test_a_topic_of_yesterday_is_without_a_route_from_midnight() -> None:
    assert of_topics([Topic("T", START - 50, START + 90, (), None)], DAY, 300_000) == [
        Finding(START, START + 90, "TOPIC_WITHOUT_ROUTE", cause="ROUTE_UNKNOWN", topic="T")
    ]
