"""The strategy of a consumer group, as settings, running consumers or their logs name it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from jobs.allocation.group.observed_clients import ObservedClient, in_common
from jobs.settings.consumer_groups import NEARBY, STRATEGIES, GroupSettings, StrategySettings
from udfs.plain_version import plain_version_number
from udfs.releases import since
from udfs.strategy import BY_BROKER, OF_BROKERS, POP

_ASSUMED = "AVG"
_PARAMETERS = ("machine_rooms", "broker_room", "client_room", "virtual_nodes", "queues")
_SOURCES = ("SETTINGS", "RUNNING_INFO", "CLIENT_LOG", "ASSUMED")
_UNDETERMINED = ("STRATEGY_UNKNOWN", "REQUEST_MODE_UNKNOWN")


@dataclass(frozen=True)
class _How:
    """How one client allocates: `spec` (for `udfs.strategy`), where its name is from, why nothing can be computed."""

    spec: dict[str, Any]
    source: str
    undetermined: str | None = None


class GroupStrategy(NamedTuple):
    """How a group allocates.

    Attributes:
        strategies_json: how each client does, as `udfs.shares` takes it; `*` = all others.
        strategy: MIXED when members differ.
        strategy_source: where it is known from.
        undetermined: why nothing can be computed; None = it can.
    """

    strategies_json: str
    strategy: str
    strategy_source: str
    undetermined: str | None


def group_strategy(configured: GroupSettings, observed: list[ObservedClient]) -> GroupStrategy:
    """Each client by its own rules: one that consumes in order or is older than 5.0 never asks the broker.

    Args:
        configured: what the site says of it; it wins.
        observed: as `observed_clients` returns them.
    """
    models = (configured.message_model, *(each.message_model for each in observed))
    if next((model for model in models if model), None) == "BROADCASTING":
        source = "SETTINGS" if configured.message_model else "CONNECTION"
        return GroupStrategy(json.dumps({"*": {"name": "BROADCASTING"}}), "BROADCASTING", source, None)
    of_client, common = {each.client_id: each for each in observed}, in_common(observed)
    default = _how(configured, configured, common, common)
    of_clients = {
        client_id: _how(
            configured.clients.get(client_id, StrategySettings()), configured, of_client.get(client_id, common), common
        )
        for client_id in sorted({*of_client, *configured.clients})
    }
    used = [of_clients[client_id] for client_id in of_client] or [default, *of_clients.values()]
    names = {each.spec["name"] for each in used}
    others = {client_id: each.spec for client_id, each in of_clients.items() if each.spec != default.spec}
    return GroupStrategy(
        json.dumps({"*": default.spec, **others}, sort_keys=True),
        names.pop() if len(names) == 1 else "MIXED",
        min((each.source for each in used), key=_SOURCES.index),
        min((each.undetermined for each in used if each.undetermined), key=_UNDETERMINED.index, default=None),
    )


def _how(own: StrategySettings, configured: GroupSettings, observed: ObservedClient, common: ObservedClient) -> _How:
    spec, source = _spec(own, configured, observed, common)
    name = spec["name"]
    is_set_up = source == "SETTINGS" or all(parameter in spec for parameter in _needed(name))
    if name.removeprefix(NEARBY) not in STRATEGIES or not is_set_up:
        return _How(spec, source, "STRATEGY_UNKNOWN")
    if not _asks_the_broker(configured, observed, common):
        return _How(spec, source)
    if name not in OF_BROKERS:
        return _How({"name": f"{BY_BROKER}{name}"}, source)
    if configured.request_mode == "POP":
        return _How({"name": f"{POP}{name}", "pop_share_queue_num": configured.pop_share_queue_num}, source)
    return _How(spec, source, None if configured.request_mode else "REQUEST_MODE_UNKNOWN")


def _needed(name: str) -> tuple[str, ...]:
    """Parameters that a client's code sets up besides the class, and that no snapshot shows."""
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


def _spec(own: StrategySettings, configured: GroupSettings, *observed: ObservedClient) -> tuple[dict[str, Any], str]:
    name, source = own.strategy or configured.strategy, "SETTINGS"
    if name is None:
        named = next((each for each in observed if each.strategy), None)
        name, source = (named.strategy, named.strategy_source or "RUNNING_INFO") if named else (_ASSUMED, "ASSUMED")
    spec: dict[str, Any] = {"name": name}
    for key in _PARAMETERS:
        value = getattr(own, key)
        value = getattr(configured, key) if value is None else value
        if value is not None:
            spec[key] = value
    version = _first(own.client_version, *(each.client_version for each in observed), configured.client_version)
    charset = _first(own.client_charset, configured.client_charset)
    if version is not None and name == "MACHINE_ROOM":  # the others are the same in every version
        spec["version"] = version
    if charset is not None and plain_version_number(version or "") < since("ring_hashes_utf8"):
        spec["charset"] = charset
    return spec, source


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
