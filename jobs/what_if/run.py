"""A run of `faultline what-if`: published days of the lake → rows of the requested policies in `policy_outcomes`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.lake.tables_io import Lake
from jobs.runs.context import commit_metadata
from jobs.runs.days_with_sends import days_with_sends
from jobs.runs.held import held
from jobs.runs.run import Run
from jobs.settings.model import Settings
from jobs.tables import POLICY_OUTCOMES, SENDS, TOPIC_BROKERS
from jobs.tables.day import Day
from jobs.text.progress import Progress
from jobs.what_if.job import lead_in_ms, what_if
from jobs.what_if.requested_policies import RequestedPolicies


def run_what_if(
    spark: SparkSession,
    settings: Settings,
    run: Run,
    requested: RequestedPolicies,
    progress: Progress,
    *,
    cluster: str | None = None,
) -> list[str]:
    """Replay the run's days under the requested policies, publish what each would have done, return the clusters.

    The lake is held only while the rows are published; rows of other policies stay.

    Args:
        spark: the session.
        settings: all settings.
        run: has the days.
        requested: the policies.
        progress: says each step.
        cluster: the only one whose days are replayed; None = each that has sends.

    Raises:
        InputMissingError: a day has no sends in the lake, or no longer has them.
        FaultlineError: another of its subclasses; published days stay as they are.
    """
    lake = Lake(spark, settings.lake)
    clusters = sorted({day.cluster for day in days_with_sends(lake, run.days, cluster)})
    days = [Day(date, cluster) for date in run.days for cluster in clusters]
    sends = _sends(lake, run.days, lead_in_ms(requested, settings)).where(F.col("cluster").isin(clusters))
    topic_brokers = lake.read_days(TOPIC_BROKERS, clusters, run.days)
    with progress.step(f"replaying {len(requested.names)} policies"):
        _, outcomes = what_if(sends, days, settings, requested, topic_brokers=topic_brokers, made_once=_made_once)
        rows = _made_once(outcomes.withColumn("run_id", F.lit(run.run_id)).coalesce(1))
        spark.catalog.clearCache()
    with held(lake, settings, run, progress) as taken_from, progress.step("publishing policy_outcomes"):
        lake.create_tables((POLICY_OUTCOMES,))
        for day in days:
            of_day = rows.where((F.col("event_date") == F.lit(day.date)) & (F.col("cluster") == F.lit(day.cluster)))
            metadata = commit_metadata(run, settings) | ({"lock": taken_from} if taken_from else {})
            lake.publish_day(POLICY_OUTCOMES, of_day, day.cluster, day.date, metadata, only={"policy": requested.names})
    return clusters


def _sends(lake: Lake, dates: Sequence[dt.date], before_ms: int) -> DataFrame:
    """The attempts of the days, and those that ended at most `before_ms` before the first of them."""
    first = Day(dates[0], "")
    eve = (F.col("event_date") == F.lit(first.before.date)) & (F.col("ended_at_ms") >= first.start_ms - before_ms)
    return lake.read(SENDS).where(F.col("event_date").isin(*map(F.lit, dates)) | eve)


def _made_once(frame: DataFrame) -> DataFrame:
    """The rows, computed once: plans of later frames start from them.

    They are held by the executors: if one is lost the run fails before it publishes anything.
    """
    return frame.localCheckpoint(storageLevel=StorageLevel.MEMORY_AND_DISK)
