"""Intervals in which the owners of a queue differ from those that the strategies assign."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobs.allocation.group.expected import Expected
from jobs.allocation.group.known import Holding
from jobs.allocation.group.ownership import EXPIRES_MS, Sight, clients_with_log
from jobs.intervals.of_lists import covered_parts, grouped, joined, touching
from jobs.kinds import GroupKind, Source
from jobs.tables.day import Day
from udfs.strategy import POP

HAND_OVER_MS = 1_000  # one client gives a queue up before another takes it

TopicQueue = tuple[str, str, int]
"""Topic, broker name and queue id."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An interval in which the owners of a queue differ from those that the strategies assign.

    Attributes:
        queue: the queue.
        kind: DOUBLY_OWNED, UNASSIGNED or AGAINST_STRATEGY.
        client_ids: clients involved.
        owners_expected: sorted, from all views.
        owners_observed: sorted.
        in_route: the queue exists in the topic's route.
        is_mixed: members use different strategies.
        as_given: the strategies themselves assign the queue this way.
        start_ms: start.
        end_ms: end, exclusive.
    """

    queue: TopicQueue
    kind: str
    client_ids: tuple[str, ...]
    owners_expected: tuple[str, ...]
    owners_observed: tuple[str, ...]
    in_route: bool
    is_mixed: bool
    as_given: bool
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class _Allocation:
    """Interval in which a topic's allocation is known; covers queues that left the route but still have an owner."""

    start_ms: int
    end_ms: int
    strategy: str


def differences(
    expected: Sequence[Expected], holdings: Sequence[Holding], sights: Sequence[Sight], day: Day
) -> list[Difference]:
    """Differences of all queues.

    A missing owner counts only while the client's queues are known, or shortly after the client ended.
    Differences of up to a second are hand-overs and ignored.

    Args:
        expected: who should own which queue.
        holdings: who did own it.
        sights: when the clients' queues are known.
        day: the day.
    """
    with_log = clients_with_log(sights)
    observed = [
        holding for holding in holdings if holding.source != Source.RUNNING_INFO or holding.client_id not in with_log
    ]
    in_sight = _in_sight(
        (sight for sight in sights if sight.source != Source.RUNNING_INFO or sight.client_id not in with_log), day
    )
    if not observed and not in_sight:
        return []
    parts = (
        difference
        for queue, rows in _by_queue(expected, observed)
        for start_ms, end_ms, covering in covered_parts(rows)
        for difference in _apart(queue, start_ms, end_ms, covering, in_sight)
    )
    return [
        dataclasses.replace(run[0], end_ms=run[-1].end_ms)
        for of_key in grouped(
            parts, lambda difference: (difference.queue, difference.kind, difference.client_ids)
        ).values()
        for run in touching(of_key, lambda difference: dataclasses.replace(difference, start_ms=0, end_ms=0))
        if run[-1].end_ms - run[0].start_ms > HAND_OVER_MS
    ]


def is_shared(queue_id: int, strategy: str) -> bool:
    """Whether several owners are normal for the queue: all members take every queue, or several pop from it.

    A negative id means any queue of the broker; only clients that pop have it, possibly within a MIXED group.
    """
    return queue_id < 0 or strategy == "BROADCASTING" or strategy.startswith(POP)


_Row = Expected | Holding | _Allocation
_Span = tuple[int, int]
"""Start and end."""


def _by_queue(expected: Sequence[Expected], observed: Sequence[Holding]) -> Iterator[tuple[TopicQueue, list[_Row]]]:
    of_expected, of_observed = grouped(expected, _queue_of), grouped(observed, _queue_of)
    intervals = {(row.topic, row.start_ms, row.end_ms, row.strategy) for row in expected}
    allocations = grouped(intervals, lambda interval: interval[0])
    for queue in {**of_expected, **of_observed}:
        rows: list[_Row] = [*of_expected.get(queue, ()), *of_observed.get(queue, ())]
        if queue in of_observed:
            rows += [_Allocation(*interval[1:]) for interval in allocations.get(queue[0], ())]
        yield queue, rows


def _queue_of(row: Expected | Holding) -> TopicQueue:
    return row.topic, row.broker_name, row.queue_id


def _apart(
    queue: TopicQueue, start_ms: int, end_ms: int, covering: Sequence[_Row], in_sight: Mapping[str, Sequence[_Span]]
) -> Iterator[Difference]:
    """Differences in one part of a queue's day: wrong owners together, else each known client that lacks the queue."""
    should = [row for row in covering if isinstance(row, Expected)]
    strategy = max((row.strategy for row in covering if not isinstance(row, Holding)), default=None)
    owners = {row.client_id for row in should if row.client_id is not None}
    observed = {row.client_id for row in covering if isinstance(row, Holding)}
    if strategy is None:
        return
    is_double = len(observed) > 1 and not is_shared(queue[2], strategy)
    if owners == observed and not is_double:
        return
    is_of_views = any(row.view_broker_name is not None for row in should)
    difference = Difference(
        queue=queue,
        kind=GroupKind.DOUBLY_OWNED if is_double else GroupKind.AGAINST_STRATEGY if observed else GroupKind.UNASSIGNED,
        client_ids=tuple(sorted(owners | observed)),
        owners_expected=tuple(sorted(owners)),
        owners_observed=tuple(sorted(observed)),
        in_route=any(row.in_route for row in should),
        is_mixed=strategy == "MIXED",
        as_given=owners == observed and (not is_of_views or strategy == "CONFIG"),
        start_ms=start_ms,
        end_ms=end_ms,
    )
    if is_double or observed - owners:
        yield difference
        return
    for client_id in owners - observed:
        for since_ms, forgotten_ms in in_sight.get(client_id, ()):
            from_ms, until_ms = max(start_ms, since_ms), min(end_ms, forgotten_ms)
            if from_ms < until_ms:
                yield dataclasses.replace(difference, client_ids=(client_id,), start_ms=from_ms, end_ms=until_ms)


def _in_sight(sights: Iterable[Sight], day: Day) -> dict[str, list[_Span]]:
    """When each client's queues are known: while it lives, and after its end until brokers drop it.

    Overlapping times are merged: a client may return before it is dropped, and two clients may share an id.
    """
    return {
        client_id: joined((sight.start_ms, _forgotten_ms(sight, day)) for sight in of_client)
        for client_id, of_client in grouped(sights, lambda sight: sight.client_id).items()
    }


def _forgotten_ms(sight: Sight, day: Day) -> int:
    return min(sight.end_ms + EXPIRES_MS, day.end_ms) if sight.ended else sight.end_ms
