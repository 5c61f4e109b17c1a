"""The group's day of members and queues under each strategy."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.allocation.group.inputs import Input
from jobs.allocation.group.rebalances import Rebalance, rebalances
from jobs.allocation.group.shares import Allocated, Strategies
from jobs.settings.consumer_groups import GroupSettings
from udfs.moves import broker_skew, imbalance
from udfs.strategy import BY_BROKER, POP

_EVERYWHERE = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")


@dataclass(frozen=True, slots=True)
class Compared:
    """One strategy over the day of one topic; columns of `strategy_comparison`."""

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
    today: Iterable[Input], before: Iterable[Input], configured: GroupSettings | None, strategies: Strategies
) -> list[Compared]:
    """The same history under each strategy.

    As the members allocate, and all of them under AVG, AVG_BY_CIRCLE and CONSISTENT_HASH; under MACHINE_ROOM and
    MACHINE_ROOM_NEARBY-AVG where settings say the rooms. A group that broadcasts is left out, and what the broker
    assigns is compared with nothing of its own.

    Args:
        today: of one view only.
        before: what stood at 00:00, likewise; nothing but changes of it counts.
        configured: rooms and virtual nodes of the group.
        strategies: what has been computed already.
    """
    candidates = _candidates(configured or GroupSettings())
    at_midnight = _by_strategy(before, candidates)
    compared = []
    for of, inputs in _by_strategy(today, candidates).items():
        earlier = at_midnight.get(of, [])
        history = strategies.allocated([*earlier, *inputs])
        compared.append(_compared(of, history[len(earlier) :], rebalances(history)))
    return compared


def _by_strategy(inputs: Iterable[Input], candidates: Mapping[str, str]) -> dict[tuple[str, str, bool], list[Input]]:
    """Inputs by topic, strategy and whether it is the group's own."""
    of_strategies = dict[tuple[str, str, bool], list[Input]]()
    for each in inputs:
        if each.strategy == "BROADCASTING":
            continue
        if not each.strategy.startswith((POP, BY_BROKER)):
            of_strategies.setdefault((each.topic, each.strategy, True), []).append(each)
        for name, strategies_json in candidates.items():
            if name != each.strategy:
                other = dataclasses.replace(each, strategy=name, strategies_json=strategies_json)
                of_strategies.setdefault((each.topic, name, False), []).append(other)
    return of_strategies


def _compared(of: tuple[str, str, bool], allocated: Sequence[Allocated], changes: Sequence[Rebalance]) -> Compared:
    topic, strategy, is_own = of
    uneven = [(imbalance(row.owners, row.input.client_ids), row.end_ms - row.start_ms) for row in allocated]
    return Compared(
        topic=topic,
        strategy=strategy,
        is_own=is_own,
        rebalances=len(changes),
        moves=sum(each.moved for each in changes),
        fewest_moves=sum(each.fewest_moves for each in changes),
        imbalance_max=max(of_members for of_members, _ in uneven),
        broker_skew=max(broker_skew(row.owners, row.input.client_ids) for row in allocated),
        unassigned_max=max(sum(queue not in row.owners for queue in row.input.queues) for row in allocated),
        imbalance_mean=sum(of_members * ms for of_members, ms in uneven) / sum(ms for _, ms in uneven),
    )


def _candidates(configured: GroupSettings) -> dict[str, str]:
    """Other strategies by name, as JSON for everyone."""
    specs: dict[str, dict[str, Any]] = {name: {"name": name} for name in _EVERYWHERE}
    if configured.virtual_nodes is not None:
        specs["CONSISTENT_HASH"]["virtual_nodes"] = configured.virtual_nodes
    if configured.machine_rooms is not None:
        specs["MACHINE_ROOM"] = {"name": "MACHINE_ROOM", "machine_rooms": list(configured.machine_rooms)}
    rooms = {"broker_room": configured.broker_room, "client_room": configured.client_room}
    patterns = {name: pattern for name, pattern in rooms.items() if pattern is not None}
    if patterns:
        specs["MACHINE_ROOM_NEARBY-AVG"] = {"name": "MACHINE_ROOM_NEARBY-AVG", **patterns}
    return {name: json.dumps({"*": spec}) for name, spec in specs.items()}
