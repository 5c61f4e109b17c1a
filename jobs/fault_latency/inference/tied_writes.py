"""Writes that ran within a millisecond, and the first attempts that show which of them came last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobs.fault_latency.fault_items.replay import UPDATE
from jobs.fault_latency.inference.fault_item import FaultItem, State
from jobs.fault_latency.inference.known_route import KnownRoute
from jobs.fault_latency.inference.producer_process import Attempt, ProducerProcess
from jobs.fault_latency.producers.known_routes import ROUTE_LAG_MS

SHORTEST_MS = 20
"""A difference shorter than this is not worth a look, and no round of sends fits into it."""


@dataclass(frozen=True)
class End:
    """What one of the tied writes, if it came last, would have left."""

    until_ms: int
    cause: str | None


@dataclass(frozen=True)
class Tie:
    """The last write of a tie whose order matters.

    Attributes:
        last: the item after it, as the log's order has it.
        ends: what each of the tied writes would have left, ascending.
        shows_until_ms: up to then, or up to the next write, whose own attempt was chosen before it, the order shows.
    """

    last: State
    ends: tuple[End, ...]

    @property
    def broker_name(self) -> str:
        """Of the fault item."""
        return self.last.last_write.broker_name

    @property
    def ends_ms(self) -> list[int]:
        """The different ends, ascending."""
        return sorted({end.until_ms for end in self.ends})

    @property
    def shows_until_ms(self) -> int:
        """Up to then, or to the next write, whose own attempt was chosen before it, the order shows."""
        return min(self.ends[-1].until_ms - 1, self.last.next_or_far_ms)


def ties(process: ProducerProcess) -> Iterator[Tie]:
    """Ties under last-write-wins, in which each order that their threads leave open gives another end."""
    for item in process.items.values():
        for state in item.states:
            is_logged = state.last_write.first_position is not None and state.last_write.op == UPDATE
            if (
                not is_logged
                or not process.lets_last_write_win(state.last_write)
                or state.earliest_ms >= state.latest_ms
            ):
                continue
            if min(state.latest_ms, state.next_or_far_ms) - state.at_ms > SHORTEST_MS:
                tie = Tie(state, _ends(item, state))
                if tie.ends[0].until_ms < tie.ends[-1].until_ms and tie.shows_until_ms > state.at_ms:
                    yield tie


def _ends(item: FaultItem, last: State) -> tuple[End, ...]:
    """Unordered are writes of other threads in the same or the preceding millisecond; of one only its latest counts."""
    near = [
        each
        for each in item.written_within(last.at_ms - 1, last.at_ms)
        if each.position <= last.position and each.last_write.written_by_ms >= last.at_ms - 1
    ]
    by_thread = {each.last_write.thread: each.position for each in near}  # the latest, as they stand in order
    may_be_last = [
        each for each in near if each.last_write.thread is None or by_thread[each.last_write.thread] == each.position
    ]
    ends = (End(each.until_ms, each.last_write.cause) for each in may_be_last)
    return tuple(sorted(ends, key=lambda end: (end.until_ms, end.cause or "")))


@dataclass(frozen=True)
class Choice:
    """An attempt while a tie's order shows, with the route of its topic.

    Attributes:
        used_at_ms: when an attempt of its topic went to the broker last before the order shows, of the time from which
            a route may still be in use; None = none did.
    """

    attempt: Attempt
    route: KnownRoute
    used_at_ms: int | None

    @property
    def at_ms(self) -> int:
        """When the broker was chosen."""
        return self.attempt.chosen_at_ms


@dataclass(frozen=True)
class Choices:
    """The choices while a tie's order shows.

    Attributes:
        came_at_ms: the first attempt at the broker, of whatever topic; None = none came.
        all: those of topics whose route is known, in the order of time.
    """

    came_at_ms: int | None
    all: Sequence[Choice]


def choices_after(tie: Tie, process: ProducerProcess) -> Choices:
    """What the process chose while the tie's order shows."""
    at_ms, broker_name = tie.last.at_ms, tie.broker_name
    near = process.chosen_within(at_ms - ROUTE_LAG_MS, tie.shows_until_ms)
    after = [attempt for attempt in near if attempt.chosen_at_ms > at_ms]
    used_at_ms = {
        attempt.topic: attempt.chosen_at_ms
        for attempt in near
        if attempt.chosen_at_ms <= at_ms and attempt.goes_to(broker_name)
    }
    came_at_ms = next((attempt.chosen_at_ms for attempt in after if attempt.goes_to(broker_name)), None)
    routed = ((attempt, process.route_of(attempt.topic)) for attempt in after)
    return Choices(
        came_at_ms,
        [
            Choice(attempt, route, used_at_ms.get(attempt.topic))
            for attempt, route in routed
            if route is not None and route.known_from_ms <= attempt.chosen_at_ms
        ],
    )
