"""The second flow's contents page: one day of snapshots → who should own which queue, who did, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.allocation.allocate import queue_allocation, with_shares
from jobs.allocation.inputs import SUBJECT, allocation_inputs, group_members, group_topics
from jobs.allocation.rebalances import of_one_view, rebalances, strategy_comparison
from jobs.allocation.strategies import group_strategies, seen_clients
from jobs.allocation.topic_queues import carried_routes, route_changes, topic_queues, topic_routes
from jobs.day import Day
from jobs.settings import Settings
from jobs.sources.consumer_answers import connections, member_answers
from jobs.sources.running_info import clients_told, running_info
from jobs.sources.topic_route import route_answers


@dataclass(frozen=True)
class Opening:
    """What stood at 00:00, from the day before's tables; no rows when that day is not in the lake.

    Attributes:
        topic_queues: rows that reach 24:00.
        group_members: rows that reach 24:00.
        queue_allocation: rows that reach 24:00.
    """

    topic_queues: DataFrame
    group_members: DataFrame
    queue_allocation: DataFrame


@dataclass(frozen=True)
class Snapshots:
    """The day's published lines, an input each."""

    consumers: DataFrame
    routes: DataFrame
    running_info: DataFrame


@dataclass(frozen=True)
class Allocation:
    """What one day of snapshots says, a frame per table; columns named as the tables'."""

    topic_queues: DataFrame
    route_changes: DataFrame
    group_members: DataFrame
    queue_allocation: DataFrame
    rebalances: DataFrame
    strategy_comparison: DataFrame


def allocation(snapshots: Snapshots, opening: Opening, day: Day, settings: Settings) -> Allocation:
    """Recompute one day.

    Args:
        snapshots: the day's lines.
        opening: what stood at 00:00; empty frames when the day before is not in the lake.
        day: the day and cluster.
        settings: groups' strategies, staleness.
    """
    stale_ms = settings.max_staleness_ms
    spark = snapshots.consumers.sparkSession
    routes = topic_routes(route_answers(snapshots.routes), day, carried_routes(opening.topic_queues), stale_ms).persist(
        StorageLevel.MEMORY_AND_DISK
    )
    members = group_members(member_answers(snapshots.consumers), day, opening.group_members, stale_ms).persist(
        StorageLevel.MEMORY_AND_DISK
    )
    told = connections(snapshots.consumers).persist(StorageLevel.MEMORY_AND_DISK)
    strategies = group_strategies(
        spark, settings, seen_clients(told, clients_told(running_info(snapshots.running_info)))
    )
    seen = told.select("consumer_group", F.explode("topics").alias("topic"), "captured_at_ms")
    topics = group_topics(seen, opening.queue_allocation.select(*SUBJECT).distinct(), day, stale_ms)
    inputs = allocation_inputs(topics, routes, members, strategies)
    determined = inputs.where("undetermined IS NULL").persist(StorageLevel.MEMORY_AND_DISK)
    allocated = with_shares(determined).persist(StorageLevel.MEMORY_AND_DISK)
    return Allocation(
        topic_queues=topic_queues(routes).transform(_dated, day, "valid_from_ms", "valid_until_ms"),
        route_changes=route_changes(routes).transform(_dated, day, "changed_at_ms"),
        group_members=members.withColumn("members", F.size("client_ids")).transform(
            _dated, day, "valid_from_ms", "valid_until_ms"
        ),
        queue_allocation=queue_allocation(allocated).transform(_dated, day, "valid_from_ms", "valid_until_ms"),
        rebalances=rebalances(of_one_view(allocated)).transform(_dated, day, "changed_at_ms"),
        strategy_comparison=strategy_comparison(of_one_view(determined), settings).transform(_dated, day),
    )


def _dated(rows: DataFrame, day: Day, *instants: str) -> DataFrame:
    """With the partition columns, and each instant (`start_ms`) also as a timestamp (`start_at`)."""
    stamps = {f"{name.removesuffix('_ms').removesuffix('_at')}_at": F.timestamp_millis(name) for name in instants}
    return rows.withColumns({"event_date": F.lit(day.date), "cluster": F.lit(day.cluster), **stamps})
