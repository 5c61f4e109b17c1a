"""One published night in a screen of numbers and words: what `show night` and every run print."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.delta_table import NO_OPTIONS, Options
from jobs.answers.events import IN_FULL, Event
from jobs.answers.night import is_real, night
from jobs.answers.producers import PRODUCER
from jobs.answers.published import Published, open_published
from jobs.answers.rests_on import rests_on
from jobs.answers.runs import ALLOCATION, FAULT_LATENCY, NOT_GIVEN, days_with, unsure_days
from jobs.answers.sums import summed
from jobs.answers.troubled_groups import FindingKind, Group, finding_kinds, gravest_events, read_groups, troubled_groups
from jobs.answers.words import unsure_text
from jobs.intervals.of_lists import grouped
from jobs.kinds import GroupCause, Severity
from jobs.tables import (
    BROKER_WINDOWS,
    ISOLATION_INTERVALS,
    PRODUCER_DAYS,
    QUARANTINE,
    TOPIC_QUEUES,
)
from jobs.text.owners import NO_OWNERS, owners_of
from udfs.strategy import RETRY_TOPIC

MOST, _MOST_BROKERS = 8, 50
_ISOLATED = ("isolated_ms", "isolations")
_OF_GROUP_EVENT = ("event_id", "consumer_group", "kind", "start_ms", "settled_ms", "sentence")
_PASSING = (GroupCause.REBALANCE_NOT_RUN, GroupCause.STALE_ROUTE)
"""Causes of findings that are not listed, as every rebalance takes some time."""


@dataclass(frozen=True)
class Digest:
    """One published day of one cluster; times are epoch ms, durations ms.

    Attributes:
        warning: a sentence where the last run of the day did not succeed; None otherwise.
        not_given: a sentence for each flow that had no input; its counts mean nothing.
        counts: of both flows; the date is left out.
        costs: producer groups with sends that were `lost` (of these `unsent`), `saved` or `slow`, the gravest first.
        events: the gravest first, each with its `findings` by kind, and its `worst` one if that is CRITICAL.
        findings: about producers and brokers, of one `kind` together: how many of each severity, and the sentence of
            the `worst`; of those that follow from an event only AVOIDED_TOO_LONG and LONE_ISOLATION; the most critical
            kind first.
        in_full: the sentence of each finding of these two kinds, the gravest first.
        kinds: kind to count, of all findings about producers and brokers.
        severities: severity to count, of all events and findings about producers and brokers.
        brokers: the fifty longest isolated ones; `isolated_ms` is summed over producers.
        producers: those that isolated longest; `isolated_ms` is summed over brokers.
        producer_groups: those whose producers isolated longest.
        contradictions: first attempts that contradict the replay.
        missing_producers: groups that sent on the day before, and nothing on this one.
        groups: consumer groups, the most troubled first.
        group_events: changes of groups, those whose queues lacked their owners longest first.
        group_findings: about groups, that no event tells, the longest first; without retry topics.
        queues: number of queues by `topic_queues.finding`, UNREAD or IDLE.
        rejected: lines in quarantine by source and reason; a line counts under each of its reasons.
        rests_on: sources, and what they cannot show.
        owners: group that appears here to its owner, if settings have one.
    """

    date: str
    cluster: str
    headline: str
    warning: str | None
    not_given: list[str]
    counts: dict[str, int | bool]
    costs: list[dict[str, Any]]
    events: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    in_full: list[str]
    kinds: dict[str, int]
    severities: dict[str, int]
    broker_count: int
    brokers: list[dict[str, Any]]
    producer_count: int
    producers: list[dict[str, Any]]
    producer_group_count: int
    producer_groups: list[dict[str, Any]]
    contradictions: int
    missing_producers: list[str]
    group_count: int
    groups: list[Group]
    group_events: list[dict[str, Any]]
    group_findings: list[FindingKind]
    queues: dict[str, int]
    rejected: list[dict[str, Any]]
    rests_on: list[str]
    owners: dict[str, str]


def digests(
    root: str,
    clusters: Sequence[str],
    days: Sequence[dt.date],
    options: Options = NO_OPTIONS,
    owners: Mapping[str, str] = NO_OWNERS,
) -> list[Digest]:
    """The digests of those of the days that are published, cluster by cluster.

    Raises:
        LakeError: a table cannot be read.
        InputMissingError: a cluster has none of the days.
    """
    return [
        digest
        for cluster in clusters
        for digest in digests_of(open_published(root, cluster, min(days), max(days), options), owners)
    ]


def digests_of(published: Published, owners: Mapping[str, str] = NO_OWNERS) -> list[Digest]:
    """The digest of each requested day.

    Raises:
        LakeError: a table cannot be read.
    """
    return [_digest(replace(published, days=(day,), not_published=()), owners) for day in published.days]


def _digest(published: Published, owners: Mapping[str, str]) -> Digest:
    (day,) = published.days
    on_night, ran = night(published, nights_before=0, owners=owners), days_with(published)
    columns = [*PRODUCER, "client_version", "enforced", *_ISOLATED, "contradictions"]
    producers = published.rows(PRODUCER_DAYS, columns)
    isolating = producers.filter(pc.field("enforced") & (pc.field("isolated_ms") > 0))
    by_group = summed(isolating, "producer_group", _ISOLATED, "producers")
    groups = _longest(by_group, "producer_group")
    longest = _longest(isolating.select([*PRODUCER, "client_version", *_ISOLATED]), "client_id")
    of_brokers = ["sends", "failures", "isolated_ms"]
    brokers = summed(published.rows(BROKER_WINDOWS, ["broker_name", *of_brokers]), "broker_name", of_brokers)
    consumers = read_groups(published)
    troubled = troubled_groups(consumers)
    kinds = finding_kinds(
        [
            finding
            for finding in consumers.findings
            if not (finding["topic"] or "").startswith(RETRY_TOPIC) and finding["cause"] not in _PASSING
        ]
    )
    missing = _missing(published, producers) if day in ran[FAULT_LATENCY] else []
    named = [
        *(row["producer_group"] for row in (*longest, *groups, *on_night.costs)),
        *missing,
        *(group.consumer_group for group in troubled[:MOST]),
    ]
    return Digest(
        date=f"{day}",
        cluster=published.cluster,
        headline=on_night.headline,
        warning=unsure_text(unsure_days(published)),
        not_given=[NOT_GIVEN[flow] for flow in (FAULT_LATENCY, ALLOCATION) if day not in ran[flow]],
        counts={name: value for name, value in asdict(on_night.whole).items() if name != "date"},
        costs=list(on_night.costs),
        events=[_event(event) for event in on_night.events],
        findings=_kinds(on_night.findings),
        in_full=[finding["sentence"] for finding in on_night.findings if finding["kind"] in IN_FULL],
        kinds=dict(on_night.kinds),
        severities=dict(on_night.severities),
        broker_count=brokers.num_rows,
        brokers=_worst_brokers(published, brokers),
        producer_count=producers.group_by(PRODUCER).aggregate([]).num_rows,
        producers=longest,
        producer_group_count=by_group.num_rows,
        producer_groups=groups,
        contradictions=pc.sum(producers["contradictions"]).as_py() or 0,
        missing_producers=missing,
        group_count=len(troubled),
        groups=troubled[:MOST],
        group_events=[
            {name: event[name] for name in _OF_GROUP_EVENT} for event in gravest_events(consumers.events)[:MOST]
        ],
        group_findings=kinds[:MOST],
        queues=_queues(published),
        rejected=_rejected(published),
        rests_on=rests_on(published),
        owners=owners_of(named, owners),
    )


def _longest(rows: pa.Table, name: str) -> list[dict[str, Any]]:
    order = [("isolated_ms", "descending"), (name, "ascending"), ("producer_group", "ascending")]
    return list(rows.sort_by(order).slice(0, MOST).to_pylist())


def _missing(published: Published, producers: pa.Table) -> list[str]:
    day_before = published.days[0] - dt.timedelta(days=1)
    before = published.rows(PRODUCER_DAYS, ["producer_group"], days=[day_before])
    sent_before, sent = (set(pc.unique(rows["producer_group"]).to_pylist()) for rows in (before, producers))
    return sorted(sent_before - sent)


def _event(event: Event) -> dict[str, Any]:
    """The row, without its day, and what the event says."""
    left_out = {"event_date", "cluster", *(name for name in event.row if name.endswith("_at"))}
    return {name: value for name, value in event.row.items() if name not in left_out} | {
        "where": event.where, "what": event.what, "notes": event.notes,
        "findings": event.kinds, "worst": event.worst,
    }  # fmt: skip


def _kinds(findings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Findings, the gravest first, by kind."""
    kinds = []
    for kind, found in grouped(findings, lambda finding: finding["kind"]).items():
        counts = Counter(row["severity"] for row in found)
        of_each = {severity.lower(): counts[severity] for severity in Severity}
        kinds.append({"kind": kind, **of_each, "worst": found[0]["sentence"]})
    return sorted(kinds, key=lambda row: (-row["critical"], -row["warning"], -row["info"], row["kind"]))


def _worst_brokers(published: Published, brokers: pa.Table) -> list[dict[str, Any]]:
    """Those isolated longest, with `isolating_producers`."""
    producer = ["broker_name", *PRODUCER]
    pairs = published.rows(ISOLATION_INTERVALS, producer, is_real()).group_by(producer).aggregate([])
    isolating = Counter(pairs["broker_name"].to_pylist())
    worst = brokers.sort_by([("isolated_ms", "descending"), ("broker_name", "ascending")]).slice(0, _MOST_BROKERS)
    return [row | {"isolating_producers": isolating[row["broker_name"]]} for row in worst.to_pylist()]


def _queues(published: Published) -> dict[str, int]:
    columns = ["finding", "topic", "broker_name", "queue_id"]
    rows = published.rows(TOPIC_QUEUES, columns, pc.field("finding") != pc.scalar("NONE"))
    return dict(sorted(Counter(rows.group_by(columns).aggregate([])["finding"].to_pylist()).items()))


def _rejected(published: Published) -> list[dict[str, Any]]:
    lines = published.rows(QUARANTINE, ["source", "reason", "reasons"]).to_pylist()
    counts = Counter((row["source"], reason) for row in lines for reason in row["reasons"] or [row["reason"]])
    return [
        {"source": source, "reason": reason, "lines": count}
        for (source, reason), count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
