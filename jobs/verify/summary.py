"""Summary of a verify run: how well the replay from sends agrees with what clients wrote, and why it differs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.kinds import Source
from jobs.lake.tables_io import Lake
from jobs.runs.run import RunResult
from jobs.runs.summary import RunSummary
from jobs.settings.model import Settings
from jobs.tables import PRODUCER_DAYS, REPLAY_CHECKS
from jobs.text.completeness import of_client_logs, some_of
from jobs.text.redaction import redacted
from jobs.verify.comparison import Agreement

_WORST = 10
_NOTHING_TO_COMPARE = ("UNKNOWN_CLIENT", "NO_SENDS", "NOT_REPLAYED")
_ITEM = (
    *("event_date", "source", "writer", "producer_group", "broker_name"),
    *("written", "matched", "other_length", "missed", "extra", "differing_ms", "cause"),
)


@dataclass(frozen=True)
class VerifySummary(Agreement, RunSummary):
    """The answers of a run; counts are of all brokers and writers, durations of brokers × writers.

    Attributes:
        log_lines: lines of client logs that were read; 0 without logs.
        bad_lines: those of them that were put into quarantine.
        switched_on: producers with the switch on, each on each day.
        recorded: those of them whose client recorded its decisions.
        causes: reason to number of brokers that differ for it, most first.
        worst: the ten brokers that differ most, most differing writes first; `_ITEM`, columns of `replay_checks`.
        notes: client logs that could not be used, and assumptions about others.
    """

    log_lines: int
    bad_lines: int
    switched_on: int
    recorded: int
    causes: dict[str, int]
    worst: list[dict[str, Any]]
    notes: list[str]

    @property
    def differing(self) -> int:
        """Brokers of a writer whose isolations are not as the client wrote, or not known to be."""
        return sum(count for cause, count in self.causes.items() if cause != "WITHOUT_EFFECT")


def summarize_verify(spark: SparkSession, settings: Settings, result: RunResult) -> VerifySummary:
    """Read the results of the run's days back from the lake."""
    lake = Lake(spark, settings.lake)
    checks = lake.read_days(REPLAY_CHECKS, result.clusters, result.run.days)
    counted = (field.name for field in fields(Agreement))
    (sums,) = checks.agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in counted)).collect()
    differing = checks.where("cause IS NOT NULL")
    causes = differing.groupBy("cause").count().orderBy(F.desc("count"), "cause").collect()
    many = F.col("missed") + F.col("extra") + F.col("other_length")
    worst = differing.orderBy(F.desc(many), F.desc("differing_ms"), "event_date", "writer", "broker_name").limit(_WORST)
    enforced = lake.read_days(PRODUCER_DAYS, result.clusters, result.run.days).where("enforced")
    recorded = F.count_if(F.col("recorded_updates") > 0).alias("recorded")
    (producers,) = enforced.agg(F.count("*").alias("switched_on"), recorded).collect()
    counts = [done.counts for done in result.days if done.counts]
    files = (asdict(file) for done in result.days for file in done.log_files)
    alone = differing.where((F.col("source") == Source.CLIENT_LOG) & F.col("cause").isin(*_NOTHING_TO_COMPARE))
    logs = [row["writer"] for row in alone.select("writer").distinct().orderBy("writer").collect()]
    without = [f"client logs: nothing to compare {some_of(logs)} with ({', '.join(_NOTHING_TO_COMPARE)})"]
    return VerifySummary(
        run_id=result.run.run_id,
        lake=redacted(settings.lake),
        days=[str(day) for day in result.run.days],
        clusters=result.clusters,
        log_lines=max((count.rows_read for count in counts), default=0),
        bad_lines=sum(count.rows_quarantined for count in counts),
        **producers.asDict(),
        **sums.asDict(),
        causes={row["cause"]: row["count"] for row in causes},
        worst=[row.asDict() | {"event_date": f"{row['event_date']}"} for row in worst.select(*_ITEM).collect()],
        notes=[*result.warnings, *of_client_logs(files), *(without if logs else [])],
    )
