"""Suspicious stretches of a process: where a write may be missing, or stand in the wrong order.

A stretch lasts while some fault item may be isolated, so that one asks nothing of another: what a producer with a third
of all sends did in one day is many stretches.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import ITEM, OWNER, UPDATE
from jobs.fault_latency.inference.as_of import chosen_within, last_write_wins
from jobs.fault_latency.inference.tied_writes import SHORTEST_MS
from jobs.fault_latency.producers.known_routes import ROUTE_LAG_MS, hosts_throughout
from jobs.intervals.coalesce import coalesce_overlapping
from udfs.fault_window import FAR_MS
from udfs.policy import Policy

STRETCH = (*OWNER, "stretch")
MOST_ITEMS = 3
"""With more fault items the fallback's pick is not certain."""


def with_stretch(items: DataFrame) -> DataFrame:
    """The writes with `stretch`, a number: a new one once every item of the process is available in any order.

    Args:
        items: writes as `replay.replay` returns them.
    """
    in_order = Window.partitionBy(*OWNER).orderBy("at_ms", "broker_name", "position")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    hidden_until = F.when(_hides_a_try(), _hidden_until())
    ends_ms = F.greatest("at_ms", _may_be_isolated_until(), hidden_until)
    begins = F.coalesce(F.col("at_ms") > F.max("ends_ms").over(before) + 1, F.lit(True))
    return (
        items.withColumn("ends_ms", ends_ms)
        .withColumn("begins", begins)
        .withColumn("stretch", F.sum(F.col("begins").cast("int")).over(so_far))
        .drop("ends_ms", "begins")
    )


def with_whole_processes(items: DataFrame, known_routes: DataFrame) -> DataFrame:
    """The writes with their stretch; 0 for all of a process that may have tried a broker which no line of it names.

    Such a broker has an item from then on, in later stretches too, and only the walk knows whether it does.

    Args:
        items: writes with their stretch.
        known_routes: as `known_routes_of` returns them.
    """
    at_ms = F.col("at_ms")
    hosts = hosts_throughout(F.col("writable"), at_ms - ROUTE_LAG_MS, at_ms)
    # Where a refused retry is charged, the last broker may be the middle one as well.
    tried = F.array_union(hosts, F.array("middle_after"))
    unlogged = (
        items.where(F.col("enforced") & _hides_a_try())
        .join(F.broadcast(known_routes.withColumnRenamed("topic", "middle_topic")), ["cluster", "middle_topic"])
        .select(*OWNER, F.explode(tried).alias("broker_name"))
        .join(items.where("position = 1"), list(ITEM), "left_anti")
        .select(*OWNER, F.lit(0).alias("whole"))
        .distinct()
    )
    return (
        items.join(F.broadcast(unlogged), list(OWNER), "left")
        .withColumn("stretch", F.coalesce("whole", "stretch"))
        .drop("whole")
    )


def revealing_times(items: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """When attempts show an order of writes, or a removed item: (`after_ms`, `until_ms`] of a `STRETCH`, none overlap.

    Only under last-write-wins. A few more times than the walk will use: a middle broker not yet known may tie
    with another write, and may be the one that leaves no broker available.

    Args:
        items: writes with their stretch.
        policies: every policy that a row may name.
    """
    deciding = items.where(last_write_wins(policies))
    times = _of_ties(deciding).unionByName(_of_isolated_processes(deciding))
    names = {"start_ms": "after_ms", "end_ms": "until_ms"}
    return coalesce_overlapping(times, STRETCH).withColumnsRenamed(names)


def suspicious(items: DataFrame, revealing: DataFrame) -> DataFrame:
    """The stretches to walk, each once: those with a revealing time, or with a broker that the log does not name."""
    hiding = items.where(F.col("enforced") & _hides_a_try())
    return hiding.select(*STRETCH).unionByName(revealing.select(*STRETCH)).distinct()


def attempts_within(revealing: DataFrame, first_attempts: DataFrame) -> DataFrame:
    """The attempts of each `STRETCH` in its revealing times, once each."""
    return chosen_within(revealing, first_attempts).drop("after_ms", "until_ms")


def _of_ties(items: DataFrame) -> DataFrame:
    near = Window.partitionBy(*OWNER).orderBy("at_ms").rangeBetween(-1, 1)
    next_at = F.coalesce("next_at_ms", F.lit(FAR_MS))
    is_open = (F.col("op") == UPDATE) & (F.col("earliest_ms") < F.col("latest_ms"))
    lasts = F.least("latest_ms", next_at) - F.col("at_ms") > SHORTEST_MS
    may_tie = F.min("broker_name").over(near) < F.max("broker_name").over(near)
    end_ms = F.when(is_open & lasts, F.least("latest_ms", next_at)).when(_hides_a_try() & may_tie, _hidden_until() + 1)
    times = items.withColumn("end_ms", end_ms).where("end_ms IS NOT NULL")
    return times.select(*STRETCH, (F.col("at_ms") - ROUTE_LAG_MS).alias("start_ms"), "end_ms")


def _of_isolated_processes(items: DataFrame) -> DataFrame:
    """The times in which every item that a process had, two or three, may have been isolated."""
    few = (
        items.groupBy(*OWNER)
        .agg(F.count_if(F.col("position") == 1).alias("brokers"))
        .where(F.col("brokers") <= MOST_ITEMS)
    )
    is_first, isolated = F.col("position") == 1, _may_be_isolated_until() > F.col("at_ms")
    hides, hidden = _hides_a_try(), _hidden_tries()
    turns = F.array_compact(
        F.array(
            F.when(is_first | isolated, _turn("at_ms", is_first.cast("int"), isolated.cast("int"))),
            F.when(isolated, _turn(_may_be_isolated_until(), F.lit(0), F.lit(-1))),
            F.when(hides, _turn("at_ms", F.lit(0), hidden)),
            F.when(hides, _turn(_hidden_until(), F.lit(0), -hidden)),
        )
    )
    moments = (
        items.join(few, list(OWNER), "left_semi")
        .select(*STRETCH, F.inline(turns))
        .groupBy(*OWNER, "at_ms")
        .agg(F.max("stretch").alias("stretch"), F.sum("items").alias("items"), F.sum("isolated").alias("isolated"))
    )
    in_time = Window.partitionBy(*OWNER).orderBy("at_ms")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = moments.withColumns(
        {
            "items": F.sum("items").over(so_far),
            "isolated": F.sum("isolated").over(so_far),
            "end_ms": F.lead("at_ms").over(in_time),
        }
    )
    return counted.where("isolated >= 2 AND isolated >= items AND end_ms IS NOT NULL").select(
        *STRETCH, F.col("at_ms").alias("start_ms"), "end_ms"
    )


def _turn(at_ms: Column | str, items: Column, isolated: Column) -> Column:
    at = F.col(at_ms) if isinstance(at_ms, str) else at_ms
    return F.struct(at.alias("at_ms"), items.alias("items"), isolated.alias("isolated"))


def _may_be_isolated_until() -> Column:
    return F.least(F.greatest("until_ms", "latest_ms"), F.coalesce("next_at_ms", F.lit(FAR_MS)))


def _hides_a_try() -> Column:
    return F.col("middle_topic").isNotNull()


def _hidden_tries() -> Column:
    """How many: without another broker's address the last one is hidden too (`middle_brokers`)."""
    return F.when(F.col("broker_name") == F.col("middle_after"), 2).otherwise(1)


def _hidden_until() -> Column:
    """Up to when the hidden tries isolate their brokers."""
    return F.col("at_ms") + F.col("not_available_ms")
