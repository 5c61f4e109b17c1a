"""Contents page of the second flow: one day of snapshots → who should own which queue, who did, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.allocation.answer_intervals import lasting
from jobs.allocation.client_answers import (
    connected_clients,
    logged_strategies,
    mixed_languages,
    process_queues,
    subscribed_topics,
    usual_gaps,
)
from jobs.allocation.frames import GROUP_DAYS, PROCESS_LOGS
from jobs.allocation.group.known import MIDNIGHT_LASTS_MS
from jobs.allocation.group_days import group_days, rows_of
from jobs.allocation.group_facts import group_facts
from jobs.allocation.group_topics import group_topics, subscriptions, with_routes
from jobs.allocation.member_lists import member_lists, unheard
from jobs.allocation.process_logs import facts_of_logs, walked_logs
from jobs.allocation.topic_queues import carried_routes, route_changes, topic_queues, topic_routes
from jobs.settings.model import Settings
from jobs.sources.client_log import CLIENT_LOGS
from jobs.sources.consumer_answers import connections, member_answers
from jobs.sources.running_info import latest_answers, running_info
from jobs.sources.snapshots import CONSUMERS, ROUTES, RUNNING_INFO
from jobs.sources.topic_route import route_answers
from jobs.spark.materialize import Materialize
from jobs.tables import (
    ALLOCATION_FINDINGS,
    GROUP_EVENTS,
    GROUP_MEMBERS,
    QUEUE_ALLOCATION,
    QUEUE_OWNERSHIP,
    REBALANCES,
    STRATEGY_COMPARISON,
    TOPIC_QUEUES,
    Table,
)
from jobs.tables.day import Day
from jobs.tables.partition import with_partition_columns


def allocation(
    lines: Mapping[str, DataFrame],
    opening: Mapping[str, DataFrame],
    day: Day,
    settings: Settings,
    materialize: Materialize,
) -> dict[str, DataFrame]:
    """Each table of one day, by its name; the partition columns included.

    Args:
        lines: the day's published lines, by input.
        opening: state at 00:00: rows of the day before that reach 24:00, by table; none when it is not in the lake.
        day: the day and cluster.
        settings: groups' strategies, staleness.
        materialize: writes a frame that several tables read.
    """
    stale_ms = settings.max_staleness_ms
    before = carried_routes(opening[TOPIC_QUEUES.name])
    members_before, allocated, owned = (
        opening[table.name] for table in (GROUP_MEMBERS, QUEUE_ALLOCATION, QUEUE_OWNERSHIP)
    )
    routes = topic_routes(route_answers(lines[ROUTES.name]), day, before, stale_ms)
    answers_on_members = member_answers(lines[CONSUMERS.name])
    members = member_lists(answers_on_members, day, members_before, stale_ms)
    connected = connections(lines[CONSUMERS.name])
    answers = running_info(lines[RUNNING_INFO.name])
    subscribed = subscriptions(connected, answers_on_members, settings.groups)
    topics = group_topics(subscribed, allocated, day, stale_ms)
    since = F.lit(day.start_ms - MIDNIGHT_LASTS_MS)
    of_logs = materialize(PROCESS_LOGS, walked_logs(lines[CLIENT_LOGS], owned, day))
    facts = group_facts(
        {
            "member_lists": members.drop("unanswered"),
            "unheard": unheard(answers_on_members, day, stale_ms),
            "topics": with_routes(topics, routes, before),
            "connected": connected_clients(connected),
            "running": latest_answers(answers),
            "logged": logged_strategies(lines[CLIENT_LOGS]),
            "languages": mixed_languages(connected),
            "subscribed": subscribed_topics(answers, day, stale_ms),
            "answered": process_queues(answers, owned, day, stale_ms),
            "answer_gaps": usual_gaps(answers),
            **facts_of_logs(of_logs),
            "owners_before": allocated.select(
                *("consumer_group", "topic", "view_broker_name", "broker_name", "queue_id", "client_id"),
                *("strategy", "strategy_source"),
            ),
            "members_before": members_before.select(
                *("consumer_group", "broker_name", "client_ids", since.alias("start_ms")),
                *(F.lit(day.start_ms).alias("end_ms"), since.alias("last_answer_ms")),
            ),
        }
    )
    days = materialize(GROUP_DAYS, group_days(facts, day, settings))

    def rows(table: Table, *instants: str) -> DataFrame:
        return rows_of(table, days).transform(with_partition_columns, day, *instants)

    return {
        "topic_queues": topic_queues(lasting(routes)).transform(with_partition_columns, day, "start_ms", "end_ms"),
        "route_changes": route_changes(routes).transform(with_partition_columns, day, "changed_at_ms"),
        "group_members": lasting(members)
        .withColumn("members", F.size("client_ids"))
        .transform(with_partition_columns, day, "start_ms", "end_ms"),
        "queue_allocation": rows(QUEUE_ALLOCATION, "start_ms", "end_ms"),
        "queue_ownership": rows(QUEUE_OWNERSHIP, "start_ms", "end_ms"),
        "allocation_findings": rows(ALLOCATION_FINDINGS, "start_ms", "end_ms"),
        "group_events": rows(GROUP_EVENTS, "start_ms", "settled_ms"),
        "rebalances": rows(REBALANCES, "changed_at_ms"),
        "strategy_comparison": rows(STRATEGY_COMPARISON),
    }
