"""The strategy of a consumer group, from settings, running info or logs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

from jobs.allocation.group.client_kind import NO_STRATEGY, not_computable
from jobs.allocation.group.known import OwnerBefore
from jobs.allocation.group.observed_clients import ObservedClient, in_common
from jobs.kinds import GroupCause
from jobs.settings.consumer_groups import GroupSettings, StrategySettings
from jobs.tables.queue_allocation import SOURCES
from udfs.plain_version import plain_version_number
from udfs.releases import since
from udfs.shares import EVERYONE
from udfs.strategy import BY_BROKER, NEARBY, OF_BROKERS, OF_CLIENTS, POP, Strategy

_ASSUMED = "AVG"
_PARAMETERS = ("machine_rooms", "broker_room", "client_room", "virtual_nodes", "queues")
_BY_CLIENTS = ("RUNNING_INFO", "CLIENT_LOG")
_UNDETERMINED = (*NO_STRATEGY, GroupCause.STRATEGY_UNKNOWN, GroupCause.REQUEST_MODE_UNKNOWN)


@dataclass(frozen=True)
class ClientStrategy:
    """How one client allocates, where that comes from, and why queues cannot be computed, if so."""

    strategy: Strategy
    source: str
    undetermined: str | None = None


class MembersStrategy(NamedTuple):
    """How some members of a group allocate.

    Attributes:
        strategy: MIXED when they differ.
        strategy_source: where the strategy comes from.
        undetermined: why queues cannot be computed, or None.
    """

    strategy: str
    strategy_source: str
    undetermined: str | None


@dataclass(frozen=True)
class GroupStrategy:
    """How the clients of a group allocate on one day.

    Attributes:
        default: strategy of unknown clients.
        of_clients: strategy by client id.
    """

    default: ClientStrategy
    of_clients: Mapping[str, ClientStrategy]

    @cached_property
    def strategies(self) -> tuple[tuple[str, Strategy], ...]:
        """How each client allocates, as `udfs.shares` takes it; `*` = all others."""
        others = ((client_id, client.strategy) for client_id, client in self.of_clients.items())
        return (EVERYONE, self.default.strategy), *(pair for pair in others if pair[1] != self.default.strategy)

    def of_members(self, client_ids: Iterable[str]) -> MembersStrategy:
        """How these members allocate; without members, how all known clients would.

        Args:
            client_ids: members, duplicates allowed.
        """
        members = [self.of_clients.get(client_id, self.default) for client_id in dict.fromkeys(client_ids)]
        used = members or [self.default, *self.of_clients.values()]
        names = {member.strategy.name for member in used}
        return MembersStrategy(
            names.pop() if len(names) == 1 else "MIXED",
            min((member.source for member in used), key=SOURCES.index),
            min((member.undetermined for member in used if member.undetermined), key=_UNDETERMINED.index, default=None),
        )


def group_strategy(
    configured: GroupSettings,
    observed: list[ObservedClient],
    before: Iterable[OwnerBefore] = (),
    members: Iterable[str] = (),
) -> GroupStrategy:
    """The strategies of all clients; one that consumes in order or is older than 5.0 never asks the broker.

    Args:
        configured: the group's settings, which win.
        observed: the group's clients, by client id.
        before: owners at 00:00, with the strategy known on the day before.
        members: client ids that brokers list, known otherwise or not.
    """
    of_client, common = {client.client_id: client for client in observed}, _in_common(observed, before)
    default = _how(configured, configured, common, common)
    of_clients = {
        client_id: _how_client(client_id, configured, of_client.get(client_id, common), common)
        for client_id in sorted({*of_client, *configured.clients, *members})
    }
    return GroupStrategy(default, of_clients)


def _how_client(
    client_id: str, configured: GroupSettings, observed: ObservedClient, common: ObservedClient
) -> ClientStrategy:
    own = configured.clients.get(client_id, StrategySettings())
    how = _how(own, configured, observed, common)
    why = not_computable(client_id, observed.language, own, configured)
    return how if why is None else dataclasses.replace(how, undetermined=why)


def is_named_before(before: Iterable[OwnerBefore]) -> bool:
    """Whether the day before knew the group's strategy from its clients."""
    return _in_common([], before).strategy is not None


def _in_common(observed: list[ObservedClient], before: Iterable[OwnerBefore]) -> ObservedClient:
    """Common attributes; the strategy of the day before if no client shows one, since clients log only changes."""
    common = in_common(observed)
    if any(client.strategy for client in observed):
        return common
    strategies = {
        (owner.strategy.removeprefix(BY_BROKER).removeprefix(POP), owner.strategy_source)
        for owner in before
        if owner.strategy is not None and owner.strategy_source in _BY_CLIENTS
    }
    names = {name for name, _ in strategies} - {"MIXED"}
    if len(names) != 1:
        return common
    source = min((source for _, source in strategies), key=SOURCES.index)
    return dataclasses.replace(common, strategy=names.pop(), strategy_source=source)


def _how(
    own: StrategySettings, configured: GroupSettings, observed: ObservedClient, common: ObservedClient
) -> ClientStrategy:
    if _first(configured.message_model, observed.message_model, common.message_model) == "BROADCASTING":
        return ClientStrategy(Strategy("BROADCASTING"), "SETTINGS" if configured.message_model else "CONNECTION")
    given, source = _given(own, configured, observed, common)
    name, strategy = given["name"], Strategy(**given)
    is_set_up = source == "SETTINGS" or all(parameter in given for parameter in _needed(name))
    if name.removeprefix(NEARBY) not in OF_CLIENTS or not is_set_up:
        return ClientStrategy(strategy, source, GroupCause.STRATEGY_UNKNOWN)
    if not _asks_the_broker(configured, observed, common):
        return ClientStrategy(strategy, source)
    if name not in OF_BROKERS:
        return ClientStrategy(Strategy(f"{BY_BROKER}{name}"), source)
    if configured.request_mode == "POP":  # the settings then have the number
        popped = Strategy(f"{POP}{name}", pop_share_queue_num=cast("int", configured.pop_share_queue_num))
        return ClientStrategy(popped, source)
    return ClientStrategy(strategy, source, None if configured.request_mode else GroupCause.REQUEST_MODE_UNKNOWN)


def _needed(name: str) -> tuple[str, ...]:
    """Parameters that the client sets in code and no snapshot shows."""
    own = {"CONFIG": ("queues",), "MACHINE_ROOM": ("machine_rooms",)}
    return ("broker_room", "client_room") if name.startswith(NEARBY) else own.get(name, ())


def _asks_the_broker(configured: GroupSettings, observed: ObservedClient, common: ObservedClient) -> bool:
    """Whether the broker assigns (`RebalancePushImpl.clientRebalance`, from 5.0.0 on)."""
    version = plain_version_number(
        _first(observed.client_version, common.client_version, configured.client_version) or ""
    )
    if 0 < version < since("broker_may_assign") or _first(observed.consume_orderly, common.consume_orderly):
        return False
    return _first(configured.client_rebalance, observed.client_rebalance, common.client_rebalance) is False


def _given(own: StrategySettings, configured: GroupSettings, *observed: ObservedClient) -> tuple[dict[str, Any], str]:
    """Attributes of the client's `Strategy` that are known, and the source of its name."""
    name, source = own.strategy or configured.strategy, "SETTINGS"
    if name is None:
        client = next((client for client in observed if client.strategy), None)
        name, source = (client.strategy, client.strategy_source or "RUNNING_INFO") if client else (_ASSUMED, "ASSUMED")
    given: dict[str, Any] = {"name": name}
    for key in _PARAMETERS:
        value = _first(getattr(own, key), getattr(configured, key))
        if value is not None:
            given[key] = value
    version = _first(own.client_version, *(client.client_version for client in observed), configured.client_version)
    number = plain_version_number(version or "")
    if name == "MACHINE_ROOM":  # other strategies are the same in every version
        given["version"] = number
    charset = _first(own.client_charset, configured.client_charset)
    if charset is not None and number < since("ring_hashes_utf8"):
        given["charset"] = charset
    return given, source


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
