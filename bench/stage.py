"""The allocation stage alone, in a warm session: parsed lines to stretches of inputs, inputs to shares."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from bench.took import Took, all_rows, run_once, run_warm, together
from jobs.allocation.allocate import computed_shares, queue_allocation
from jobs.allocation.inputs import allocation_inputs, group_members, group_topics
from jobs.allocation.observed_clients import ObservedClient
from jobs.allocation.strategies import group_strategies
from jobs.allocation.topic_queues import carried_routes, topic_routes
from jobs.settings.model import Settings
from jobs.sources.consumer_answers import connections, member_answers
from jobs.sources.snapshots import CONSUMERS, ROUTES, SnapshotKind
from jobs.sources.topic_route import route_answers
from jobs.tables import GROUP_MEMBERS, TOPIC_QUEUES
from jobs.tables.day import Day


@dataclass(frozen=True)
class Stage:
    """Medians of a few runs.

    Attributes:
        to_inputs: lines in memory to stretches of unchanged inputs.
        inputs: how many stretches, by strategy.
        to_shares: those stretches to what each client gets, by strategy.
        to_rows: that to the rows of `queue_allocation`.
    """

    to_inputs: Took
    inputs: dict[str, int]
    to_shares: dict[str, Took]
    to_rows: Took

    @property
    def total(self) -> Took:
        """All of it."""
        return together((self.to_inputs, *self.to_shares.values(), self.to_rows))


def measure_stage(spark: SparkSession, snapshots: Path, date: dt.date, settings: Settings) -> Stage:
    """Measure the stage on the snapshots below the folder, a day without a day before; kept is what the job keeps."""
    consumers, routes = (_lines(spark, kind, snapshots).persist() for kind in (CONSUMERS, ROUTES))
    day, stale_ms = Day(date, settings.cluster), settings.max_staleness_ms
    no_routes = carried_routes(spark.createDataFrame([], TOPIC_QUEUES.schema))
    no_members = spark.createDataFrame([], GROUP_MEMBERS.schema)
    told = connections(consumers).persist()
    for frame in (consumers, routes, told):
        run_once(all_rows(frame))
    of_topics = topic_routes(route_answers(routes), day, no_routes, stale_ms)
    of_groups = group_members(member_answers(consumers), day, no_members, stale_ms)
    to_stretches = [run_warm(all_rows(of_topics)), run_warm(all_rows(of_groups))]
    inputs = allocation_inputs(
        _topics(told, day, stale_ms),
        of_topics.persist(),
        of_groups.persist(),
        group_strategies(spark, settings, _nothing_seen(told)),
    ).where("undetermined IS NULL")
    run_once(all_rows(inputs))  # fills what is kept
    to_inputs = together([*to_stretches, run_warm(all_rows(inputs))])
    kept = inputs.persist()
    counts = {row["strategy"]: row["count"] for row in kept.groupBy("strategy").count().collect()}
    to_shares = {
        name: run_warm(all_rows(computed_shares(kept.where(F.col("strategy") == name)))) for name in sorted(counts)
    }
    shares = computed_shares(kept).persist()
    run_once(all_rows(shares))
    to_rows = run_warm(all_rows(queue_allocation(shares)))
    spark.catalog.clearCache()
    return Stage(to_inputs, counts, to_shares, to_rows)


def _topics(told: DataFrame, day: Day, stale_ms: int) -> DataFrame:
    seen = told.select("consumer_group", F.explode("topics").alias("topic"), "captured_at_ms")
    no_topics = told.sparkSession.createDataFrame([], "consumer_group string, topic string")
    return group_topics(seen, no_topics, day, stale_ms)


def _nothing_seen(told: DataFrame) -> dict[str, list[ObservedClient]]:
    return {row["consumer_group"]: [] for row in told.select("consumer_group").distinct().collect()}


def _lines(spark: SparkSession, kind: SnapshotKind, snapshots: Path) -> DataFrame:
    schema = StructType([StructField("captured_at_ms", LongType()), *kind.fields.fields])
    return spark.read.schema(schema).json(str(snapshots / kind.name))
