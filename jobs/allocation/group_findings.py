"""Findings from members, routes and strategies alone: what they leave out, and what a group should not do."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.allocation.answer_intervals import INTERVAL
from jobs.allocation.causes import of_several_views
from jobs.allocation.comparison import QUEUE, are_shared
from jobs.allocation.findings import finding
from jobs.allocation.inputs import SUBJECT
from jobs.intervals.coalesce import coalesce_overlapping
from jobs.intervals.split import covering_join, split_at_boundaries
from jobs.tables.day import Day
from udfs.strategy import BY_BROKER, RETRY_TOPIC

_IN_A_ROOM = "^([^@]*)@[^@]+@*$"  # two parts, as Java's split counts them
_OF_GROUP = ("consumer_group", "topic", "kind", "cause", "client_ids")


def of_allocation(expected: DataFrame, allocated: DataFrame) -> DataFrame:
    """What the strategies themselves leave unassigned, give twice or give nothing; retry topics left out.

    Args:
        expected: as `queue_allocation` returns them.
        allocated: as `with_shares` returns them.
    """
    of_group = allocated.select(
        *SUBJECT,
        "view_broker_name",
        "start_ms",
        (F.size(F.array_distinct("client_ids")) < F.size("client_ids")).alias("has_twins"),
        (F.size("client_ids") > 0).alias("has_clients"),
        F.exists("shares", lambda share: share["outcome"] == "UNCHANGED").alias("fails"),
        "strategies_json",
    )
    stretch = (*SUBJECT, "view_broker_name", "start_ms")
    plain = expected.where(~F.col("topic").startswith(RETRY_TOPIC))
    by_queue = (
        plain.groupBy(*stretch, "end_ms", "strategy", "broker_name", "queue_id")
        .agg(F.array_sort(F.collect_set("client_id")).alias("owners_expected"))
        .withColumn("view", F.coalesce("view_broker_name", F.lit("")))
        .join(
            of_group.withColumn("view", F.coalesce("view_broker_name", F.lit(""))).drop("view_broker_name"),
            [*SUBJECT, "view", "start_ms"],
        )
    )
    owners = F.size("owners_expected")
    kind = F.when(owners == 0, "UNASSIGNED").when((owners > 1) & ~are_shared(F.col("strategy")), "DOUBLY_OWNED")
    has_lists = F.col("strategy").endswith("CONFIG")  # each id has a list of its own
    loses_shares = F.col("has_twins") & ~has_lists & ~F.col("strategy").startswith(BY_BROKER) & ~_is_left_out()
    cause = (
        F.when(loses_shares & (owners == 0), "DUPLICATE_CLIENT_ID")  # which gives no queue to a second one
        .when(F.col("fails"), "STRATEGY_FAILS")
        .when(F.col("strategy") == "MIXED", "MIXED_STRATEGIES")
        .when(owners == 0, "STRATEGY_LEAVES_OUT")
        .otherwise("STRATEGY_NAMES_TWICE")
    )
    queues = by_queue.where("has_clients").withColumns(
        {"kind": kind, "cause": cause, "client_ids": F.col("owners_expected")}
    )
    of_queues = coalesce_overlapping(
        queues.where("kind IS NOT NULL"), (*QUEUE, "kind", "client_ids", "owners_expected", "cause")
    )
    return finding(of_queues, "EXPECTED").unionByName(_idle(allocated))


def _is_left_out() -> Column:
    """Whether nobody gets the queue however many members there are: its broker is in none of MACHINE_ROOM's rooms."""
    of_each = F.map_values(F.from_json("strategies_json", "map<string, struct<machine_rooms: array<string>>>"))
    rooms = F.flatten(F.transform(of_each, lambda of: F.coalesce(of["machine_rooms"], F.array())))
    room = F.when(F.col("broker_name").rlike(_IN_A_ROOM), F.regexp_extract("broker_name", _IN_A_ROOM, 1))
    return F.col("strategy").endswith("MACHINE_ROOM") & ~F.coalesce(F.array_contains(rooms, room), F.lit(False))


def _idle(allocated: DataFrame) -> DataFrame:
    plain = allocated.where(~F.col("topic").startswith(RETRY_TOPIC)).withColumn("share", F.explode("shares"))
    more = F.size(F.array_distinct("client_ids")) > F.size("queues")
    cause = (
        F.when(F.col("share.outcome") == "UNCHANGED", "STRATEGY_FAILS")
        .when(more, "MORE_CLIENTS_THAN_QUEUES")
        .otherwise("STRATEGY_LEAVES_OUT")
    )
    idle = plain.where(F.size("share.queues") == 0).select(
        *SUBJECT,
        F.array("share.client_id").alias("client_ids"),
        "start_ms",
        "end_ms",
        cause.alias("cause"),
    )
    return finding(
        coalesce_overlapping(idle, (*SUBJECT, "client_ids", "cause")).withColumn("kind", F.lit("IDLE_CLIENT")),
        "EXPECTED",
    )


def of_groups(members: DataFrame, inputs: DataFrame, flaps: DataFrame, languages: DataFrame, day: Day) -> DataFrame:
    """What concerns a whole group.

    Args:
        members: as `group_members` returns them.
        inputs: as `allocation_inputs` returns them.
        flaps: as `flapping` returns them.
        languages: as `mixed_languages` returns them.
        day: the day.
    """
    within = {
        "start_ms": F.greatest("acts_from_ms", F.lit(day.start_ms)),
        "end_ms": F.least("acts_until_ms", F.lit(day.end_ms)),
    }
    distinct = F.array_distinct("client_ids")
    of_each = F.transform(
        distinct, lambda each: F.struct(each.alias("id"), F.size(F.filter("client_ids", lambda one: one == each)))
    )
    twice = F.transform(F.filter(of_each, lambda each: each["col2"] > 1), lambda each: each["id"])
    undetermined = inputs.where("undetermined IS NOT NULL").withColumn("cause", F.col("undetermined"))
    twins = members.where(F.size(distinct) < F.size("client_ids")).withColumn("client_ids", twice)
    found = (
        _of("DUPLICATE_CLIENT_ID", twins)
        .unionByName(_of("EMPTY_CLIENT_ID", members.where(F.array_contains("client_ids", "")).drop("client_ids")))
        .unionByName(_of("GROUP_WITHOUT_CONSUMERS", _deserted(members)))
        .unionByName(_of("NOT_DETERMINABLE", undetermined.drop("client_ids")))
        .unionByName(_of("MIXED_STRATEGIES", inputs.where("strategy = 'MIXED'").drop("topic", "client_ids")))
        .unionByName(_of("VIEWS_DIFFER", of_several_views(inputs)))
        .unionByName(_of("FLAPPING", flaps.withColumns(within).withColumn("client_ids", F.array("client_id"))))
        .unionByName(_of("MIXED_LANGUAGES", languages.withColumns(within).drop("topic", "cause")))
    )
    return finding(coalesce_overlapping(found, _OF_GROUP), "EXPECTED")


def of_topics(subjects: DataFrame, routes: DataFrame, day: Day) -> DataFrame:
    """Topics that groups consume and that have no route: the name server said so, or no snapshot tells of them.

    Args:
        subjects: as `group_topics` returns them.
        routes: as `topic_routes` returns them.
        day: the day.
    """
    plain = subjects.where(~F.col("topic").startswith(RETRY_TOPIC))
    consumed = {
        "start_ms": F.greatest("start_ms", "from_ms"),
        "end_ms": F.least("end_ms", "until_ms"),
    }
    gone = routes.where(F.size("route") == 0).join(plain, "topic").withColumns(consumed)
    untold = plain.join(routes.select("topic").distinct(), "topic", "left_anti").select(
        *SUBJECT,
        F.greatest("from_ms", F.lit(day.start_ms)).alias("start_ms"),
        F.col("until_ms").alias("end_ms"),
        F.lit("ROUTE_UNKNOWN").alias("cause"),
    )
    found = _of("TOPIC_WITHOUT_ROUTE", gone.withColumn("cause", F.lit("NO_ROUTE"))).unionByName(
        _of("TOPIC_WITHOUT_ROUTE", untold)
    )
    return finding(coalesce_overlapping(found.where("end_ms > start_ms"), _OF_GROUP), "EXPECTED")


def _of(kind: str, found: DataFrame) -> DataFrame:
    defaults = {
        "topic": F.lit(None).cast("string"),
        "cause": F.lit("NONE_NEEDED"),
        "client_ids": F.array().cast("array<string>"),
    }
    missing = {name: value for name, value in defaults.items() if name not in found.columns}
    return found.withColumns(missing).withColumn("kind", F.lit(kind)).select(*_OF_GROUP, *INTERVAL)


def _deserted(members: DataFrame) -> DataFrame:
    """When every broker that answers on a group knows no member of it."""
    told = members.select("consumer_group", *INTERVAL, F.size("client_ids").alias("clients"))
    of_group = ("consumer_group",)
    return (
        covering_join(split_at_boundaries(told, of_group), told, of_group)
        .groupBy("consumer_group", "from_ms", "until_ms")
        .agg(F.max("clients").alias("clients"))
        .where("clients = 0")
        .withColumnsRenamed({"from_ms": "start_ms", "until_ms": "end_ms"})
    )
