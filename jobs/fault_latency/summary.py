"""Summary of a run: the night in a screen of text, or the same as JSON."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.broker_counts import Broker, brokers_of
from jobs.fault_latency.incident_counts import Incident, incident, incident_counts, longest_incidents, minor_incident
from jobs.fault_latency.producer_counts import (
    Contradicting,
    Producer,
    ProducerGroup,
    contradicting,
    totals,
    worst_groups,
    worst_producers,
)
from jobs.kinds import Severity
from jobs.lake.tables_io import Lake
from jobs.runs.read_back import Answer, rows_of_each, with_each_reason
from jobs.runs.run import RunResult
from jobs.runs.run_log import FAULT_LATENCY
from jobs.settings.model import Settings
from jobs.spark.few_lines import small_input_conf
from jobs.tables import (
    BROKER_INCIDENTS,
    BROKER_WINDOWS,
    FINDINGS,
    ISOLATION_INTERVALS,
    PRODUCER_DAYS,
    QUARANTINE,
    TOPIC_BROKERS,
)
from jobs.text.completeness import of_producers
from jobs.text.owners import owners_of
from jobs.text.redaction import redacted

_WORST = 3


@dataclass(frozen=True)
class FindingKind:
    """Number of findings of one kind, by severity."""

    kind: str
    critical: int
    warning: int
    info: int


@dataclass(frozen=True)
class Summary:
    """The answers of a run. Times are UTC, durations ms; `enforced` only, unless the name says otherwise.

    Attributes:
        days: those whose lines were read, and where the lines went.
        incident_count: those that are not minor.
        minor_incident_count: the others.
        minor_incident: what makes one minor, in words.
        incidents: the hundred longest, minor ones last.
        owners: producer group that is named here to its owner, where settings give one.
        switched_on: producers whose switch was on.
        recorded: those of them whose client recorded what it decided itself.
        recomputed_days: those recomputed from the lake's own sends, as it was asked for.
        rests_on: the sources of the isolations, and what they cannot know, in words.
        cascaded_days: likewise, as the day before changed.
        stale_days: those that should have been, but were left.
        forgotten_days: those that could not be: the lake no longer has their sends.
        read_otherwise: recomputed from lines that were read with other settings of the input than today's.
        other_settings: days beside the run's that other settings made; they stay as they are.
        bad_routes: lines of routes that cannot be used; none where the run reads no routes, though the other flow may.
    """

    run_id: str
    clusters: list[str]
    lake: str
    days: list[dict[str, Any]]
    recomputed_days: list[str]
    cascaded_days: list[str]
    stale_days: list[str]
    forgotten_days: list[str]
    read_otherwise: list[str]
    other_settings: list[str]
    other_days: dict[str, int]
    quarantine_reasons: dict[str, int]
    brokers: list[Broker]
    incident_count: int
    minor_incident_count: int
    minor_incident: str
    incidents: list[Incident]
    findings: list[FindingKind]
    worst_findings: list[str]
    producer_count: int
    isolating_producers: int
    isolating_groups: int
    producer_groups: list[ProducerGroup]
    producers: list[Producer]
    isolations: int
    would_have_isolated_ms: int
    switch_assumed_off: int
    switched_on: int
    recorded: int
    not_replayed: dict[str, int]
    contradictions: int
    contradicting: list[Contradicting]
    missing_producers: list[str]
    hidden_files: list[str]
    repeated_files: list[str]
    bad_routes: int
    owners: dict[str, str]
    rests_on: list[str]


def summarize(spark: SparkSession, settings: Settings, result: RunResult) -> Summary:
    """Read the answers of a run's days back from the lake."""
    lake = Lake(spark, settings.lake)
    producers, findings = result.rows(lake, PRODUCER_DAYS), result.rows(lake, FINDINGS)
    incidents, quarantine = result.rows(lake, BROKER_INCIDENTS), result.rows(lake, QUARANTINE)
    with small_input_conf(spark, result.rows_read, settings.spark):
        answers = rows_of_each(
            {
                "totals": totals(producers),
                "quarantine_reasons": _counts(
                    with_each_reason(quarantine.where("source IN ('sends', 'fault_item_updates')")), "reason"
                ),
                "brokers": brokers_of(result.rows(lake, BROKER_WINDOWS), result.rows(lake, ISOLATION_INTERVALS)),
                "incident_count": incident_counts(incidents),
                "incidents": longest_incidents(incidents),
                "findings": _finding_kinds(findings),
                "worst_findings": _worst_findings(findings),
                "producers": worst_producers(producers),
                "producer_groups": worst_groups(producers),
                "contradicting": contradicting(producers),
                "not_replayed": _counts(producers.where("not_replayed IS NOT NULL"), "not_replayed"),
                "missing_producers": _missing_producers(lake, result.clusters, result.run.days),
                "routes": result.rows(lake, TOPIC_BROKERS).agg(F.count("*").alias("count")),
                "bad_routes": quarantine.where("source = 'routes'").agg(F.count("*").alias("count")),
            }
        )
    (total,), (incident_count,), (bad_routes,) = answers["totals"], answers["incident_count"], answers["bad_routes"]
    return Summary(
        run_id=result.run.run_id,
        clusters=result.clusters,
        lake=redacted(settings.lake),
        days=[
            {
                "date": str(done.day.date),
                "cluster": done.day.cluster,
                "started_from": done.started_from,
                **asdict(done.counts),
            }
            for done in result.days
            if done.counts
        ],
        recomputed_days=[str(done.day.date) for done in result.days if done.counts is None and not done.cascaded],
        cascaded_days=[str(done.day.date) for done in result.days if done.cascaded],
        stale_days=[str(day) for day in result.stale_days],
        forgotten_days=[str(day) for day in result.forgotten_days],
        read_otherwise=[str(day) for day in result.read_otherwise(settings.input_hash(FAULT_LATENCY))],
        other_settings=[str(day) for day in result.other_settings],
        other_days={str(day): count for day, count in result.other_days.items()},
        quarantine_reasons=_by_value(answers["quarantine_reasons"]),
        brokers=[Broker(**row) for row in answers["brokers"]],
        incident_count=incident_count["count"],
        minor_incident_count=incident_count["minor"],
        minor_incident=minor_incident(settings.incident_min_ms, settings.incident_min_lost),
        incidents=[incident(row) for row in answers["incidents"]],
        findings=[FindingKind(**row) for row in answers["findings"]],
        worst_findings=[row["sentence"] for row in answers["worst_findings"]],
        producer_count=total["producers"],
        isolating_producers=total["isolating_producers"],
        isolating_groups=total["isolating_groups"],
        producer_groups=[ProducerGroup(**row) for row in answers["producer_groups"]],
        producers=[Producer(**row) for row in answers["producers"]],
        isolations=total["isolations"],
        would_have_isolated_ms=total["would_have"],
        switch_assumed_off=total["assumed"],
        switched_on=total["switched_on"],
        recorded=total["recorded"],
        not_replayed=_by_value(answers["not_replayed"]),
        contradictions=total["contradictions"],
        contradicting=[Contradicting(**row) for row in answers["contradicting"]],
        missing_producers=[row["producer_group"] for row in answers["missing_producers"]],
        hidden_files=list(result.hidden_files),
        repeated_files=list(result.repeated_files),
        bad_routes=bad_routes["count"] if settings.inputs.routes.path else 0,
        owners=owners_of(_groups_named(answers), settings.owners),
        rests_on=of_producers(total["switched_on"], total["recorded"], has_routes=answers["routes"][0]["count"] > 0),
    )


def _groups_named(answers: Mapping[str, Sequence[Answer]]) -> Iterator[str]:
    """The producer groups that the answers name."""
    for name in ("producers", "producer_groups", "contradicting", "missing_producers"):
        yield from (row["producer_group"] for row in answers[name])


def _worst_findings(findings: DataFrame) -> DataFrame:
    order = (F.desc_nulls_last("failures"), "start_ms", "sentence")
    return findings.where("severity = 'CRITICAL'").orderBy(*order).limit(_WORST).select("sentence")


def _finding_kinds(findings: DataFrame) -> DataFrame:
    """The columns of `FindingKind`."""
    by_severity = {
        severity.lower(): F.count_if(F.col("severity") == severity).alias(severity.lower()) for severity in Severity
    }
    kinds = findings.groupBy("kind").agg(*by_severity.values())
    return kinds.orderBy(*map(F.desc, by_severity), "kind")


def _counts(rows: DataFrame, name: str) -> DataFrame:
    """The most frequent values of a column, as `_by_value` takes them."""
    return rows.groupBy(F.col(name).alias("value")).count().orderBy(F.desc("count"), "value").limit(20)


def _by_value(counts: list[Answer]) -> dict[str, int]:
    return {row["value"]: row["count"] for row in counts}


def _missing_producers(lake: Lake, clusters: Sequence[str], days: Sequence[dt.date]) -> DataFrame:
    """Producer groups that sent in a cluster on the day before and nothing there on the requested days."""
    of_clusters = F.col("cluster").isin(*(F.lit(cluster) for cluster in clusters))
    groups = lake.read(PRODUCER_DAYS).where(of_clusters).select("event_date", "cluster", "producer_group")
    before = groups.where(F.col("event_date") == F.lit(days[0] - dt.timedelta(days=1))).drop("event_date")
    now = groups.where(F.col("event_date").isin(*(F.lit(day) for day in days))).drop("event_date")
    missing = before.subtract(now).select("producer_group").distinct()
    return missing.orderBy("producer_group")
