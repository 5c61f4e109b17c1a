"""What a day's snapshots and logs tell of each group's clients: by which rules each of them allocates."""

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
class Seen:
    """What was told of one client of a group; None = nothing.

    Attributes:
        client_id: the client; empty = what all those who tell of themselves have in common.
        strategy: our name of its strategy, or its class's own.
        strategy_source: RUNNING_INFO or CLIENT_LOG.
        client_version: such as 4.9.8.
        client_rebalance: false = the client asks the broker; told from 5.0 on.
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


def seen_clients(connections: DataFrame, running: DataFrame, log_lines: DataFrame) -> dict[str, list[Seen]]:
    """What the day told of each group's clients; small: one row per client.

    Args:
        connections: as `connections` of `jobs.sources.consumer_answers` returns them.
        running: as `clients_told` returns them; they win.
        log_lines: published lines of the input `client_logs`.
    """
    told = (
        connections.select("consumer_group", "message_model", F.explode_outer("clients").alias("client"))
        .groupBy("consumer_group", F.col("client.client_id").alias("client_id"))
        .agg(F.max("message_model").alias("message_model"), F.max("client.version").alias("version"))
    )
    clients: dict[tuple[str, str], Seen] = {}
    for row in told.where("client_id IS NOT NULL").collect():
        version = None if row["version"] is None else version_of(row["version"])
        clients[row["consumer_group"], row["client_id"]] = Seen(
            row["client_id"], message_model=row["message_model"], client_version=version
        )
    for row in _logged(log_lines).collect():
        key = row["consumer_group"], row["client_id"]
        named = {"strategy": row["strategy"], "strategy_source": "CLIENT_LOG"}
        clients[key] = dataclasses.replace(clients.get(key, Seen(row["client_id"])), **named)
    for row in running.collect():
        key = row["consumer_group"], row["client_id"]
        clients[key] = _with_answer(clients.get(key, Seen(row["client_id"])), row.asDict())
    groups: dict[str, list[Seen]] = {}
    for (group, _), each in sorted(clients.items(), key=lambda item: item[0]):
        groups.setdefault(group, []).append(each)
    return groups


def _logged(log_lines: DataFrame) -> DataFrame:
    """`consumer_group`, `client_id`, `strategy`: as each client's last result of the day names it."""
    results = log_lines.where("event = 'ALLOCATED' AND strategy IS NOT NULL AND client_id IS NOT NULL")
    in_time = F.struct("at_ms", "file", "split", "row")
    return results.groupBy("consumer_group", "client_id").agg(F.max_by("strategy", in_time).alias("strategy"))


def _with_answer(seen: Seen, answer: dict[str, Any]) -> Seen:
    """The answer wins, but for what only a log can tell: the strategy inside MACHINE_ROOM_NEARBY."""
    told = {name: answer[name] for name in _ANSWERED if answer[name] is not None}
    if (seen.strategy or "").startswith(NEARBY) and f"{told.get('strategy')}-" == NEARBY:
        del told["strategy"]
    elif "strategy" in told:
        told["strategy_source"] = "RUNNING_INFO"
    return dataclasses.replace(seen, **told)


_ANSWERED = ("strategy", "client_version", "client_rebalance", "consume_orderly", "message_model")


def in_common(seen: Iterable[Seen]) -> Seen:
    """What all who tell of it agree on, for members that tell nothing.

    >>> in_common([Seen("x", "AVG", client_version="4.9.8"), Seen("y", "AVG", client_version="5.3.3"), Seen("z")])
    ... # doctest: +ELLIPSIS
    Seen(client_id='', strategy='AVG', strategy_source=None, client_version=None, ...)
    """

    def agreed(of: Seen, name: str) -> Seen:
        values = {getattr(each, name) for each in all_seen} - {None}
        return dataclasses.replace(of, **{name: values.pop()}) if len(values) == 1 else of

    all_seen = list(seen)
    return reduce(agreed, (*_ANSWERED, "strategy_source"), Seen(""))


def version_of(ordinal: int) -> str:
    """The release behind the number that connections tell (`MQVersion.Version`, 5.3.3).

    >>> [version_of(ordinal) for ordinal in (355, 409, 479, 1, 9_999)]
    ['4.7.1', '4.9.8', '5.3.3', '3.9.9', '5.9.9']
    """
    if not _V4_0_0_SNAPSHOT <= ordinal < _HIGHER_VERSION:
        return _OLDER if ordinal < _V4_0_0_SNAPSHOT else _NEWER
    release = (ordinal - _V4_0_0_SNAPSHOT) // 2
    return f"{4 + release // 100}.{release // 10 % 10}.{release % 10}"
