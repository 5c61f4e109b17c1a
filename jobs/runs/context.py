"""Context of a run: session, lake, settings, run and progress."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from pyspark.sql import SparkSession

from jobs.lake.tables_io import Lake
from jobs.runs.run import PublishedDay, Run
from jobs.settings.model import Settings
from jobs.spark.environment import code_version
from jobs.spark.materialize import Materialize, materializer
from jobs.tables.day import Day
from jobs.text.progress import Progress


@dataclass(frozen=True)
class RunContext:
    """One run under way.

    Attributes:
        spark: the session.
        lake: where it publishes; held while it does.
        settings: all settings.
        run: the call of the command.
        progress: says each step on the way.
        published: flow to its published days as the run log has them; loaded per flow on first use.
        closings: each day that the run has published, and the hash of what it leaves to the next.
        has_async: each day whose lines the run has published, and whether an attempt among them is async.
        calls_without_attempt: each such day, and its lines of sends that failed before they had a broker.
    """

    spark: SparkSession
    lake: Lake
    settings: Settings
    run: Run
    progress: Progress
    published: dict[str, dict[Day, PublishedDay]] = field(default_factory=dict)
    closings: dict[Day, str] = field(default_factory=dict)
    has_async: dict[Day, bool] = field(default_factory=dict)
    calls_without_attempt: dict[Day, int] = field(default_factory=dict)

    @property
    def staging(self) -> str:
        """The run's own folder for what is not published."""
        return f"{self.lake.staging}/{self.run.run_id}"

    def metadata(self, flow: str) -> dict[str, str]:
        """Metadata that every commit of the flow's run carries."""
        return commit_metadata(self.run, self.settings, flow)

    def materializer(self, day: Day) -> Materialize:
        """Writes the day's intermediate frames below the run's staging folder, each cluster's in one of its own.

        A cluster's name may be longer than a folder's can be.
        """
        cluster = sha256(day.cluster.encode()).hexdigest()[:16]
        return materializer(self.spark, f"{self.staging}/{cluster}-{day.date}")


def commit_metadata(run: Run, settings: Settings, flow: str | None = None) -> dict[str, str]:
    """Metadata of a commit on the run that made it, as the run log has it; `DESCRIBE HISTORY` shows it."""
    return {"run_id": run.run_id, "code_version": code_version(), "settings_hash": settings.content_hash(flow)}
