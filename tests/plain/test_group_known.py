"""What Arrow hands out of a consumer group, as the walk takes it."""

from __future__ import annotations

from jobs.allocation.group.known import (
    Answered,
    GroupFacts,
    MemberList,
    ProcessQueue,
    Route,
    RoutedBroker,
    Subscribed,
    Topic,
)


def test_lists_of_rows_are_tuples_of_what_they_hold() -> None:
    broker = {"broker_name": "a", "readable": 4}
    route = {"brokers": [broker], "start_ms": 1, "end_ms": 9, "last_answer_ms": 8}
    queue = {"topic": "T", "broker_name": "a", "queue_id": 0, "popped": False}
    times = {"start_ms": 1, "end_ms": 9}
    assert GroupFacts.from_rows(
        {
            "member_lists": [{"broker_name": "a", "client_ids": ["x", "x"], **times, "last_answer_ms": 8}],
            "topics": [
                {"topic": "T", "from_ms": 0, "until_ms": 9, "routes": [route], "route_before": [broker]},
                {"topic": "U", "from_ms": 0, "until_ms": 9, "routes": [], "route_before": None},
            ],
            "subscribed": [{"client_id": "x", "topics": ["T", None], **times}],
            "answered": [{"client_id": "x", "queues": [queue], **times, "last_answer_ms": 8}],
        }
    ) == GroupFacts(
        member_lists=[MemberList("a", ("x", "x"), 1, 9, 8)],
        topics=[
            Topic("T", 0, 9, (Route((RoutedBroker("a", 4),), 1, 9, 8),), (RoutedBroker("a", 4),)),
            Topic("U", 0, 9, (), None),
        ],
        subscribed=[Subscribed("x", ("T", None), 1, 9)],
        answered=[Answered("x", (ProcessQueue("T", "a", 0, popped=False),), 1, 9, 8)],
    )
