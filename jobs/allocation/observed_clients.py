"""Clients of each consumer group as snapshots and logs show them: the rules by which each allocates queues."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from udfs.strategy import NEARBY

# MQVersion.Version: from V4_0_0_SNAPSHOT on, each release after its snapshot, ten patches a minor, ten minors a major.
_V4_0_0_SNAPSHOT, _HIGHER_VERSION = 212, 612
_OLDER, _NEWER = "3.9.9", "5.9.9"


@dataclasses.dataclass(frozen=True)
class ObservedClient:
    """One client of a group as snapshots and logs show it; None = they do not say.

    Attributes:
        client_id: the client; empty = what all observed clients have in common.
        strategy: our name of its strategy, or its class's own.
        strategy_source: RUNNING_INFO or CLIENT_LOG.
        client_version: such as 4.9.8.
        client_rebalance: false = the client asks the broker; known from 5.0 on.
        consume_orderly: it consumes in order, and then never asks the broker.
        message_model: CLUSTERING or BROADCASTING.
    """

    client_id: str
    strategy: str | None = None
    strategy_source: str | None = None
    client_version: str | None = None
    client_rebalance: bool | None = None
    consume_orderly: bool | None = None
    message_model: str | None = None


def observed_clients(
    connections: DataFrame, running: DataFrame, log_lines: DataFrame
) -> dict[str, list[ObservedClient]]:
    """Observed clients by group; small: one per client that consumed on the day.

    Args:
        connections: as `connections` returns them.
        running: as `latest_answers` returns them; they win.
        log_lines: published lines of the input `client_logs`.
    """
    connected = (
        connections.select("consumer_group", "message_model", F.explode_outer("clients").alias("client"))
        .groupBy("consumer_group", F.col("client.client_id").alias("client_id"))
        .agg(F.max("message_model").alias("message_model"), F.max("client.version").alias("version"))
    )
    clients: dict[tuple[str, str], ObservedClient] = {}
    for row in connected.where("client_id IS NOT NULL").collect():
        version = None if row["version"] is None else version_of(row["version"])
        clients[row["consumer_group"], row["client_id"]] = ObservedClient(
            row["client_id"], message_model=row["message_model"], client_version=version
        )
    for row in _logged(log_lines).collect():
        key = row["consumer_group"], row["client_id"]
        named = {"strategy": row["strategy"], "strategy_source": "CLIENT_LOG"}
        clients[key] = dataclasses.replace(clients.get(key, ObservedClient(row["client_id"])), **named)
    for row in running.collect():
        key = row["consumer_group"], row["client_id"]
        clients[key] = _with_answer(clients.get(key, ObservedClient(row["client_id"])), row.asDict())
    groups: dict[str, list[ObservedClient]] = {}
    for (group, _), each in sorted(clients.items(), key=lambda item: item[0]):
        groups.setdefault(group, []).append(each)
    return groups


def _logged(log_lines: DataFrame) -> DataFrame:
    """One row per `consumer_group` and `client_id`: the `strategy` that its last result of the day names."""
    results = log_lines.where("event = 'ALLOCATED' AND strategy IS NOT NULL AND client_id IS NOT NULL")
    in_time = F.struct("at_ms", "file", "split", "row")
    return results.groupBy("consumer_group", "client_id").agg(F.max_by("strategy", in_time).alias("strategy"))


def _with_answer(observed: ObservedClient, answer: dict[str, Any]) -> ObservedClient:
    """The client with its answer, which wins, but for the strategy inside MACHINE_ROOM_NEARBY: only a log has it."""
    answered = {name: answer[name] for name in _ANSWERED if answer[name] is not None}
    if (observed.strategy or "").startswith(NEARBY) and f"{answered.get('strategy')}-" == NEARBY:
        del answered["strategy"]
    elif "strategy" in answered:
        answered["strategy_source"] = "RUNNING_INFO"
    return dataclasses.replace(observed, **answered)


_ANSWERED = ("strategy", "client_version", "client_rebalance", "consume_orderly", "message_model")


def in_common(observed: Iterable[ObservedClient]) -> ObservedClient:
    """Attributes that all observed clients agree on, for members of which nothing is known.

    >>> clients = [ObservedClient("x", "AVG"), ObservedClient("y", "AVG", client_version="5.3.3"), ObservedClient("z")]
    >>> in_common([*clients, ObservedClient("v", client_version="4.9.8")]) # doctest: +ELLIPSIS
    ObservedClient(client_id='', strategy='AVG', strategy_source=None, client_version=None, ...)
    """

    def agreed(of: ObservedClient, name: str) -> ObservedClient:
        values = {getattr(each, name) for each in clients} - {None}
        return dataclasses.replace(of, **{name: values.pop()}) if len(values) == 1 else of

    clients = list(observed)
    return reduce(agreed, (*_ANSWERED, "strategy_source"), ObservedClient(""))


def version_of(ordinal: int) -> str:
    """The release of a connection's version number (`MQVersion.Version`, 5.3.3).

    >>> [version_of(ordinal) for ordinal in (355, 409, 479, 1, 9_999)]
    ['4.7.1', '4.9.8', '5.3.3', '3.9.9', '5.9.9']
    """
    if not _V4_0_0_SNAPSHOT <= ordinal < _HIGHER_VERSION:
        return _OLDER if ordinal < _V4_0_0_SNAPSHOT else _NEWER
    release = (ordinal - _V4_0_0_SNAPSHOT) // 2
    return f"{4 + release // 100}.{release // 10 % 10}.{release % 10}"
