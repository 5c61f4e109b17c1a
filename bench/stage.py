"""The allocation stage alone, in a warm session: parsed lines to stretches of inputs, inputs to shares."""

from __future__ import annotations

import datetime as dt
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from jobs.allocation.allocate import with_shares
from jobs.allocation.inputs import allocation_inputs, group_members, group_topics
from jobs.allocation.strategies import Seen, group_strategies
from jobs.allocation.topic_queues import carried_routes, topic_routes
from jobs.day import Day
from jobs.settings import Settings
from jobs.sources.consumer_answers import connections, member_answers
from jobs.sources.snapshots import CONSUMERS, ROUTES, SnapshotKind
from jobs.sources.topic_route import route_answers
from jobs.tables import GROUP_MEMBERS, TOPIC_QUEUES

_RUNS = 3


@dataclass(frozen=True)
class Stage:
    """Medians of a few runs.

    Attributes:
        inputs_seconds: lines in memory to stretches of unchanged inputs.
        inputs: how many stretches, by strategy.
        shares_seconds: those stretches to what each client gets, by strategy.
    """

    inputs_seconds: float
    inputs: dict[str, int]
    shares_seconds: dict[str, float]

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.inputs_seconds + sum(self.shares_seconds.values())


def measure_stage(spark: SparkSession, snapshots: Path, date: dt.date, settings: Settings) -> Stage:
    """Measure the stage on the snapshots below the folder."""
    consumers, routes = (_lines(spark, kind, snapshots).persist() for kind in (CONSUMERS, ROUTES))
    for lines in (consumers, routes):
        _seconds(lines)
    inputs = _inputs(consumers, routes, Day(date, settings.cluster), settings)
    inputs_seconds = _median(partial(_seconds, inputs))
    kept = inputs.persist()
    counts = {row["strategy"]: row["count"] for row in kept.groupBy("strategy").count().collect()}
    of_strategy = {strategy: with_shares(kept.where(F.col("strategy") == strategy)) for strategy in sorted(counts)}
    shares_seconds = {strategy: _median(partial(_seconds, shares)) for strategy, shares in of_strategy.items()}
    spark.catalog.clearCache()
    return Stage(inputs_seconds, counts, shares_seconds)


def _lines(spark: SparkSession, kind: SnapshotKind, snapshots: Path) -> DataFrame:
    schema = StructType([StructField("captured_at_ms", LongType()), *kind.fields.fields])
    return spark.read.schema(schema).json(str(snapshots / kind.name))


def _inputs(consumers: DataFrame, routes: DataFrame, day: Day, settings: Settings) -> DataFrame:
    """As `jobs.allocation.job` makes them on a day without a day before."""
    spark, stale_ms = consumers.sparkSession, settings.max_staleness_ms
    no_routes = carried_routes(spark.createDataFrame([], TOPIC_QUEUES.schema))
    no_members = spark.createDataFrame([], GROUP_MEMBERS.schema)
    told = connections(consumers).select("consumer_group", F.explode("topics").alias("topic"), "captured_at_ms")
    groups: dict[str, list[Seen]] = {
        row["consumer_group"]: [] for row in told.select("consumer_group").distinct().collect()
    }
    no_topics = spark.createDataFrame([], "consumer_group string, topic string")
    return allocation_inputs(
        group_topics(told, no_topics, day, stale_ms),
        topic_routes(route_answers(routes), day, no_routes, stale_ms),
        group_members(member_answers(consumers), day, no_members, stale_ms),
        group_strategies(spark, settings, groups),
    ).where("undetermined IS NULL")


def _seconds(frame: DataFrame) -> float:
    """How long every row of the frame takes."""
    started = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def _median(run: Callable[[], float]) -> float:
    """Of a few runs after one that is not counted; of one alone where it takes long."""
    first = run()
    return statistics.median(run() for _ in range(_RUNS if first < 10 else 1))
