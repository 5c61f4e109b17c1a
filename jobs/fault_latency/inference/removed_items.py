"""Fault items that the fallback dropped (`LatencyFaultToleranceImpl.remove`), as the sends' brokers show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from jobs.fault_latency.fault_items.replay import REMOVE, UPDATE
from jobs.fault_latency.inference.fault_item import State, Write
from jobs.fault_latency.inference.known_route import KnownRoute, named_at_some_time, named_throughout
from jobs.fault_latency.inference.producer_process import Attempt, ProducerProcess
from jobs.fault_latency.producers.known_routes import ROUTE_AHEAD_MS, ROUTE_LAG_MS
from udfs.evidence import REMOVED
from udfs.plain_version import plain_version_number
from udfs.releases import since, until

_CERTAIN_PICK_ITEMS = 3

Item = tuple[str, int]
"""Broker, and position of the item's last write."""


@dataclass(frozen=True)
class _Missed:
    """A pick that an attempt did not go to."""

    state: State
    attempt: Attempt


def removes(process: ProducerProcess) -> list[Write]:
    """Items that the fallback dropped: all brokers isolated, and the attempt did not go to its pick.

    `MQFaultStrategy.selectOneMessageQueue` (4.9.8, 5.1.3): with no broker available, `pickOneAtLeast` takes the
    item of lowest latency (the first, while there are two or three); with a write queue the attempt goes there,
    without one in the client's route the item is removed. One write per state of the item: the first. Where it is not
    sure, because writes ran within a millisecond or latencies differ by no more, the item's own write comes back with
    `carried_earliest_ms`: from then on the item may be gone.
    """
    if len({*process.knowledge.written_first, *process.items}) > _CERTAIN_PICK_ITEMS:
        return []
    surely: dict[Item, _Missed] = {}
    perhaps: dict[Item, _Missed] = {}
    for attempt in process.attempts:
        for missed, is_sure in _missed_picks(process, attempt):
            item = missed.state.last_write.broker_name, missed.state.position
            (surely if is_sure else perhaps).setdefault(item, missed)
    doubtful = [
        missed
        for item, missed in perhaps.items()
        if item not in surely or missed.attempt.chosen_at_ms < surely[item].attempt.chosen_at_ms
    ]
    widened = [_widened(missed) for missed in doubtful if missed.state.last_write.first_position is not None]
    return [*map(_remove, surely.values()), *widened]


def _missed_picks(process: ProducerProcess, attempt: Attempt) -> Iterator[tuple[_Missed, bool]]:
    """The items that may have been the fallback's pick for this attempt, and whether one was so for sure."""
    at_ms, route = attempt.chosen_at_ms, process.route_of(attempt.topic)
    if route is None or route.known_from_ms > at_ms + ROUTE_AHEAD_MS:
        return
    states = _if_all_isolated(process, at_ms)
    if len(states) < 2 or not _knows_its_brokers(states, attempt, route):
        return
    all_isolated = all(state.earliest_ms > at_ms for state in states.values())
    latencies = {name: _latencies(process, state) for name, state in states.items()}
    for broker_name, state in states.items():
        if attempt.goes_to(broker_name) or not _may_have_lost_its_queues(state, route, at_ms):
            continue
        own, others = latencies[broker_name], [latencies[name] for name in states if name != broker_name]
        if not any(_is_below(other, own) for other in others):
            yield _Missed(state, attempt), all_isolated and all(_is_below(own, other) for other in others)


def _if_all_isolated(process: ProducerProcess, at_ms: int) -> Mapping[str, State]:
    """The item of every broker that had one, if each was isolated in some order of tied writes; else nothing."""
    states = {}
    for broker_name in sorted({*process.knowledge.written_first, *process.items}):
        state = process.item_before(broker_name, at_ms)
        if state is not None and state.latest_ms > at_ms:
            states[broker_name] = state
        elif state is not None or process.was_written_before(broker_name, at_ms):
            return {}
    return states


def _knows_its_brokers(states: Mapping[str, State], attempt: Attempt, route: KnownRoute) -> bool:
    """Whether each broker that the attempt's topic may have had, and those it went to, have an item."""
    at_ms = attempt.chosen_at_ms
    hosts = named_at_some_time(route.writable, at_ms - ROUTE_LAG_MS, at_ms + ROUTE_AHEAD_MS)
    return {attempt.went_to, attempt.addressed_broker, *hosts} <= set(states)


def _may_have_lost_its_queues(state: State, route: KnownRoute, at_ms: int) -> bool:
    """Whether some route that the client may have used has no queue there for the fallback (`writeQueueNums`).

    It asks the route's queues (`TopicPublishInfo` 4.9.2:95, 4.9.8:96), not whether their broker has a master.
    """
    number = plain_version_number(state.last_write.version or "")
    checks_permission = since("fallback_checks_permission") <= number <= until("fallback_checks_permission")
    spans = route.permitted if checks_permission else route.queued
    return state.last_write.broker_name not in named_throughout(spans, at_ms - ROUTE_LAG_MS, at_ms + ROUTE_AHEAD_MS)


def _latencies(process: ProducerProcess, state: State) -> tuple[int, int] | None:
    """Lowest and highest latency that the item may have, in any order of tied writes; None = carried over midnight."""
    near = process.items[state.last_write.broker_name].written_within(state.at_ms - 1, state.at_ms)
    latencies = [
        each.last_write.current_latency_ms
        for each in near
        if each.last_write.op == UPDATE and each.last_write.current_latency_ms is not None
    ]
    return (min(latencies), max(latencies)) if latencies else None


def _is_below(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    """Whether the one's latency is surely below the other's: the clocks of log and client differ by 1 ms.

    >>> _is_below((5, 49), (51, 90)), _is_below((5, 50), (51, 90)), _is_below(None, (51, 90))
    (True, False, False)
    """
    return one is not None and other is not None and one[1] + 1 < other[0]


def _remove(missed: _Missed) -> Write:
    """`remove()` as the attempt chose: first in its millisecond."""
    at_ms = missed.attempt.chosen_at_ms
    return replace(
        missed.state.last_write,
        at_ms=at_ms,
        op=REMOVE,
        seq=-1,
        started_at_ms=at_ms,
        step=0,
        current_latency_ms=0,
        is_failure=False,
        reachable=True,
        cause="REMOVED",
        evidence=REMOVED,
        not_available_ms=0,
        carried_until_ms=None,
        carried_earliest_ms=None,
        carried_latest_ms=None,
        carried_extensions=0,
        thread=missed.attempt.thread,
        middle_topic=None,
        middle_after=None,
        first_position=None,
    )


def _widened(missed: _Missed) -> Write:
    state = missed.state
    return replace(
        state.last_write,
        carried_earliest_ms=min(state.earliest_ms, missed.attempt.chosen_at_ms),
        carried_latest_ms=state.latest_ms,
    )
