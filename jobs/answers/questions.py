"""Questions that `faultline show` answers: a table, the columns that fit a screen, and its filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.answers.causes import CAUSES, OUTCOMES
from jobs.answers.runs import ALLOCATION, FAULT_LATENCY, Flow
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

STRATEGY = "STRATEGY"
"""Source of an owner that was computed, beside those of `queue_ownership`."""


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
        flow: the flow that publishes the table.
        more_words: column to words that it may hold beside those of the table's closed list.
    """

    table: Table
    screen: Mapping[str, str]
    narrowed_by: Mapping[str, str]
    interval: tuple[str, str] | None
    order: tuple[str, ...]
    none: str
    flow: Flow
    more_words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def bounds(self) -> tuple[str, str]:
        """Columns where a row begins and ends; for a moment the same one, by which the rows are sorted."""
        return self.interval or (self.order[0], self.order[0])

    @property
    def closed(self) -> frozenset[str]:
        """Columns to narrow by that hold nothing but `words`."""
        return frozenset(self.narrowed_by.values()) & self.table.closed_lists.keys()

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """Column to narrow by to its words; a column that is not closed may hold others."""
        return {
            column: (*self.table.closed_lists.get(column, ()), *self.more_words.get(column, ()))
            for column in (*self.closed, *self.more_words)
        }


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
        FAULT_LATENCY,
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
        FAULT_LATENCY,
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
        FAULT_LATENCY,
        {"cause": CAUSES},
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
        FAULT_LATENCY,
        {"outcome": OUTCOMES},
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
        ALLOCATION,
        {"source": (STRATEGY,)},
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
        ALLOCATION,
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
        ALLOCATION,
    ),
}
"""Questions by their names on the command line."""
