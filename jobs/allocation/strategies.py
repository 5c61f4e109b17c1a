"""Which strategy each group's members use, as settings or running consumers say."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.group_settings import NEARBY, STRATEGIES, GroupSettings, StrategySettings
from jobs.settings import Settings

GROUP_STRATEGIES = (
    "consumer_group string, strategies_json string, strategy string, strategy_source string, undetermined string"
)
_ASSUMED = "AVG"
_PARAMETERS = ("machine_rooms", "broker_room", "client_room", "virtual_nodes", "queues")
_BROKER_SIDE = ("AVG", "AVG_BY_CIRCLE")


@dataclasses.dataclass(frozen=True)
class Seen:
    """What snapshots told of one client of a group; None = nothing."""

    client_id: str
    strategy: str | None = None
    client_version: str | None = None
    client_rebalance: bool | None = None
    message_model: str | None = None


def group_strategies(spark: SparkSession, settings: Settings, seen: dict[str, list[Seen]]) -> DataFrame:
    """How each group allocates.

    Grain: `consumer_group`. Columns: `strategies_json` (for `udfs.allocation_udf`), `strategy` (MIXED when members
    differ), `strategy_source`, `undetermined` (why nothing can be computed; null = it can).
    """
    rows = [
        _of_group(group, settings.groups.get(group, GroupSettings()), seen.get(group, []))
        for group in {*seen, *settings.groups}
    ]
    return spark.createDataFrame(sorted(rows), GROUP_STRATEGIES)


def _of_group(group: str, said: GroupSettings, seen: list[Seen]) -> tuple[str, str, str, str, str | None]:
    if _first(said.message_model, *(each.message_model for each in seen)) == "BROADCASTING":
        source = "SETTINGS" if said.message_model else "CONNECTION"
        return group, json.dumps({"*": {"name": "BROADCASTING"}}), "BROADCASTING", source, None
    told = {each.client_id: each for each in seen}
    named = sorted({each.strategy for each in seen if each.strategy})
    common = Seen("", named[0]) if len(named) == 1 else Seen("")
    versions = sorted({each.client_version for each in seen if each.client_version})
    common = dataclasses.replace(common, client_version=versions[0] if len(versions) == 1 else None)
    default, source = _spec(said, said, common)
    specs: dict[str, dict[str, Any]] = {"*": default}
    sources = {source} if len(told) > len(said.clients) or not told else set()
    for client_id in sorted(set(told) | set(said.clients)):
        spec, its_source = _spec(
            said.clients.get(client_id, StrategySettings()), said, told.get(client_id, common), common
        )
        sources.add(its_source)
        if spec != default:
            specs[client_id] = spec
    names = {spec["name"] for client_id, spec in specs.items() if client_id in told or client_id == "*"}
    everyone_differs = told and set(told) <= set(specs)
    used = {specs[client_id]["name"] for client_id in told} if everyone_differs else names
    strategy = used.pop() if len(used) == 1 else "MIXED"
    strategy_source = next(name for name in ("SETTINGS", "RUNNING_INFO", "ASSUMED") if name in sources)
    names_used = {spec["name"] for client_id, spec in specs.items() if client_id in told or client_id == "*"}
    if any(name.removeprefix(NEARBY) not in STRATEGIES for name in names_used):
        return group, json.dumps(specs, sort_keys=True), strategy, strategy_source, "STRATEGY_UNKNOWN"
    by_broker = _first(said.client_rebalance, *(each.client_rebalance for each in seen)) is False
    if not by_broker:
        return group, json.dumps(specs, sort_keys=True), strategy, strategy_source, None
    if said.request_mode is None:
        return group, json.dumps(specs, sort_keys=True), strategy, strategy_source, "REQUEST_MODE_UNKNOWN"
    if said.request_mode == "POP":
        inner = strategy if strategy in _BROKER_SIDE else _ASSUMED
        popped = {"name": f"POP:{inner}", "pop_share_queue_num": said.pop_share_queue_num}
        return group, json.dumps({"*": popped}), f"POP:{inner}", strategy_source, None
    return group, json.dumps(specs, sort_keys=True), strategy, strategy_source, None


def _spec(own: StrategySettings, said: GroupSettings, *seen: Seen) -> tuple[dict[str, Any], str]:
    name, source = own.strategy or said.strategy, "SETTINGS"
    if name is None:
        known = next((each for each in seen if each.strategy), None)
        name, source = (known.strategy, "RUNNING_INFO") if known else (None, "ASSUMED")
    spec: dict[str, Any] = {"name": name or _ASSUMED}
    for key in _PARAMETERS:
        value = getattr(own, key)
        value = getattr(said, key) if value is None else value
        if value is not None:
            spec[key] = value
    version = _first(own.client_version, *(each.client_version for each in seen), said.client_version)
    charset = _first(own.client_charset, said.client_charset)
    if version is not None and spec["name"] == "MACHINE_ROOM":  # the others are the same in every version
        spec["version"] = version
    if charset is not None:
        spec["charset"] = charset
    return spec, source


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def seen_clients(connections: DataFrame, running: DataFrame) -> dict[str, list[Seen]]:
    """What the day's snapshots told of each group's clients; small: one row per client.

    Args:
        connections: as `connections` of `jobs.sources.consumer_answers` returns them.
        running: as `clients_told` returns them; it wins.
    """
    told = (
        connections.select("consumer_group", "message_model", F.explode_outer("clients").alias("client"))
        .groupBy("consumer_group", F.col("client.client_id").alias("client_id"))
        .agg(F.max("message_model").alias("message_model"), F.max("client.version").alias("version"))
    )
    clients: dict[tuple[str, str], Seen] = {}
    for row in told.where("client_id IS NOT NULL").collect():
        is_old = row["version"] is not None and row["version"] <= _V4_7_1
        clients[row["consumer_group"], row["client_id"]] = Seen(
            row["client_id"], message_model=row["message_model"], client_version="4.7.1" if is_old else None
        )
    for row in running.collect():
        key = row["consumer_group"], row["client_id"]
        new: dict[str, Any] = {name: row[name] for name in _SEEN if row[name] is not None}
        clients[key] = dataclasses.replace(clients.get(key, Seen(row["client_id"])), **new)
    groups: dict[str, list[Seen]] = {}
    for (group, _), each in sorted(clients.items()):
        groups.setdefault(group, []).append(each)
    return groups


_V4_7_1 = 355  # MQVersion.Version.V4_7_1.ordinal()
_SEEN = {"strategy", "client_version", "client_rebalance", "message_model"}
