"""What stood when the day began, from the day before's tables: a change captured at 00:00:00.000 is a change of it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.allocation.allocate import owned_at_midnight
from jobs.allocation.inputs import SUBJECT, VIEW, allocation_inputs
from jobs.tables.day import Day

_QUEUES = "array<struct<broker_name: string, queue_id: int>>"
_SHARES = f"array<struct<client_id: string, outcome: string, message: string, queues: {_QUEUES}>>"
_LASTS_MS = 2_000  # longer than a collector's round, below which a view is left out


def inputs_before(
    routes: DataFrame, members: DataFrame, owned: DataFrame, strategies: DataFrame, day: Day
) -> DataFrame:
    """As `allocation_inputs` returns them: intervals that end at 00:00.

    Args:
        routes: `topic`, `route` valid at 00:00.
        members: rows of `group_members` valid at 00:00.
        owned: rows of `queue_allocation` valid at 00:00.
        strategies: as `group_strategies` returns them.
        day: the day that begins.
    """
    since_ms, until_ms = F.lit(day.start_ms - _LASTS_MS), F.lit(day.start_ms)
    topics = owned.select(*SUBJECT).distinct().withColumns({"from_ms": since_ms, "until_ms": until_ms})
    interval = {"start_ms": since_ms, "end_ms": until_ms}
    return allocation_inputs(topics, routes.withColumns(interval), members.withColumns(interval), strategies)


def shares_before(inputs: DataFrame, owned: DataFrame) -> DataFrame:
    """`inputs` with `shares`, as the day before published them.

    Args:
        inputs: as `inputs_before` returns them.
        owned: rows of `queue_allocation` valid at 00:00.
    """
    share = F.struct("client_id", F.lit("RESULT"), F.lit(None).cast("string"), "got")
    of_view = (
        owned_at_midnight(owned)
        .groupBy(*VIEW)
        .agg(F.collect_list(share).cast(_SHARES).alias("shares"))
        .withColumn("view", F.coalesce("view_broker_name", F.lit("")))
        .drop("view_broker_name")
    )
    by_view = inputs.withColumn("view", F.coalesce("view_broker_name", F.lit("")))
    nothing = F.array().cast(_SHARES)
    joined = by_view.join(of_view, [*SUBJECT, "view"], "left").withColumn("shares", F.coalesce("shares", nothing))
    return joined.drop("view")
