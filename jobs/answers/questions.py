"""Questions that `faultline show` answers: a table, the columns that fit a screen, and its filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.tables import (
    ALLOCATION_FINDINGS,
    BROKER_INCIDENTS,
    FINDINGS,
    ISOLATION_INTERVALS,
    QUEUE_OWNERSHIP,
    REBALANCES,
    SENDS,
    Table,
)


@dataclass(frozen=True)
class Question:
    """One thing to ask.

    Attributes:
        table: the table that has the answer.
        screen: column to its heading in the text; JSON and CSV have every column of the table.
        narrowed_by: option to the column that has to equal it.
        interval: columns where a row begins and ends, epoch ms, the end exclusive; None for a moment.
        order: columns that the rows are sorted by.
        none: what to say when there is no such row.
    """

    table: Table
    screen: Mapping[str, str]
    narrowed_by: Mapping[str, str]
    interval: tuple[str, str] | None
    order: tuple[str, ...]
    none: str


QUESTIONS = {
    "incidents": Question(
        BROKER_INCIDENTS,
        {
            "start_ms": "from",
            "end_ms": "until",
            "broker_name": "broker",
            "peak_producers": "at the peak",
            "producers": "of producers",
            "never_noticed": "never noticed",
            "sends": "sends",
            "lost": "lost",
            "retried": "retried",
            "slowed": "slowed",
            "first_producer": "noticed first by",
        },
        {"broker": "broker_name"},
        ("start_ms", "end_ms"),
        ("start_ms", "broker_name"),
        "no incident",
    ),
    "findings": Question(
        FINDINGS,
        {
            "start_ms": "from",
            "end_ms": "until",
            "severity": "severity",
            "kind": "kind",
            "cause": "cause",
            "sentence": "in words",
        },
        {
            "kind": "kind",
            "severity": "severity",
            "cause": "cause",
            "broker": "broker_name",
            "producer": "client_id",
            "topic": "topic",
        },
        ("start_ms", "end_ms"),
        ("start_ms", "kind", "client_id", "broker_name", "topic"),
        "no finding",
    ),
    "isolations": Question(
        ISOLATION_INTERVALS,
        {
            "start_ms": "from",
            "end_ms": "until",
            "broker_name": "broker",
            "client_id": "producer",
            "client_version": "client",
            "cause": "cause",
            "opener_latency_ms": "latency ms",
            "ended_by": "ended by",
            "enforced": "enforced",
        },
        {"broker": "broker_name", "producer": "client_id", "cause": "cause"},
        ("start_ms", "end_ms"),
        ("start_ms", "broker_name", "client_id", "process"),
        "no isolation",
    ),
    "sends": Question(
        SENDS,
        {
            "ended_at_ms": "ended",
            "client_id": "producer",
            "topic": "topic",
            "broker_name": "broker",
            "queue_id": "queue",
            "mode": "mode",
            "attempt": "attempt",
            "latency_ms": "latency ms",
            "outcome": "outcome",
        },
        {"broker": "broker_name", "producer": "client_id", "topic": "topic", "outcome": "outcome"},
        None,
        ("ended_at_ms", "client_id", "seq", "row_hash"),
        "no send attempt",
    ),
    "owners": Question(
        QUEUE_OWNERSHIP,
        {
            "start_ms": "from",
            "end_ms": "until",
            "consumer_group": "group",
            "topic": "topic",
            "broker_name": "broker",
            "queue_id": "queue",
            "client_id": "owner",
            "source": "known from",
        },
        {"group": "consumer_group", "topic": "topic", "broker": "broker_name", "source": "source"},
        ("start_ms", "end_ms"),
        ("consumer_group", "topic", "broker_name", "queue_id", "start_ms", "source", "client_id"),
        "no owner",
    ),
    "group-findings": Question(
        ALLOCATION_FINDINGS,
        {
            "start_ms": "from",
            "end_ms": "until",
            "consumer_group": "group",
            "topic": "topic",
            "broker_name": "broker",
            "queue_id": "queue",
            "kind": "kind",
            "cause": "cause",
            "sentence": "in words",
        },
        {
            "group": "consumer_group",
            "topic": "topic",
            "broker": "broker_name",
            "kind": "kind",
            "cause": "cause",
        },
        ("start_ms", "end_ms"),
        ("start_ms", "consumer_group", "topic", "kind", "broker_name", "queue_id", "basis"),
        "no finding about a group",
    ),
    "rebalances": Question(
        REBALANCES,
        {
            "changed_at_ms": "at",
            "consumer_group": "group",
            "topic": "topic",
            "trigger": "trigger",
            "joined": "joined",
            "left": "left",
            "queues": "queues",
            "moved": "moved",
            "fewest_moves": "needed",
        },
        {"group": "consumer_group", "topic": "topic"},
        None,
        ("changed_at_ms", "consumer_group", "topic"),
        "no rebalance",
    ),
}
"""Questions by their names on the command line."""
