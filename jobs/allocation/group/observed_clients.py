"""Clients of a consumer group as snapshots and logs show them: how each allocates queues."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import reduce

from udfs.strategy import NEARBY

_SHOWN = ("strategy", "client_version", "client_rebalance", "consume_orderly", "message_model")


@dataclasses.dataclass(frozen=True)
class ObservedClient:
    """One client of a group as snapshots and logs show it; None = unknown.

    Attributes:
        client_id: the client; empty = the attributes that all clients share.
        strategy: our name of its strategy, else its class name.
        strategy_source: RUNNING_INFO or CLIENT_LOG.
        client_version: for example 4.9.8.
        client_rebalance: false = the client asks the broker; known from 5.0 on.
        consume_orderly: it consumes in order; such a client never asks the broker.
        message_model: CLUSTERING or BROADCASTING.
        language: as `LanguageCode` names it.
    """

    client_id: str
    strategy: str | None = None
    strategy_source: str | None = None
    client_version: str | None = None
    client_rebalance: bool | None = None
    consume_orderly: bool | None = None
    message_model: str | None = None
    language: str | None = None


def observed_clients(
    connected: Iterable[ObservedClient], logged: Iterable[ObservedClient], running: Iterable[ObservedClient]
) -> list[ObservedClient]:
    """Clients that consumed on the day, by client id; the strategy in running info wins over that in logs.

    >>> connected = ObservedClient("x", client_version="4.9.8", message_model="CLUSTERING")
    >>> observed_clients([connected], [ObservedClient("x", "AVG")], []) # doctest: +ELLIPSIS
    [ObservedClient(client_id='x', strategy='AVG', strategy_source='CLIENT_LOG', client_version='4.9.8', ...)]
    """
    clients = {shown.client_id: shown for shown in connected}
    for source, rows in (("CLIENT_LOG", logged), ("RUNNING_INFO", running)):
        for shown in rows:
            client = clients.get(shown.client_id, ObservedClient(shown.client_id))
            clients[shown.client_id] = _with(client, shown, source)
    return [clients[client_id] for client_id in sorted(clients)]


def _with(observed: ObservedClient, shown: ObservedClient, source: str) -> ObservedClient:
    """The client updated by what else shows it, except the inner strategy of MACHINE_ROOM_NEARBY: only logs have it."""
    known = {name: value for name in _SHOWN if (value := getattr(shown, name)) is not None}
    if (observed.strategy or "").startswith(NEARBY) and f"{known.get('strategy')}-" == NEARBY:
        del known["strategy"]
    elif "strategy" in known:
        known["strategy_source"] = source
    return dataclasses.replace(observed, **known)


def in_common(observed: Iterable[ObservedClient]) -> ObservedClient:
    """Attributes on which all observed clients agree, used for unknown members.

    >>> clients = [ObservedClient("x", "AVG"), ObservedClient("y", "AVG", client_version="5.3.3"), ObservedClient("z")]
    >>> in_common([*clients, ObservedClient("v", client_version="4.9.8")]) # doctest: +ELLIPSIS
    ObservedClient(client_id='', strategy='AVG', strategy_source=None, client_version=None, ...)
    """

    def agreed(of: ObservedClient, name: str) -> ObservedClient:
        values = {getattr(client, name) for client in clients} - {None}
        return dataclasses.replace(of, **{name: values.pop()}) if len(values) == 1 else of

    clients = list(observed)
    return reduce(agreed, (*_SHOWN, "strategy_source"), ObservedClient(""))
