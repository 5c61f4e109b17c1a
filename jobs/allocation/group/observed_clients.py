"""Clients of a consumer group as snapshots and logs show them: how each allocates queues."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import reduce

from udfs.strategy import NEARBY

# MQVersion.Version: from V4_0_0_SNAPSHOT on, a snapshot, then its release; ten patches a minor, ten minors a major.
_V4_0_0_SNAPSHOT, _HIGHER_VERSION = 212, 612
_OLDER, _NEWER = "3.9.9", "5.9.9"
_ANSWERED = ("strategy", "client_version", "client_rebalance", "consume_orderly", "message_model")


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


@dataclasses.dataclass(frozen=True, slots=True)
class Connected:
    """A client as the group's connections show it; `version` = `MQVersion`'s ordinal."""

    client_id: str
    message_model: str | None
    version: int | None
    language: str | None = None


def observed_clients(
    connected: Iterable[Connected], logged: Iterable[ObservedClient], running: Iterable[ObservedClient]
) -> list[ObservedClient]:
    """Clients that consumed on the day, by client id; the strategy in running info wins over that in logs.

    >>> observed_clients([Connected("x", "CLUSTERING", 409)], [ObservedClient("x", "AVG")], []) # doctest: +ELLIPSIS
    [ObservedClient(client_id='x', strategy='AVG', strategy_source='CLIENT_LOG', client_version='4.9.8', ...)]
    """
    clients: dict[str, ObservedClient] = {}
    for shown in connected:
        clients[shown.client_id] = ObservedClient(
            shown.client_id,
            client_version=None if shown.version is None else version_of(shown.version),
            message_model=shown.message_model,
            language=shown.language,
        )
    for line in logged:
        client = clients.get(line.client_id, ObservedClient(line.client_id))
        clients[line.client_id] = dataclasses.replace(client, strategy=line.strategy, strategy_source="CLIENT_LOG")
    for answer in running:
        client = clients.get(answer.client_id, ObservedClient(answer.client_id))
        clients[answer.client_id] = _with_answer(client, answer)
    return [clients[client_id] for client_id in sorted(clients)]


def _with_answer(observed: ObservedClient, answer: ObservedClient) -> ObservedClient:
    """The client updated by its answer, except the inner strategy of MACHINE_ROOM_NEARBY, which only logs show."""
    answered = {name: value for name in _ANSWERED if (value := getattr(answer, name)) is not None}
    if (observed.strategy or "").startswith(NEARBY) and f"{answered.get('strategy')}-" == NEARBY:
        del answered["strategy"]
    elif "strategy" in answered:
        answered["strategy_source"] = "RUNNING_INFO"
    return dataclasses.replace(observed, **answered)


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
    return reduce(agreed, (*_ANSWERED, "strategy_source"), ObservedClient(""))


def version_of(ordinal: int) -> str:
    """Release for a connection's version number (`MQVersion.Version`, 5.3.3).

    >>> [version_of(ordinal) for ordinal in (355, 409, 412, 479)]
    ['4.7.1', '4.9.8', '5.0.0', '5.3.3']
    >>> [version_of(ordinal) for ordinal in (211, 212, 611, 612)]
    ['3.9.9', '4.0.0', '5.9.9', '5.9.9']
    """
    if ordinal < _V4_0_0_SNAPSHOT:
        return _OLDER
    if ordinal >= _HIGHER_VERSION:
        return _NEWER
    release = (ordinal - _V4_0_0_SNAPSHOT) // 2
    return f"{4 + release // 100}.{release // 10 % 10}.{release % 10}"
