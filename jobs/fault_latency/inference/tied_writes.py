"""Writes that ran within a millisecond, and the first attempts that show which of them came last."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.fault_items.replay import ITEM, UPDATE
from jobs.fault_latency.inference.as_of import chosen_within
from jobs.fault_latency.producers.known_routes import (
    ROUTE_LAG_MS,
)
from udfs.fault_window import FAR_MS

_SHORTEST_MS = 20
"""A difference shorter than this is not worth a look, and no round of sends fits into it."""


WRITE = (*ITEM, "position")


def tied_writes(items: DataFrame) -> DataFrame:
    """The last writes of ties whose order matters: `ends`, what each of the others, if last, would have left.

    Grain: `ITEM`, `position`; `at_ms`, `guessed_until_ms`, `profile`, `ends` (array of {until_ms, cause},
    ascending), `next_at_ms`, and `after_ms` and `until_ms`, between which the order shows: to the next write, whose
    own attempt was chosen before it. Unordered are writes of other threads in the same or the preceding
    millisecond; of one thread only its latest counts.
    """
    next_at = F.coalesce("next_at_ms", F.lit(FAR_MS))
    is_open = (F.col("op") == UPDATE) & (F.col("earliest_ms") < F.col("latest_ms"))
    logged = F.col("first_position").isNotNull()
    last = items.where(logged & is_open & (F.least("latest_ms", next_at) - F.col("at_ms") > _SHORTEST_MS))
    frames = last.select(
        *ITEM,
        "position",
        "at_ms",
        F.col("until_ms").alias("guessed_until_ms"),
        "profile",
        next_at.alias("next_at_ms"),
        F.explode(F.array(F.col("at_ms") - 1, F.col("at_ms"))).alias("near_ms"),
    )
    near = items.select(
        *ITEM,
        F.col("at_ms").alias("near_ms"),
        F.struct(F.col("position").alias("place"), "thread", "until_ms", "cause").alias("write"),
    )
    gathered = (
        frames.join(near, [*ITEM, "near_ms"])
        .where("write.place <= position")
        .groupBy(*WRITE, "at_ms", "guessed_until_ms", "profile", "next_at_ms")
        .agg(F.collect_list("write").alias("frame"))
    )
    may_be_last = F.filter(
        "frame",
        lambda write: (
            ~F.exists(
                "frame", lambda other: (other["thread"] == write["thread"]) & (other["place"] > write["place"])
            ).eqNullSafe(F.lit(True))
        ),
    )
    ends = F.array_sort(F.transform(may_be_last, lambda write: F.struct(write["until_ms"], write["cause"])))
    differ = F.get("ends", F.lit(0))["until_ms"] < F.col("last_end_ms")
    return (
        gathered.withColumn("ends", ends)
        .withColumn("last_end_ms", F.try_element_at("ends", F.lit(-1))["until_ms"])
        .where(differ)
        .withColumns(
            {
                "after_ms": F.col("at_ms"),
                "until_ms": F.least(F.col("last_end_ms") - 1, "next_at_ms"),
            }
        )
        .where("until_ms > after_ms")
        .drop("frame", "last_end_ms")
    )


def sends_after(tied: DataFrame, first_attempts: DataFrame, hosts: DataFrame) -> DataFrame:
    """The owner's first attempts while the order shows.

    Adds `is_here` (at the broker), `came_at_ms` (the first of these) and `used_at_ms`: the last one of the same topic
    before the order shows, of the time from which a route may still be in use.
    """
    here_at = F.when(F.col("broker_name").isin(F.col("went_to"), F.col("addressed_broker")), F.col("chosen_at_ms"))
    shows = F.col("chosen_at_ms") > F.col("at_ms")
    whole = Window.partitionBy(*WRITE).rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    of_topic = Window.partitionBy(*WRITE, "topic").rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    return (
        chosen_within(tied.withColumn("after_ms", F.col("at_ms") - ROUTE_LAG_MS), first_attempts)
        .withColumns(
            {
                "is_here": here_at.isNotNull(),
                "came_at_ms": F.min(F.when(shows, here_at)).over(whole),
                "used_at_ms": F.max(F.when(~shows, here_at)).over(of_topic),
            }
        )
        .where(shows)
        .join(F.broadcast(hosts), ["cluster", "topic"])
        .where("known_from_ms <= chosen_at_ms")
    )
