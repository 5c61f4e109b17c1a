"""Summary of a what-if run: each policy over all brokers and days, and what a log cannot show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.lake.tables_io import Lake
from jobs.runs.run import Run
from jobs.runs.summary import RunSummary
from jobs.settings.client_profiles import released_profiles
from jobs.settings.model import Settings
from jobs.tables import POLICY_OUTCOMES, PRODUCER_DAYS, SENDS
from jobs.tables.day import Day
from jobs.text.redaction import redacted
from jobs.text.terminal import safe
from udfs.ladder import Ladder

LIMITS = (
    "A log cannot show how the other brokers would have answered the sends steered to them, nor the sends that a"
    " producer's own isolation kept away: avoided is what would have gone elsewhere, not what would have succeeded."
)

_LADDER = ("latency_max_ms", "not_available_ms")
_SUMS = ("sends", "bad_sends", "isolations", "isolated_ms", "all_isolated_ms", "steered", "hits", "false_alarms",
         "missed", "unavoidable")  # fmt: skip


@dataclass(frozen=True)
class PolicyLine:
    """One policy over the requested days and all brokers; counts are attempts, durations producer-milliseconds.

    Attributes:
        is_best: no other policy of the run avoids as many bad sends with as few good ones steered away.
        since: of a released profile the first client version that has it; null for others.
        failure_ms: isolation after a failure; null for `AS_RUN`, and where the client would fail.
    """

    policy: str
    profile: str
    latency_max_ms: list[int]
    not_available_ms: list[int]
    isolations: int
    isolated_ms: int
    all_isolated_ms: int
    steered: int
    hits: int
    false_alarms: int
    missed: int
    is_best: bool = False
    since: str | None = None
    failure_ms: int | None = None

    @property
    def label(self) -> str:
        """The name for a reader, with the version that a released profile begins with."""
        return safe(self.policy) + (f" (from {self.since})" if self.since else "")


@dataclass(frozen=True)
class WhatIfSummary(RunSummary):
    """The answers of a run.

    Attributes:
        policies: most bad sends avoided first.
        in_use: `client_version` (null = unknown) and `policy` of `producer_days`, number of `producers` that had them,
            and their `groups`; most producers first.
        sends: attempts whose queue the client chose, of producers that can be replayed.
        unavoidable: bad sends that none of the policies would have steered away.
        starts_empty: the day before the first one is not in the lake.
        switch_on_share: share of attempts of producers with the switch on; null without attempts.
        not_replayed: reason to number of producers left out, per day.
    """

    slow_ms: int
    sends: int
    bad_sends: int
    unavoidable: int
    policies: list[PolicyLine]
    in_use: list[dict[str, Any]]
    starts_empty: bool
    switch_on_share: float | None
    not_replayed: dict[str, int]
    limits: str = LIMITS


def summarize_what_if(spark: SparkSession, settings: Settings, run: Run, clusters: Sequence[str]) -> WhatIfSummary:
    """Read the results of the run, which replayed these clusters, back from the lake."""
    lake = Lake(spark, settings.lake)
    own = lake.read(POLICY_OUTCOMES).where(F.col("run_id") == F.lit(run.run_id))
    sums = own.groupBy("policy", "profile", *_LADDER).agg(*(F.sum(name).alias(name) for name in _SUMS))
    rows = [row.asDict() for row in sums.collect()]
    before = Day(run.days[0], settings.cluster).before.date
    producers = lake.read_days(PRODUCER_DAYS, clusters, run.days)
    switch = producers.agg(
        (F.sum(F.when(F.col("enforced"), F.col("sends")).otherwise(0)) / F.sum("sends")).alias("share")
    ).collect()
    in_use = (
        producers.where("policy IS NOT NULL")
        .groupBy("client_version", "policy")
        .agg(
            F.count_distinct("client_id", "producer_group").alias("producers"),
            F.sort_array(F.collect_set("producer_group")).alias("groups"),
        )
        .orderBy(F.desc("producers"), "client_version", "policy")
    )
    left_out = producers.where("not_replayed IS NOT NULL").groupBy("not_replayed").count().orderBy("not_replayed")
    return WhatIfSummary(
        run_id=run.run_id,
        lake=redacted(settings.lake),
        days=[str(day) for day in run.days],
        clusters=[*clusters],
        slow_ms=settings.slow_ms,
        sends=max((row["sends"] for row in rows), default=0),
        bad_sends=max((row["bad_sends"] for row in rows), default=0),
        unavoidable=max((row["unavoidable"] for row in rows), default=0),
        policies=with_best([_line(row) for row in rows]),
        in_use=[row.asDict() for row in in_use.collect()],
        starts_empty=lake.read_days(SENDS, clusters, [before]).isEmpty(),
        switch_on_share=switch[0]["share"],
        not_replayed={row["not_replayed"]: row["count"] for row in left_out.collect()},
    )


def _line(row: dict[str, Any]) -> PolicyLine:
    rules = {profile.name: profile for profile in released_profiles()}.get(row["profile"])
    ladder = Ladder(*(tuple(row[name]) for name in _LADDER))
    return PolicyLine(
        **{name: row[name] for name in PolicyLine.__dataclass_fields__ if name in row},
        since=rules.since if rules and rules.name == row["policy"] else None,
        failure_ms=rules.policy(row["policy"], ladder).failure_isolation_ms if rules else None,
    )


def with_best(lines: Sequence[PolicyLine]) -> list[PolicyLine]:
    """The lines with `is_best`, most bad sends avoided first, then fewest good ones steered away."""
    ordered = sorted(lines, key=lambda line: (-line.hits, line.false_alarms, line.policy))
    marked, fewest = [], None
    for line in ordered:
        beaten = fewest is not None and (line.hits, line.false_alarms) != fewest and line.false_alarms >= fewest[1]
        marked.append(replace(line, is_best=not beaten))
        fewest = fewest if beaten else (line.hits, line.false_alarms)
    return marked
