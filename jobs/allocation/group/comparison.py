"""What each strategy would have done with the members and queues of the group's day."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.allocation.group.inputs import Input
from jobs.allocation.group.rebalances import Rebalance, rebalances
from jobs.allocation.group.shares import Allocated, PreviousShare, SharesOf, allocated
from jobs.intervals.of_lists import grouped
from jobs.settings.consumer_groups import GroupSettings
from udfs.moves import broker_skew, imbalance
from udfs.shares import EVERYONE
from udfs.strategy import BY_BROKER, POP, Strategy

_NEARBY = "MACHINE_ROOM_NEARBY-AVG"
_EVERYWHERE = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")


@dataclass(frozen=True, slots=True)
class Compared:
    """One strategy over one topic's day; columns of `strategy_comparison`."""

    topic: str
    strategy: str
    is_own: bool
    rebalances: int
    moves: int
    fewest_moves: int
    imbalance_max: int
    broker_skew: int
    unassigned_max: int
    imbalance_mean: float


def comparison(
    today: Iterable[Input],
    before: Iterable[Input],
    configured: GroupSettings | None,
    shares_of: SharesOf,
    previous: Sequence[PreviousShare] = (),
) -> list[Compared]:
    """The same history under each strategy.

    Compares the group's own strategy with AVG, AVG_BY_CIRCLE and CONSISTENT_HASH, and with MACHINE_ROOM and
    MACHINE_ROOM_NEARBY-AVG if settings define rooms. Groups that broadcast are skipped. A group whose queues the
    broker assigns, or some of whose members pop, has no row for its own strategy.

    Args:
        today: the day's inputs, of one view only.
        before: inputs at 00:00, of one view only; only changes from them count.
        configured: rooms and virtual nodes of the group.
        shares_of: as `allocated` takes it.
        previous: shares at 00:00 under the group's own strategy.
    """
    candidates, at_midnight = _candidates(configured or GroupSettings()), _by_topic(before)
    compared = []
    for topic, inputs in _by_topic(today).items():
        earlier, own = at_midnight.get(topic, []), _own_strategy(inputs)
        as_they_are = [*earlier, *inputs]
        histories = {} if any(_is_left_to_the_broker(interval) for interval in inputs) else {own: as_they_are}
        for name, strategy in candidates.items():
            if name != own:
                histories[name] = [
                    dataclasses.replace(interval, strategy=name, strategies=((EVERYONE, strategy),))
                    for interval in as_they_are
                ]
        for name, history in histories.items():
            shared = allocated(history, previous if name == own else (), shares_of)
            compared.append(_compared(topic, name, shared[len(earlier) :], rebalances(shared), is_own=name == own))
    return compared


def _by_topic(inputs: Iterable[Input]) -> dict[str, list[Input]]:
    """Inputs by topic, without those of members that broadcast."""
    return grouped(
        (interval for interval in inputs if interval.strategy != "BROADCASTING"), lambda interval: interval.topic
    )


def _own_strategy(inputs: Sequence[Input]) -> str:
    """The strategy that all members use all day, else MIXED; without members, that of all clients."""
    names = {interval.strategy for interval in inputs if interval.client_ids} or {
        interval.strategy for interval in inputs
    }
    return names.pop() if len(names) == 1 else "MIXED"


def _is_left_to_the_broker(of: Input) -> bool:
    """Whether the broker assigns queues to all members, or some members pop; nobody pops from a retry topic."""
    if of.strategy != "MIXED":
        return of.strategy.startswith((POP, BY_BROKER))
    strategies = dict(of.strategies)
    names = (strategies.get(client_id, strategies[EVERYONE]).name for client_id in of.client_ids)
    return not of.is_of_retries and any(name.startswith(POP) for name in names)


def _compared(
    topic: str, strategy: str, allocated: Sequence[Allocated], changes: Sequence[Rebalance], *, is_own: bool
) -> Compared:
    uneven = [(imbalance(row.owners, row.input.client_ids), row.end_ms - row.start_ms) for row in allocated]
    return Compared(
        topic=topic,
        strategy=strategy,
        is_own=is_own,
        rebalances=len(changes),
        moves=sum(change.moved for change in changes),
        fewest_moves=sum(change.fewest_moves for change in changes),
        imbalance_max=max(of_members for of_members, _ in uneven),
        broker_skew=max(broker_skew(row.owners, row.input.client_ids) for row in allocated),
        unassigned_max=max(sum(queue not in row.owners for queue in row.input.queues) for row in allocated),
        imbalance_mean=sum(of_members * ms for of_members, ms in uneven) / sum(ms for _, ms in uneven),
    )


def _candidates(configured: GroupSettings) -> dict[str, Strategy]:
    """Strategies to compare, by name."""
    candidates = {name: Strategy(name) for name in _EVERYWHERE}
    if configured.virtual_nodes is not None:
        candidates["CONSISTENT_HASH"] = Strategy("CONSISTENT_HASH", virtual_nodes=configured.virtual_nodes)
    if configured.machine_rooms is not None:
        candidates["MACHINE_ROOM"] = Strategy("MACHINE_ROOM", machine_rooms=configured.machine_rooms)
    rooms = {"broker_room": configured.broker_room, "client_room": configured.client_room}
    patterns: dict[str, Any] = {name: pattern for name, pattern in rooms.items() if pattern is not None}
    if patterns:
        candidates[_NEARBY] = Strategy(_NEARBY, **patterns)
    return candidates
