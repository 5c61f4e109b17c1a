"""Summary of a run of the second flow: groups, what rebalances moved, and what was not as it should be."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.kinds import GroupCause
from jobs.lake.tables_io import Lake
from jobs.runs.flow_tables import FLOW_TABLES
from jobs.runs.read_back import rows_of_each, with_each_reason
from jobs.runs.run import RunResult
from jobs.settings.model import Settings
from jobs.spark.few_lines import small_input_conf
from jobs.tables import (
    ALLOCATION_FINDINGS,
    GROUP_MEMBERS,
    QUARANTINE,
    QUEUE_ALLOCATION,
    REBALANCES,
    ROUTE_CHANGES,
    TOPIC_QUEUES,
    Table,
)
from jobs.text.completeness import CLIENT_LOG, RUNNING_INFO, of_owners
from jobs.text.owners import owners_of
from jobs.text.redaction import redacted
from udfs.strategy import RETRY_TOPIC

_ROWS = 10
_PASSING = (GroupCause.REBALANCE_NOT_RUN, GroupCause.STALE_ROUTE)  # each rebalance takes its time


@dataclass(frozen=True)
class Group:
    """A consumer group over the requested days, and what its rebalances moved."""

    consumer_group: str
    strategy: str
    strategy_source: str
    topics: int
    rebalances: int
    moved: int
    fewest_moves: int


@dataclass(frozen=True)
class Fault:
    """A cause why queues of a group were not owned as they should be: number of queues, and the longest time."""

    consumer_group: str
    cause: str
    unassigned: int
    doubly_owned: int
    against_strategy: int
    longest_ms: int


@dataclass(frozen=True)
class AllocationSummary:
    """The answers of a run of the second flow.

    Attributes:
        finding_count: rows of `allocation_findings`, those of retry topics too; `faults` and `kinds` leave these out.
        kinds: number of groups and topics with a finding of the kind that concerns no queue.
        other_settings: days beside the run's that other settings made; they stay as they are.
        owners: consumer group that is named here to its owner, where settings give one.
        rests_on: the sources of ownership, and what they cannot know, in words.
    """

    run_id: str
    clusters: list[str]
    lake: str
    days: list[dict[str, Any]]
    stale_days: list[str]
    other_settings: list[str]
    other_days: dict[str, int]
    quarantine_reasons: dict[str, int]
    group_count: int
    groups: list[Group]
    faults: list[Fault]
    finding_count: int
    kinds: dict[str, int]
    unread_queues: int
    idle_queues: int
    route_changes: int
    hidden_files: list[str]
    repeated_files: list[str]
    rests_on: list[str]
    owners: dict[str, str]


def summarize_allocation(spark: SparkSession, settings: Settings, result: RunResult) -> AllocationSummary:
    """Read the answers of a run's days back from the lake."""
    lake = Lake(spark, settings.lake)

    def rows(table: Table) -> DataFrame:
        return result.rows(lake, table)

    findings = rows(ALLOCATION_FINDINGS).where(F.col("topic").isNull() | ~F.startswith("topic", F.lit(RETRY_TOPIC)))
    with small_input_conf(spark, result.rows_read, settings.spark):
        answers = rows_of_each(
            {
                "quarantine_reasons": _reasons(rows(QUARANTINE)),
                "group_count": rows(GROUP_MEMBERS).agg(F.count_distinct("consumer_group").alias("count")),
                "groups": _groups(rows(QUEUE_ALLOCATION), rows(REBALANCES)),
                "faults": _faults(findings),
                "finding_count": rows(ALLOCATION_FINDINGS).agg(F.count("*").alias("count")),
                "kinds": _kinds(findings),
                "unused": _unused(rows(TOPIC_QUEUES)),
                "route_changes": rows(ROUTE_CHANGES).agg(F.count("*").alias("count")),
            }
        )
    unused = {row["finding"]: row["queues"] for row in answers["unused"]}
    (group_count,), (finding_count,) = answers["group_count"], answers["finding_count"]
    (route_changes,) = answers["route_changes"]
    return AllocationSummary(
        run_id=result.run.run_id,
        clusters=result.clusters,
        lake=redacted(settings.lake),
        days=[
            {"date": str(done.day.date), "cluster": done.day.cluster, **asdict(done.counts)}
            for done in result.days
            if done.counts
        ],
        stale_days=[str(day) for day in result.stale_days],
        other_settings=[str(day) for day in result.other_settings],
        other_days={str(day): count for day, count in result.other_days.items()},
        quarantine_reasons={row["reason"]: row["count"] for row in answers["quarantine_reasons"]},
        group_count=group_count["count"],
        groups=[Group(**row) for row in answers["groups"]],
        faults=[Fault(**row) for row in answers["faults"]],
        finding_count=finding_count["count"],
        kinds={row["kind"]: row["groups"] for row in answers["kinds"]},
        unread_queues=unused.get("UNREAD", 0),
        idle_queues=unused.get("IDLE", 0),
        route_changes=route_changes["count"],
        hidden_files=list(result.hidden_files),
        repeated_files=list(result.repeated_files),
        rests_on=[of_owners(_sources_of_owners(settings))],
        owners=owners_of(
            (row["consumer_group"] for name in ("groups", "faults") for row in answers[name]), settings.owners
        ),
    )


def _sources_of_owners(settings: Settings) -> list[str]:
    """The inputs that show who held a queue, as `queue_ownership.source` calls them."""
    given = {RUNNING_INFO: settings.inputs.running_info.path, CLIENT_LOG: settings.inputs.client_logs.path}
    return [source for source, paths in given.items() if paths]


def _groups(allocated: DataFrame, rebalances: DataFrame) -> DataFrame:
    """Groups whose rebalances moved most: the columns of `Group`."""
    moves = rebalances.groupBy("consumer_group").agg(
        F.count("*").alias("rebalances"),
        F.sum("moved").alias("moved"),
        F.sum("fewest_moves").alias("fewest_moves"),
    )
    groups = (
        allocated.groupBy("consumer_group")
        .agg(
            F.max("strategy").alias("strategy"),
            F.max("strategy_source").alias("strategy_source"),
            F.count_distinct("topic").alias("topics"),
        )
        .join(moves, "consumer_group", "left")
        .fillna(0)
        .select(*Group.__dataclass_fields__)
        .orderBy(F.desc("moved"), F.desc("rebalances"), "consumer_group")
    )
    return groups.limit(_ROWS)


def _faults(findings: DataFrame) -> DataFrame:
    """Queues that were not owned as they should be, by group and cause (`Fault`): first what nothing explains."""
    queue = F.struct("topic", "broker_name", "queue_id")
    lasted = F.max(F.col("end_ms") - F.col("start_ms"))
    faults = (
        findings.where(F.col("queue_id").isNotNull() & ~F.col("cause").isin(*_PASSING))
        .groupBy("consumer_group", "cause")
        .agg(
            *(
                F.count_distinct(F.when(F.col("kind") == kind.upper(), queue)).alias(kind)
                for kind in ("unassigned", "doubly_owned", "against_strategy")
            ),
            lasted.alias("longest_ms"),
        )
        .orderBy((F.col("cause") != GroupCause.UNEXPLAINED), F.desc("longest_ms"), "consumer_group", "cause")
    )
    return faults.limit(_ROWS)


def _kinds(findings: DataFrame) -> DataFrame:
    """Number of groups and topics per kind of finding that concerns no queue."""
    named = [F.coalesce(name, F.lit("")) for name in ("consumer_group", "topic")]  # either may be null: whichever it is
    groups = F.count_distinct(*named).alias("groups")
    return findings.where("queue_id IS NULL").groupBy("kind").agg(groups)


def _unused(topic_queues: DataFrame) -> DataFrame:
    """Number of queues by `finding`."""
    queues = F.count_distinct("topic", "broker_name", "queue_id").alias("queues")
    return topic_queues.groupBy("finding").agg(queues)


def _reasons(quarantine: DataFrame) -> DataFrame:
    """Number of the flow's rejected lines by reason, most frequent first; a line counts under each of its reasons."""
    of_flow = quarantine.where(F.col("source").isin(*FLOW_TABLES["allocation"].inputs))
    reasons = with_each_reason(of_flow).groupBy("reason").count()
    return reasons.orderBy(F.desc("count"), "reason").limit(20)
