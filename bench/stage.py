"""The allocation stage alone, in a warm session: lines → facts of each group → rows of every table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from bench.took import Took, all_rows, run_once, run_warm, together
from jobs.allocation.client_answers import connected_clients
from jobs.allocation.group.inputs import Input, inputs
from jobs.allocation.group.known import KINDS, GroupFacts
from jobs.allocation.group.observed_clients import observed_clients
from jobs.allocation.group.shares import allocated
from jobs.allocation.group.strategy import group_strategy
from jobs.allocation.group_days import group_days
from jobs.allocation.group_facts import group_facts
from jobs.allocation.group_topics import group_topics, subscriptions, with_routes
from jobs.allocation.member_lists import member_lists
from jobs.allocation.topic_queues import carried_routes, topic_routes
from jobs.intervals.of_lists import grouped
from jobs.settings.consumer_groups import GroupSettings
from jobs.settings.model import Settings
from jobs.sources.consumer_answers import connections, member_answers
from jobs.sources.line_kinds import LineKind
from jobs.sources.snapshots import CONSUMERS, ROUTES
from jobs.sources.topic_route import route_answers
from jobs.tables import GROUP_MEMBERS, QUEUE_ALLOCATION, TOPIC_QUEUES
from jobs.tables.day import Day
from udfs.shares import shares_of_group


@dataclass(frozen=True)
class Stage:
    """Medians of a few runs.

    Attributes:
        to_facts: from lines in memory to the facts of each group.
        inputs: number of intervals of unchanged inputs, by strategy.
        to_shares: from those intervals to clients' shares, by strategy, in one process; a part of `to_rows`.
        to_rows: from facts to the rows of every table.
    """

    to_facts: Took
    inputs: dict[str, int]
    to_shares: dict[str, Took]
    to_rows: Took

    @property
    def total(self) -> Took:
        """Sum of all steps."""
        return together((self.to_facts, self.to_rows))


def measure_stage(spark: SparkSession, snapshots: Path, date: dt.date, settings: Settings) -> Stage:
    """Measure the stage on the snapshots below the folder, without a day before; caches what the job caches."""
    consumers, routes = (_lines(spark, kind, snapshots).persist() for kind in (CONSUMERS, ROUTES))
    day, stale_ms = Day(date, settings.cluster), settings.max_staleness_ms
    no_routes = carried_routes(spark.createDataFrame([], TOPIC_QUEUES.schema))
    connected = connections(consumers).persist()
    for frame in (consumers, routes, connected):
        run_once(all_rows(frame))
    of_topics = topic_routes(route_answers(routes), day, no_routes, stale_ms)
    of_members = member_lists(member_answers(consumers), day, spark.createDataFrame([], GROUP_MEMBERS.schema), stale_ms)
    to_intervals = [run_warm(all_rows(of_topics)), run_warm(all_rows(of_members))]
    subscribed = subscriptions(connected, member_answers(consumers), settings.groups)
    topics = group_topics(subscribed, spark.createDataFrame([], QUEUE_ALLOCATION.schema), day, stale_ms)
    facts = group_facts(
        {
            "member_lists": of_members.persist().drop("unanswered"),
            "topics": with_routes(topics, of_topics.persist(), no_routes),
            "connected": connected_clients(connected),
        }
    )
    run_once(all_rows(facts))  # fills the caches
    to_facts = together([*to_intervals, run_warm(all_rows(facts))])
    of_groups = facts.persist()
    to_rows = run_warm(all_rows(group_days(of_groups, day, settings)))
    by_strategy = grouped(_inputs(of_groups, settings), lambda interval: interval.strategy)
    spark.catalog.clearCache()
    return Stage(
        to_facts,
        {name: len(of_strategy) for name, of_strategy in sorted(by_strategy.items())},
        {name: run_warm(_shares(of_strategy)) for name, of_strategy in sorted(by_strategy.items())},
        to_rows,
    )


def _inputs(facts: DataFrame, settings: Settings) -> list[Input]:
    """Inputs of the strategies of all groups."""
    by_group = grouped((row.asDict(recursive=True) for row in facts.collect()), lambda row: str(row["consumer_group"]))
    return [interval for group, rows in by_group.items() for interval in _of_group(group, rows, settings)]


def _of_group(group: str, rows: list[dict[str, Any]], settings: Settings) -> list[Input]:
    of_group = GroupFacts.from_rows({kind: [row[kind] for row in rows if row.get(kind)] for kind in KINDS})
    observed = observed_clients(of_group.connected, of_group.logged, of_group.running)
    strategy = group_strategy(settings.groups.get(group, GroupSettings()), observed)
    return inputs(of_group.topics, of_group.member_lists, strategy)


def _shares(of_strategy: list[Input]) -> Callable[[], object]:
    return lambda: allocated(of_strategy, shares_of=cache(shares_of_group))


def _lines(spark: SparkSession, kind: LineKind, snapshots: Path) -> DataFrame:
    schema = StructType([StructField("captured_at_ms", LongType()), *kind.fields.fields])
    return spark.read.schema(schema).json(str(snapshots / kind.name))
