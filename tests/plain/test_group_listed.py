"""A client that no broker lists any more owns nothing, whatever it answered before."""

from __future__ import annotations

import datetime as dt

from jobs.allocation.group.day import group_day
from jobs.allocation.group.known import (
    Answered,
    GroupFacts,
    MemberList,
    OwnerBefore,
    ProcessQueue,
    Route,
    RoutedBroker,
    Topic,
)
from jobs.allocation.group.listed import while_listed
from jobs.allocation.group.observed_clients import ObservedClient
from jobs.tables.day import Day

QUEUE = ProcessQueue("T", "a", 0, popped=False)
DAY = Day(dt.date(2026, 3, 1), "c")


def answered(start_ms: int, end_ms: int, last_ms: int, client_id: str = "x") -> Answered:
    return Answered(client_id, (QUEUE,), start_ms, end_ms, last_ms)


def listed(clients: str, start_ms: int, end_ms: int, broker: str = "a") -> MemberList:
    return MemberList(broker, tuple(clients), start_ms, end_ms, start_ms)


def spans(*parts: Answered) -> list[tuple[int, int]]:
    return [(each.start_ms, each.end_ms) for each in parts]


def test_the_last_answer_of_a_killed_client_holds_until_all_brokers_dropped_it() -> None:
    lists = [listed("xy", 0, 50), listed("y", 50, 200), listed("xy", 0, 60, "b"), listed("y", 60, 200, "b")]
    assert spans(*while_listed([answered(0, 145, 40), answered(0, 145, 40, "y")], lists)) == [(0, 60), (0, 145)]
    assert while_listed([answered(0, 145, 40)], lists)[0].last_answer_ms == 40


def test_a_client_that_came_back_owned_nothing_in_between() -> None:
    lists = [listed("x", 0, 50), listed("", 50, 80), listed("x", 80, 200)]
    assert spans(*while_listed([answered(0, 145, 100)], lists)) == [(0, 50), (80, 145)]


def test_a_client_that_answers_is_there_whoever_lists_it() -> None:
    lists = [listed("x", 0, 50), listed("", 50, 200)]
    assert spans(*while_listed([answered(0, 145, 60), answered(60, 145, 60), answered(50, 80, 50)], lists)) == [
        (0, 145), (60, 145), (50, 80),
    ]  # fmt: skip
    never = [listed("y", 0, 200)]
    assert spans(*while_listed([answered(0, 145, 40)], never)) == [(0, 145)]
    unheard = [listed("x", 0, 50), listed("x", 120, 200)]
    assert spans(*while_listed([answered(0, 145, 40)], unheard)) == [(0, 145)]


def test_a_queue_that_is_dropped_and_still_there_has_its_offset_reset() -> None:
    """Of a lone client's two queues one is dropped and then taken again: nobody has it in between, and it is known why.

    Without the dropped entry the same gap has no reason.
    """
    start_ms = DAY.start_ms

    def day(*rest: ProcessQueue) -> list[tuple[str, str, int, int]]:
        both = (QUEUE, ProcessQueue("T", "a", 1, popped=False))
        times = [(0, 300_000, both), (300_000, 360_000, (QUEUE, *rest)), (360_000, 900_000, both)]
        answers = [
            Answered("x", queues, start_ms + from_ms, start_ms + until_ms, start_ms + from_ms)
            for from_ms, until_ms, queues in times
        ]
        route = Route((RoutedBroker("a", 2),), start_ms, start_ms + 900_000, start_ms)
        known = GroupFacts(
            member_lists=[MemberList("a", ("x",), start_ms, start_ms + 900_000, start_ms)],
            members_before=[MemberList("a", ("x",), start_ms - 2_000, start_ms, start_ms - 2_000)],
            topics=[Topic("T", start_ms, start_ms + 900_000, (route,), route.brokers)],
            connected=[ObservedClient("x", client_version="4.8.3", message_model="CLUSTERING", language="JAVA")],
            owners_before=[OwnerBefore("T", None, "a", queue_id, "x") for queue_id in (0, 1)],
            answered=answers,
        )
        found = group_day("g", known, None, DAY, 300_000).allocation_findings
        return [(each.kind, each.cause, each.start_ms - start_ms, each.end_ms - start_ms) for each in found]

    assert day(ProcessQueue("T", "a", 1, popped=False, dropped=True)) == [
        ("UNASSIGNED", "OFFSET_RESET", 300_000, 360_000)
    ]
    assert day() == [("UNASSIGNED", "UNEXPLAINED", 300_000, 360_000)]
