"""What a change of members or queues moved, what would have been enough, and how other strategies would have done."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.allocation.allocate import with_shares
from jobs.allocation.inputs import SUBJECT
from jobs.settings.model import Settings
from jobs.spark.materialize import Materialize
from udfs.moves_udf import balance_of, moves_of
from udfs.strategy import BY_BROKER, POP

_ROUND_MS = 1_000  # a collector's way round the brokers of one group
_EVERYWHERE = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")


def of_one_view(allocated: DataFrame) -> DataFrame:
    """The stretches that make one history per group and topic.

    Those on which all brokers agree, and the first broker's where they do not. Brokers are asked one after the other,
    so a change that all of them know shows as views of some milliseconds: these are left out.
    """
    first = F.min("view_broker_name").over(Window.partitionBy(*SUBJECT))
    lasts = F.col("end_ms") - F.col("start_ms") > _ROUND_MS
    is_first = F.col("view_broker_name") == F.col("first_view")
    return (
        allocated.withColumn("first_view", first)
        .where(F.col("view_broker_name").isNull() | (is_first & lasts))
        .drop("first_view")
    )


def rebalances(history: DataFrame, subject: Sequence[str] = SUBJECT) -> DataFrame:
    """One row per change between stretches that touch; columns of the table, without day and cluster.

    Args:
        history: stretches with `client_ids`, `queues`, `shares` and `view_broker_name`, which of one subject do not
            overlap.
        subject: what has one history.
    """
    in_time = Window.partitionBy(*subject).orderBy("start_ms")
    names = ("client_ids", "queues", "shares", "end_ms", "view_broker_name")
    pairs = history.withColumns({f"{name}_before": F.lag(name).over(in_time) for name in names}).where(
        F.col("start_ms") - F.col("end_ms_before") <= _ROUND_MS
    )
    members_changed = ~F.col("client_ids").eqNullSafe(F.col("client_ids_before"))
    queues_changed = ~F.array_sort("queues").eqNullSafe(F.array_sort("queues_before"))
    trigger = (
        F.when(~F.col("view_broker_name").eqNullSafe(F.col("view_broker_name_before")), "VIEW")
        .when(members_changed & queues_changed, "MEMBERS_AND_QUEUES")
        .when(queues_changed, "QUEUES")
        .when((F.size("joined") > 0) & (F.size("left") > 0), "JOINED_AND_LEFT")
        .when(F.size("client_ids") > F.size("client_ids_before"), "JOINED")
        .when(members_changed, "LEFT")
    )
    counted = (
        pairs.withColumns(
            {
                "joined": F.array_except("client_ids", "client_ids_before"),
                "left": F.array_except("client_ids_before", "client_ids"),
            }
        )
        .withColumn("trigger", trigger)
        .where("trigger IS NOT NULL")
        .withColumn("cost", moves_of(F.col("shares_before"), F.col("shares"), F.col("queues"), F.col("client_ids")))
    )
    return counted.select(
        *subject,
        F.col("start_ms").alias("changed_at_ms"),
        "trigger",
        "joined",
        "left",
        F.size("queues").cast("bigint").alias("queues"),
        F.col("cost.moved").alias("moved"),
        F.col("cost.fewest").alias("fewest_moves"),
        (F.col("cost.moved") - F.col("cost.fewest")).alias("moved_beyond_fewest"),
    )


def strategy_comparison(today: DataFrame, before: DataFrame, settings: Settings, materialize: Materialize) -> DataFrame:
    """The same history under each strategy; columns of the table, without day and cluster.

    Every group as its members allocate, and all of them under AVG, AVG_BY_CIRCLE and CONSISTENT_HASH; under
    MACHINE_ROOM and MACHINE_ROOM_NEARBY-AVG where its settings tell of rooms. Groups that broadcast are left out, and
    what the broker assigns is compared with nothing of their own.

    Args:
        today: as `allocation_inputs` returns them, one view only.
        before: what stood at 00:00, as `inputs_before` returns it, one view only; nothing but changes of it counts.
        settings: the groups' rooms and virtual nodes.
        materialize: for the allocations, which its figures share.
    """
    inputs = today.withColumn("is_today", F.lit(True)).unionByName(before.withColumn("is_today", F.lit(False)))
    groups = {group: _candidates(said) for group, said in settings.groups.items()}
    spark = inputs.sparkSession
    rows = [(group, name, spec) for group, specs in groups.items() for name, spec in specs.items()]
    said = spark.createDataFrame(rows, "consumer_group string, other string, other_json string")
    plain = [(name, json.dumps({"*": {"name": name}})) for name in _EVERYWHERE]
    everyone = spark.createDataFrame(plain, "other string, other_json string")
    unsaid = inputs.join(F.broadcast(said.select("consumer_group").distinct()), "consumer_group", "left_anti")
    others = unsaid.crossJoin(F.broadcast(everyone)).unionByName(inputs.join(F.broadcast(said), "consumer_group"))
    by_broker = F.col("strategy").startswith(POP) | F.col("strategy").startswith(BY_BROKER)
    own = inputs.where(~by_broker).withColumns({"other": F.col("strategy"), "other_json": F.col("strategies_json")})
    tried = (
        others.where("other <> strategy")
        .unionByName(own)
        .where("strategy <> 'BROADCASTING'")
        .withColumns({"strategies_json": F.col("other_json"), "is_own": F.col("other") == F.col("strategy")})
        .withColumn("strategy", F.col("other"))
        .drop("other", "other_json")
    )
    subject = (*SUBJECT, "strategy")
    history = with_shares(tried, materialize, "history", subject=subject)
    costs = (
        rebalances(history, subject)
        .groupBy(*subject)
        .agg(
            F.count("*").alias("rebalances"), F.sum("moved").alias("moves"), F.sum("fewest_moves").alias("fewest_moves")
        )
    )
    lasted = F.col("end_ms") - F.col("start_ms")
    balance = (
        history.where("is_today")
        .withColumn("balance", balance_of(F.col("shares"), F.col("queues"), F.col("client_ids")))
        .groupBy(*subject)
        .agg(
            F.first("is_own").alias("is_own"),
            F.max("balance.imbalance").alias("imbalance_max"),
            F.max("balance.broker_skew").alias("broker_skew"),
            F.max("balance.unassigned").alias("unassigned_max"),
            (F.sum(F.col("balance.imbalance") * lasted) / F.sum(lasted)).alias("imbalance_mean"),
        )
    )
    return balance.join(costs, list(subject), "left").fillna(0, ["rebalances", "moves", "fewest_moves"])


def _candidates(said: Any) -> dict[str, str]:
    specs: dict[str, dict[str, Any]] = {name: {"name": name} for name in _EVERYWHERE}
    if said.virtual_nodes is not None:
        specs["CONSISTENT_HASH"]["virtual_nodes"] = said.virtual_nodes
    if said.machine_rooms is not None:
        specs["MACHINE_ROOM"] = {"name": "MACHINE_ROOM", "machine_rooms": list(said.machine_rooms)}
    rooms = {"broker_room": said.broker_room, "client_room": said.client_room}
    told = {name: pattern for name, pattern in rooms.items() if pattern is not None}
    if told:
        specs["MACHINE_ROOM_NEARBY-AVG"] = {"name": "MACHINE_ROOM_NEARBY-AVG", **told}
    return {name: json.dumps({"*": spec}) for name, spec in specs.items()}
