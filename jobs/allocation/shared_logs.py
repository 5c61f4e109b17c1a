"""Which of several clients of one group that write one log held a queue: their results name the client.

`RebalanceImpl.rebalanceByTopic` (4.3 to 5.5) tells a client's result each time that it changed what the client holds,
after the changes' own lines, which name no client. So a change is the client's whose next result shows it.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.allocation.logged_ownership import CHANGES, LIFE, LOG, ORDER, QUEUE, held_in, lived_until
from jobs.tables.day import Day
from udfs.whose_changes_udf import clients_of

_CLIENT = (*LOG, "client_id")
_CLIENT_LIFE = (*_CLIENT, "life")
_QUEUE = QUEUE[1:]
_SAID_AT_ONCE_MS = 1_000
_AT_MIDNIGHT = 0  # the place of what stood at 00:00; lines begin with 1


def shared_logs(events: DataFrame, opening: DataFrame) -> DataFrame:
    """Groups of which several clients write one log: `LOG`, distinct.

    Clients that follow one another are here only where their starts and ends do not tell them apart.

    Args:
        events: as `with_lives` returns them.
        opening: as `at_midnight` returns it.
    """
    told = events.where("event = 'ALLOCATED'").select(*LIFE, "client_id")
    clients = told.unionByName(opening.select(*LIFE, "client_id")).groupBy(*LIFE)
    several = clients.agg(F.count_distinct("client_id").alias("clients")).where("clients > 1")
    at_once = events.where("consumer_group IS NOT NULL AND alive > 1")
    return several.select(*LOG).unionByName(at_once.select(*LOG)).distinct()


def stories(events: DataFrame, opening: DataFrame, shared: DataFrame) -> DataFrame:
    """What each client of a shared log did.

    Columns: those of `LOG`, `client_id`, `life` (how often it had stopped in its process), `place` (of the line in its
    process), `at_ms`, `event` (BEGUN, STOPPED or of `CHANGES`), those of `QUEUE` (null for the first two).

    Nothing is told of a log in which a consumer stopped and no line says which client (another group still uses it),
    in which a client tells results that was not made in the process (two processes write one file), or in which
    queues are taken and no client tells a result (a broadcasting group).

    Args:
        events: as `with_lives` returns them.
        opening: as `at_midnight` returns it.
        shared: as `shared_logs` returns them.
    """
    in_process = Window.partitionBy(*LOG[:2]).orderBy(*ORDER)
    lines = events.join(shared.select(*LOG[:2]).distinct(), list(LOG[:2]), "left_semi").withColumn(
        "place", F.row_number().over(in_process)
    )
    of_groups = lines.join(shared, list(LOG), "left_semi")
    stood = opening.join(shared, list(LOG), "left_semi").withColumn("place", F.lit(_AT_MIDNIGHT))
    begun = of_groups.where("made_client_id IS NOT NULL").select(
        *LOG, F.col("made_client_id").alias("client_id"), "place", "at_ms", F.lit("BEGUN").alias("event")
    )
    named = (of_groups.where("event = 'ALLOCATED'"), begun, stood)
    clients = reduce(DataFrame.union, (each.select(*_CLIENT) for each in named)).distinct()
    stopped = (
        lines.where("event = 'INSTANCE_STOPPED'")
        .drop("consumer_group")
        .join(clients, [*LOG[:2], "client_id"])
        .select(*_CLIENT, "place", "at_ms", F.lit("STOPPED").alias("event"))
    )
    at_midnight = stood.select(*_CLIENT, *_QUEUE, "place", "at_ms", F.lit("ADDED").alias("event"))
    told = (
        _changes(of_groups, stood, begun.unionByName(stopped))
        .unionByName(at_midnight)
        .unionByName(begun.unionByName(stopped), allowMissingColumns=True)
    )
    so_far = Window.partitionBy(*_CLIENT).orderBy("place").rowsBetween(Window.unboundedPreceding, -1)
    numbered = told.withColumn("life", F.count_if(F.col("event") == "STOPPED").over(so_far).cast("int"))
    return numbered.join(_unclear(lines, of_groups, clients, stopped), list(LOG), "left_anti")


def _changes(of_groups: DataFrame, stood: DataFrame, turns: DataFrame) -> DataFrame:
    """Lines of `CHANGES` whose client is known: `_CLIENT`, `_QUEUE`, `place`, `at_ms`, `event`."""
    subject = (*LOG, "topic")
    told = of_groups.where(F.col("event").isin("ALLOCATED", *CHANGES))
    of_topics = turns.join(told.select(*subject).distinct(), list(LOG))
    line = F.struct("place", "at_ms", "event", *_QUEUE[1:], "client_id", "allocated")
    logs = told.unionByName(of_topics, allowMissingColumns=True).groupBy(*subject)
    held = F.struct("client_id", "broker_name", "queue_id")
    held_before = stood.groupBy(*subject).agg(F.collect_list(held).alias("held_before"))
    by_log = logs.agg(F.array_sort(F.collect_list(line)).alias("line")).join(held_before, list(subject), "left")
    whose = by_log.withColumn("whose", clients_of(F.col("line"), F.col("held_before")))
    each = whose.select(*subject, F.inline(F.arrays_zip("line", "whose"))).where("whose IS NOT NULL")
    of_line = ("place", "at_ms", "event", *_QUEUE[1:])
    return each.select(
        *subject, F.col("whose").alias("client_id"), *(F.col(f"line.{name}").alias(name) for name in of_line)
    ).where(F.col("event").isin(*CHANGES))


def _unclear(lines: DataFrame, of_groups: DataFrame, clients: DataFrame, stopped: DataFrame) -> DataFrame:
    """`LOG` of those that do not tell which client stopped, name one of another process, or name none."""
    in_log = Window.partitionBy(*LOG).orderBy("place")
    number = F.row_number().over(in_log)
    ends = of_groups.where("event = 'STOPPED'").select(*LOG, number.alias("number"), F.col("at_ms").alias("ended_ms"))
    known = stopped.select(*LOG, number.alias("number"), "at_ms")
    # The thread that ends the client says both: a client that ends at another time was kept by another group.
    is_paired = F.coalesce((F.col("ended_ms") - F.col("at_ms")).between(0, _SAID_AT_ONCE_MS), F.lit(False))
    nobodys = ends.join(known, [*LOG, "number"], "full").where(~is_paired)
    made = lines.where("event = 'INSTANCE'").select("process", "incarnation", "client_id")
    others = clients.where("incarnation > 0").join(made, ["process", "incarnation", "client_id"], "left_anti")
    counted = of_groups.groupBy(*LOG).agg(
        F.count_if(F.col("event") == "ADDED").alias("taken"), F.count_if(F.col("event") == "ALLOCATED").alias("told")
    )
    silent = counted.where("taken > 0 AND told = 0")
    return reduce(DataFrame.union, (each.select(*LOG) for each in (nobodys, others, silent))).distinct()


def shared_lives(told: DataFrame, last: DataFrame, day: Day) -> DataFrame:
    """As `lives` of `logged_ownership`; grain: `LOG`, `client_id`, `life`.

    Args:
        told: as `stories` returns them.
        last: as `last_lines` returns it.
        day: the day.
    """
    is_first = (F.col("event") == "BEGUN") | (F.col("place") == _AT_MIDNIGHT)
    lived = told.groupBy(*_CLIENT_LIFE).agg(
        F.min(F.when(is_first, F.col("at_ms"))).alias("lived_from_ms"),
        F.max(F.when(F.col("event") == "STOPPED", F.col("at_ms"))).alias("stopped_ms"),
    )
    return lived_until(lived, last, day)


def shared_holdings(told: DataFrame, of_lives: DataFrame) -> DataFrame:
    """As `logged_holdings` of `logged_ownership`.

    Args:
        told: as `stories` returns them.
        of_lives: as `shared_lives` returns them.
    """
    return held_in(told.where(F.col("event").isin(*CHANGES)), of_lives, _CLIENT_LIFE, ("place",))
