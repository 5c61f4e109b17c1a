"""Staged send attempts and fault item updates, as rows of their tables."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.settings.model import Settings
from jobs.sources.doubtful_times import times_to_come, times_without_zone, zone_missing
from jobs.sources.fault_item_updates import UPDATE_LINES
from jobs.sources.publish_queues import PUBLISH_QUEUES, publish_queues
from jobs.sources.staged import Staged
from jobs.sources.topic_route import topic_brokers
from jobs.spark.no_rows import no_rows
from jobs.tables import FAULT_ITEM_UPDATES, SENDS, TOPIC_BROKERS
from jobs.tables.day import Day


@dataclass(frozen=True)
class StagedSends(Staged):
    """Staged send attempts and, if given, fault item updates.

    Attributes:
        routes: the name server's answers, frame of `route_answers`; None without that input.
    """

    routes: DataFrame | None = None

    def warnings(self, now: dt.datetime, settings: Settings) -> list[str]:
        """Times without a zone, and times to come."""
        observed, zoneless = self.inputs[0].observed, times_without_zone(settings.inputs.sends)
        return [
            *zone_missing(" or ".join(zoneless), observed.get("without_zone") or 0),
            *times_to_come("ended_at_ms", observed.get("last_ended_ms") or 0, now),
        ]

    def sends(self, day: Day) -> DataFrame:
        """Rows of the table `sends` of the day."""
        partition_columns = {
            "event_date": F.col("day"),
            "started_at": F.timestamp_millis("started_at_ms"),
            "ended_at": F.timestamp_millis("ended_at_ms"),
        }
        attempts = self.inputs[0].published(day).where("broker_name IS NOT NULL")
        return attempts.withColumns(partition_columns).select(*SENDS.schema.fieldNames())

    def calls_without_attempt(self, day: Day) -> DataFrame:
        """The lines of sends that failed before they had a broker, with the columns of `sends` that such a line has."""
        return self.inputs[0].published(day).where("broker_name IS NULL")

    def fault_item_updates(self, day: Day) -> DataFrame:
        """Rows of the table `fault_item_updates` of the day; empty without that input."""
        updates = self[UPDATE_LINES.name]
        if updates is None:
            return no_rows(self.inputs[0].lines.sparkSession, FAULT_ITEM_UPDATES.schema)
        columns = {
            "event_date": F.col("day"),
            "producer_group": F.coalesce("producer_group", F.lit("")),
            "called_at_ms": F.col("at_ms"),
            "called_at": F.timestamp_millis("at_ms"),
        }
        return updates.published(day).withColumns(columns).select(*FAULT_ITEM_UPDATES.schema.fieldNames())

    def topic_brokers(self, day: Day) -> DataFrame:
        """Rows of the table `topic_brokers` of the day; empty without routes."""
        if self.routes is None:
            return no_rows(self.inputs[0].lines.sparkSession, TOPIC_BROKERS.schema)
        return topic_brokers(self.routes, day, only_own=len(self.clusters(day.date)) > 1).withColumns(
            {
                "event_date": F.lit(day.date),
                "start_at": F.timestamp_millis("start_ms"),
                "end_at": F.timestamp_millis("end_ms"),
            }
        )

    def publish_queues(self, day: Day) -> DataFrame:
        """One row per topic of the day with its queues to send to (`PUBLISH_QUEUES`); none without routes."""
        if self.routes is None:
            return no_rows(self.inputs[0].lines.sparkSession, PUBLISH_QUEUES)
        return publish_queues(self.routes, day, only_own=len(self.clusters(day.date)) > 1)
