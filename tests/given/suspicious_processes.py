"""Suspicious stretches of one process: the writes that its log shows, its first attempts, and the routes of topic T."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from typing import NamedTuple

from jobs.fault_latency.inference.fault_item import Write, WriteRules, replayed
from jobs.fault_latency.inference.known_route import KnownRoute, Span
from jobs.fault_latency.inference.producer_process import Attempt, Knowledge, ProducerProcess
from jobs.fault_latency.producers.rules import policies
from jobs.settings.client_profiles import released_profiles
from udfs.fault_window import FAR_MS

POLICIES = policies(released_profiles(), {})
RULES = WriteRules.of(POLICIES, 1)


class Answer(NamedTuple):
    """Routes of topic T: from, until, brokers, the write queues of each, permission, and if they have masters."""

    since_ms: int
    until_ms: int
    brokers: str
    queues: int
    perm: int = 6
    has_master: bool = True


@dataclass(frozen=True)
class Suspicious:
    """One stretch; `earlier`: of brokers whose fault items are older, when they were written first."""

    writes: Sequence[Write]
    attempts: Sequence[Attempt]
    answers: Sequence[Answer]
    earlier: Mapping[str, int] = field(default_factory=dict)

    @property
    def first_pass(self) -> list[Write]:
        """The writes with their positions."""
        by_broker = groupby(sorted(self.writes, key=lambda each: each.broker_name), key=lambda each: each.broker_name)
        states = [state for _, own in by_broker for state in replayed(own, RULES)]
        return [replace(state.last_write, first_position=state.position) for state in states]

    def process(self) -> ProducerProcess:
        """As the walk gets it."""
        first_ms = {each.broker_name: each.at_ms for each in self.first_pass if each.first_position == 1}
        routes = {("c", "T"): route_of(self.answers)}
        return ProducerProcess(
            self.first_pass, self.attempts, Knowledge("c", routes, RULES, first_ms | dict(self.earlier))
        )


def write_to(broker_name: str, at_ms: int, latency_ms: int, not_available_ms: int, **other: object) -> Write:
    """One update of a client of 4.9.4, on a thread of its own: failing when it isolates."""
    values: dict[str, object] = dict.fromkeys(each.name for each in fields(Write)) | {
        "broker_name": broker_name,
        "at_ms": at_ms,
        "step": 4,
        "thread": f"t{at_ms}",
        "current_latency_ms": latency_ms,
        "is_failure": not_available_ms > 0,
        "reachable": True,
        "cause": "LATENCY",
        "evidence": "LOGGED",
        "seq": at_ms,
        "row_hash": at_ms,
        "policy": "P2",
        "profile": "P2",
        "version": "4.9.4",
        "op": "UPDATE",
        "not_available_ms": not_available_ms,
        "carried_extensions": 0,
    }
    return Write(**(values | other))  # type: ignore[arg-type]


def attempts_at(sends: Iterable[tuple[str, int]]) -> list[Attempt]:
    """First attempts of topic T: broker, and when it was chosen."""
    return [Attempt("T", broker, broker, "t0", at_ms, number) for number, (broker, at_ms) in enumerate(sends)]


def route_of(answers: Sequence[Answer]) -> KnownRoute:
    """What `known_routes_of` makes of these answers."""
    first, last = min(each.since_ms for each in answers), max(each.until_ms for each in answers)
    queued = [
        (
            each,
            Span(
                broker,
                0 if each.since_ms == first else each.since_ms,
                FAR_MS if each.until_ms == last else each.until_ms,
                each.queues,
            ),
        )
        for each in answers
        for broker in each.brokers
    ]
    permitted = [(each, span) for each, span in queued if each.perm & 2]
    counts = [span for each, span in permitted if each.has_master]
    times = sorted({(span.from_ms, span.until_ms) for span in counts})
    of_topic = [Span("", *time, sum(span.queues for span in counts if span[1:3] == time)) for time in times]
    return KnownRoute(
        first,
        _as_one(span for _, span in queued),
        _as_one(span for _, span in permitted),
        _as_one(counts),
        tuple(of_topic),
        tuple(sorted(counts)),
    )


def _as_one(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Those of a broker that overlap or touch, as one; without their queues."""
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and joined[-1].broker_name == span.broker_name and joined[-1].until_ms >= span.from_ms:
            joined[-1] = Span(span.broker_name, joined[-1].from_ms, max(joined[-1].until_ms, span.until_ms))
        else:
            joined.append(Span(span.broker_name, span.from_ms, span.until_ms))
    return tuple(joined)
