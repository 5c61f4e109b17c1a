"""Attempts that each policy would have steered to another broker: one sort of attempts and ends of isolations."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.fault_latency.keys import PROCESS

_BROKER_OF_PROCESS = ("event_date", *PROCESS, "broker_name")
_BEFORE_CHOICES, _CHOICE, _AFTER_CHOICES = 0, 1, 2
"""Order within a millisecond: a choice at the very start or end of an isolation does not count as inside."""


def steered(chosen: DataFrame, isolated: DataFrame, unavoided: DataFrame) -> DataFrame:
    """Counts of attempts within an isolation while another broker was left, per policy and under any.

    Grain: `event_date`, `cluster`, `broker_name`, `policy` (null = under at least one policy): `steered` (0 there) and
    `hits`, those of them that went badly.

    With the attempts in order, an isolation holds as many as were counted up to its end less those up to its start: a
    further policy costs its own ends, not another pass over the attempts.

    Args:
        chosen: as `choices` returns them.
        isolated: isolations cut at midnight.
        unavoided: intervals in which every broker was isolated, as `all_isolated` returns them.
    """
    ends = _ends(isolated, sign=1).unionByName(_ends(unavoided, sign=-1))
    nothing = F.lit(None).cast("string")
    touched = chosen.join(
        F.broadcast(isolated.select(*_BROKER_OF_PROCESS).distinct()), list(_BROKER_OF_PROCESS), "left_semi"
    ).select(
        *_BROKER_OF_PROCESS,
        F.col("chosen_at_ms").alias("at_ms"),
        F.lit(_CHOICE).alias("place"),
        nothing.alias("policy"),
        F.lit(0).alias("closes"),
        F.lit(1).cast("bigint").alias("attempt"),
        "bad",
    )
    in_order = Window.partitionBy(*_BROKER_OF_PROCESS).orderBy("at_ms", "place", "policy", "closes", "bad")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = touched.unionByName(ends).select(
        "event_date",
        "cluster",
        "broker_name",
        "policy",
        "closes",
        "bad",
        F.sum("attempt").over(so_far).alias("attempts_so_far"),
        F.sum("bad").over(so_far).alias("bad_so_far"),
        (-F.sum("closes").over(so_far)).alias("policies_that_steer"),
    )
    by_any = F.when(F.col("policies_that_steer") > 0, F.col("bad")).otherwise(0)
    return counted.groupBy("event_date", "cluster", "broker_name", "policy").agg(
        F.sum(F.col("closes") * F.col("attempts_so_far")).alias("steered"),
        F.sum(F.when(F.col("policy").isNull(), by_any).otherwise(F.col("closes") * F.col("bad_so_far"))).alias("hits"),
    )


def _ends(intervals: DataFrame, *, sign: int) -> DataFrame:
    """Two rows per interval, its ends; `closes` is 1 where steering ends and -1 where it starts, times the sign."""
    # An isolation that lasts at midnight counts from 00:00:00.000 on.
    opens = F.when(F.col("begins"), _AFTER_CHOICES).otherwise(_BEFORE_CHOICES)
    both = F.array(
        F.struct(F.col("start_ms").alias("at_ms"), opens.alias("place"), F.lit(-sign).alias("closes")),
        F.struct(F.col("end_ms").alias("at_ms"), F.lit(_BEFORE_CHOICES).alias("place"), F.lit(sign).alias("closes")),
    )
    none = F.lit(0).cast("bigint")
    return intervals.select(
        *_BROKER_OF_PROCESS, "policy", F.explode(both).alias("end"), none.alias("attempt"), none.alias("bad")
    ).select(*_BROKER_OF_PROCESS, "end.*", "policy", "attempt", "bad")
