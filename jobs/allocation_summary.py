"""What a run of the second flow says at its end: groups, queues nobody gets, brokers that disagree."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.lake import Lake
from jobs.run_record import RunResult
from jobs.settings import Settings
from jobs.tables import GROUP_MEMBERS, QUARANTINE, QUEUE_ALLOCATION, ROUTE_CHANGES, TOPIC_QUEUES

_ROWS = 8


@dataclass(frozen=True)
class Group:
    """A consumer group over the asked days; changes count each new stretch of unchanged inputs of a topic."""

    consumer_group: str
    strategy: str
    strategy_source: str
    topics: int
    changes: int
    unassigned_queues: int
    disagreeing_brokers: int


@dataclass(frozen=True)
class AllocationSummary:
    """The answers of a run of the second flow."""

    run_id: str
    clusters: list[str]
    lake: str
    days: list[dict[str, Any]]
    stale_days: list[str]
    other_days: dict[str, int]
    quarantine_reasons: dict[str, int]
    group_count: int
    groups: list[Group]
    unread_queues: int
    idle_queues: int
    route_changes: int
    hidden_files: list[str]


def summarize_allocation(spark: SparkSession, settings: Settings, result: RunResult) -> AllocationSummary:
    """Read the answers of a run's days back from the lake."""
    lake = Lake(spark, settings.lake)
    clusters = [F.lit(cluster) for cluster in result.clusters]
    asked = [F.lit(day) for day in result.run.days]

    def rows(table: Any) -> DataFrame:
        return lake.read(table).where(F.col("cluster").isin(*clusters) & F.col("event_date").isin(*asked))

    owners = rows(QUEUE_ALLOCATION)
    by_group = (
        owners.groupBy("consumer_group")
        .agg(
            F.max("strategy").alias("strategy"),
            F.max("strategy_source").alias("strategy_source"),
            F.count_distinct("topic").alias("topics"),
            (F.count_distinct("topic", "valid_from_ms") - F.count_distinct("topic")).alias("changes"),
            F.count_distinct(F.when(F.col("client_id").isNull(), F.struct("topic", "broker_name", "queue_id"))).alias(
                "unassigned_queues"
            ),
            F.count_distinct("view_broker_name").alias("disagreeing_brokers"),
        )
        .orderBy(F.desc("unassigned_queues"), F.desc("disagreeing_brokers"), F.desc("changes"), "consumer_group")
    )
    queues = (
        rows(TOPIC_QUEUES)
        .groupBy("finding")
        .agg(F.count_distinct("topic", "broker_name", "queue_id").alias("queues"))
        .collect()
    )
    found = {row["finding"]: row["queues"] for row in queues}
    reasons = rows(QUARANTINE).where("source <> 'sends'").groupBy("reason").count().orderBy(F.desc("count"), "reason")
    return AllocationSummary(
        run_id=result.run.run_id,
        clusters=result.clusters,
        lake=settings.lake,
        days=[
            {"date": str(done.day.date), "cluster": done.day.cluster, **asdict(done.counts)}
            for done in result.days
            if done.counts
        ],
        stale_days=[str(day) for day in result.stale_days],
        other_days={str(day): count for day, count in result.other_days.items()},
        quarantine_reasons={row["reason"]: row["count"] for row in reasons.limit(20).collect()},
        group_count=rows(GROUP_MEMBERS).select("consumer_group").distinct().count(),
        groups=[Group(**row.asDict()) for row in by_group.limit(_ROWS).collect()],
        unread_queues=found.get("UNREAD", 0),
        idle_queues=found.get("IDLE", 0),
        route_changes=rows(ROUTE_CHANGES).count(),
        hidden_files=list(result.hidden_files),
    )
