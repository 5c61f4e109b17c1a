"""Contents page of the second flow: one day of snapshots → who should own which queue, who did, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.allocation.allocate import queue_allocation, with_shares
from jobs.allocation.answer_intervals import lasting
from jobs.allocation.before_midnight import inputs_before, shares_before
from jobs.allocation.causes import (
    acting,
    differing_views,
    duplicate_ids,
    flapping,
    mixed_languages,
    not_subscribed,
    rebalance_not_run,
    refusals,
    silent_clients,
    stale_route,
    stopped_not_expired,
    with_slack,
)
from jobs.allocation.comparison import differences
from jobs.allocation.findings import findings, with_causes
from jobs.allocation.group_findings import of_allocation, of_groups, of_topics
from jobs.allocation.inputs import SUBJECT, allocation_inputs, group_members, group_topics, with_configured_topics
from jobs.allocation.observed_clients import observed_clients
from jobs.allocation.ownership import ownership
from jobs.allocation.rebalances import of_one_view, rebalances, strategy_comparison
from jobs.allocation.strategies import group_strategies
from jobs.allocation.topic_queues import carried_routes, route_changes, topic_queues, topic_routes
from jobs.settings.model import Settings
from jobs.sources.consumer_answers import connections, member_answers
from jobs.sources.running_info import latest_answers, running_info
from jobs.sources.topic_route import route_answers
from jobs.spark.materialize import Materialize
from jobs.tables.day import Day
from jobs.tables.partition import with_partition_columns


@dataclass(frozen=True)
class Opening:
    """State at 00:00, from the day before's tables; no rows when that day is not in the lake.

    Attributes:
        topic_queues: rows that reach 24:00.
        group_members: rows that reach 24:00.
        queue_allocation: rows that reach 24:00.
        queue_ownership: rows that reach 24:00.
    """

    topic_queues: DataFrame
    group_members: DataFrame
    queue_allocation: DataFrame
    queue_ownership: DataFrame


@dataclass(frozen=True)
class Snapshots:
    """One frame per input: the day's published lines."""

    consumers: DataFrame
    routes: DataFrame
    running_info: DataFrame
    client_logs: DataFrame


@dataclass(frozen=True)
class Allocation:
    """One frame per table, with the table's column names; the partition columns included."""

    topic_queues: DataFrame
    route_changes: DataFrame
    group_members: DataFrame
    queue_allocation: DataFrame
    queue_ownership: DataFrame
    allocation_findings: DataFrame
    rebalances: DataFrame
    strategy_comparison: DataFrame


def allocation(
    snapshots: Snapshots, opening: Opening, day: Day, settings: Settings, materialize: Materialize
) -> Allocation:
    """Derive every table of one day.

    Args:
        snapshots: the day's lines.
        opening: state at 00:00; empty frames when the day before is not in the lake.
        day: the day and cluster.
        settings: groups' strategies, staleness.
        materialize: for frames that several tables read.
    """
    stale_ms = settings.max_staleness_ms
    spark = snapshots.consumers.sparkSession
    before = carried_routes(opening.topic_queues)
    all_routes = materialize("routes", topic_routes(route_answers(snapshots.routes), day, before, stale_ms))
    lists = member_answers(snapshots.consumers)
    all_members = materialize("members", group_members(lists, day, opening.group_members, stale_ms))
    routes, members = lasting(all_routes), lasting(all_members)
    consumer_connections = materialize("connections", connections(snapshots.consumers))
    answers = materialize("answers", running_info(snapshots.running_info))
    strategies = group_strategies(
        spark, settings, observed_clients(consumer_connections, latest_answers(answers), snapshots.client_logs)
    )
    subscriptions = consumer_connections.select(
        "consumer_group", F.explode("topics").alias("topic"), "captured_at_ms"
    ).transform(with_configured_topics, lists, settings.groups)
    topics = materialize(
        "topics", group_topics(subscriptions, opening.queue_allocation.select(*SUBJECT).distinct(), day, stale_ms)
    )
    inputs = materialize("inputs", allocation_inputs(topics, routes, members, strategies))
    determined = inputs.where("undetermined IS NULL")
    allocated = with_shares(determined, materialize, "shares", opening=opening.queue_allocation)
    expected = materialize("expected", queue_allocation(allocated))
    all_at_midnight = inputs_before(before, opening.group_members, opening.queue_allocation, strategies, day)
    at_midnight = materialize("inputs_before", all_at_midnight.where("undetermined IS NULL"))
    shares_at_midnight = shares_before(at_midnight, opening.queue_allocation)
    owned = ownership(answers, snapshots.client_logs, opening.queue_ownership, day, stale_ms, materialize)
    subjects = topics.select(*SUBJECT).distinct()
    languages, flaps = mixed_languages(consumer_connections, stale_ms), materialize("flaps", flapping(all_members))
    causes = reduce(
        DataFrame.unionByName,
        (
            duplicate_ids(members),
            not_subscribed(answers, subjects, day, stale_ms),
            acting(flaps.drop("client_id"), "FLAPPING"),
            differing_views(inputs),
            stopped_not_expired(owned.known),
            silent_clients(owned.silences),
            refusals(owned.refused),
            stale_route(all_routes, subjects, day),
            rebalance_not_run(all_members, day),
            languages,
        ),
    )
    differ = materialize("differences", differences(expected, owned.holdings, owned.known, day))
    all_findings = (
        with_causes(differ, materialize("causes", with_slack(causes, answers, owned.known)))
        .unionByName(of_allocation(expected, allocated))
        .unionByName(of_groups(members, inputs, flaps, languages, day))
        .unionByName(of_topics(topics, routes, day))
    )
    return Allocation(
        topic_queues=topic_queues(routes).transform(with_partition_columns, day, "start_ms", "end_ms"),
        route_changes=route_changes(all_routes).transform(with_partition_columns, day, "changed_at_ms"),
        group_members=members.withColumn("members", F.size("client_ids")).transform(
            with_partition_columns, day, "start_ms", "end_ms"
        ),
        queue_allocation=expected.transform(with_partition_columns, day, "start_ms", "end_ms"),
        queue_ownership=owned.holdings.transform(with_partition_columns, day, "start_ms", "end_ms"),
        allocation_findings=findings(all_findings).transform(with_partition_columns, day, "start_ms", "end_ms"),
        rebalances=rebalances(of_one_view(allocated).unionByName(of_one_view(shares_at_midnight))).transform(
            with_partition_columns, day, "changed_at_ms"
        ),
        strategy_comparison=strategy_comparison(
            of_one_view(determined), of_one_view(at_midnight), settings, materialize
        ).transform(with_partition_columns, day),
    )
