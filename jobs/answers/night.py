"""Words and numbers of a report: the night in a sentence, incidents, findings, the nights before."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.published import Published
from jobs.answers.runs import ALLOCATION, FAULT_LATENCY, NOT_GIVEN, days_with, not_given
from jobs.answers.words import percent
from jobs.kinds import Severity
from jobs.tables import (
    ALLOCATION_FINDINGS,
    BROKER_INCIDENTS,
    BROKER_WINDOWS,
    FINDINGS,
    ISOLATION_INTERVALS,
    PRODUCER_DAYS,
    REBALANCES,
    SEND_CALLS,
    Table,
)
from jobs.text.terminal import counted, duration, safe

NIGHTS_BEFORE, MOST_INCIDENTS, MOST_FINDINGS = 14, 50, 200
_PRODUCER = ("client_id", "producer_group")
_SEVERITIES = tuple(Severity)


@dataclass(frozen=True)
class Day:
    """One published day in numbers of both flows; 0 if a flow did not run.

    Attributes:
        unsent: sends that failed before they had a broker; not counted in `sends` and `failures`.
        incidents: those that are not minor, of all producers.
        has_sends: the run read a send log.
        has_groups: the run read consumer snapshots.
    """

    date: dt.date
    sends: int
    failures: int
    unsent: int
    isolations: int
    isolated_ms: int
    isolating_producers: int
    incidents: int
    minor_incidents: int
    findings: int
    rebalances: int
    moved: int
    group_findings: int
    has_sends: bool
    has_groups: bool


@dataclass(frozen=True)
class Night:
    """The requested days in words and tables.

    Attributes:
        headline: one sentence.
        whole: the days together.
        days: the days before and the requested days, in order; none before a window.
        counts_sends: False for one group in a window: the tables count its sends only per day.
        incidents: rows of `broker_incidents` that are not minor, the longest ones, in order of time.
        findings: rows of `findings`, the gravest first.
        kinds: kind to count, of all findings.
        not_drawn: a sentence for each thing left out.
        sends_missing: a sentence when some of the days have no send log; None otherwise.
        groups_missing: the same for consumer snapshots.
    """

    headline: str
    whole: Day
    days: tuple[Day, ...]
    counts_sends: bool
    incidents: tuple[dict[str, Any], ...]
    findings: tuple[dict[str, Any], ...]
    kinds: Mapping[str, int]
    not_drawn: tuple[str, ...]
    sends_missing: str | None
    groups_missing: str | None


def night(published: Published, nights_before: int = NIGHTS_BEFORE) -> Night:
    """Read the days, and as many published ones before them; none before a window."""
    before = published.days_before[-nights_before:] if nights_before and published.window is None else ()
    days, group = (*before, *published.days), published.producer_group
    counts, counts_sends = _days(published, days), group is None or published.window is None
    whole = _whole(published, [counts[day] for day in published.days])
    incidents = published.rows(BROKER_INCIDENTS, BROKER_INCIDENTS.schema.fieldNames(), ~_minor()).to_pylist()
    findings = published.rows(FINDINGS, FINDINGS.schema.fieldNames()).to_pylist()
    longest = sorted(incidents, key=lambda incident: (incident["start_ms"] - incident["end_ms"], incident["start_ms"]))
    gravest = sorted(
        findings, key=lambda finding: (_SEVERITIES.index(finding["severity"]), finding["start_ms"], finding["sentence"])
    )
    not_drawn = [
        f"{counted(len(found) - most, what)} beyond the {most} {which}"
        for found, most, what, which in (
            (longest, MOST_INCIDENTS, "incident", "longest"),
            (gravest, MOST_FINDINGS, "finding", "gravest"),
        )
        if len(found) > most
    ]
    return Night(
        headline(whole, longest) if group is None else headline_of_group(group, whole, counts_sends=counts_sends),
        whole,
        tuple(counts[day] for day in days),
        counts_sends,
        tuple(sorted(longest[:MOST_INCIDENTS], key=lambda incident: (incident["start_ms"], incident["broker_name"]))),
        tuple(gravest[:MOST_FINDINGS]),
        dict(Counter(finding["kind"] for finding in findings).most_common()),
        tuple(not_drawn),
        not_given(published, FAULT_LATENCY),
        not_given(published, ALLOCATION),
    )


def headline(whole: Day, incidents: Sequence[Mapping[str, Any]]) -> str:
    """The night in one sentence; `incidents` are the longest first."""
    sends = _failed(whole)
    if incidents:
        longest = incidents[0]
        broker, lasted = safe(longest["broker_name"]), duration(longest["end_ms"] - longest["start_ms"])
        peak = f"{longest['peak_producers']} of {longest['producers']} producers"
        return f"{counted(len(incidents), 'incident')}: in the longest, {peak} avoided {broker} for {lasted}; {sends}."
    if whole.minor_incidents:
        return f"No incident but {counted(whole.minor_incidents, 'minor one')}; {sends}."
    if whole.isolations:
        isolated = f"{counted(whole.isolating_producers, 'producer')} isolated a broker"
        return f"No incident: {isolated}, never many the same one; {sends}."
    if whole.sends or whole.unsent:
        return f"{'No' if whole.unsent else 'A quiet night: no'} producer isolated a broker; {sends}."
    no_send = "no send attempt was logged" if whole.has_sends else NOT_GIVEN[FAULT_LATENCY]
    if whole.rebalances or whole.group_findings:
        return f"{counted(whole.rebalances, 'rebalance')} moved {counted(whole.moved, 'queue')}; {no_send}."
    return f"Nothing happened that the tables tell of; {no_send}."


def headline_of_group(group: str, whole: Day, *, counts_sends: bool) -> str:
    """The night of one producer group in one sentence."""
    sends = f"; {_failed(whole)}" if counts_sends else ""
    if not whole.isolations:
        return f"{safe(group)}: no producer of it isolated a broker{sends}."
    who = f"{counted(whole.isolating_producers, 'producer')} isolated brokers for {duration(whole.isolated_ms)} in all"
    return f"{safe(group)}: {who}{sends}."


def _failed(whole: Day) -> str:
    unsent = f", {counted(whole.unsent, 'more send')} failed before a broker was chosen" if whole.unsent else ""
    return f"{percent(whole.failures, whole.sends)} of {counted(whole.sends, 'send attempt')} failed{unsent}"


def _days(published: Published, days: Sequence[dt.date]) -> dict[dt.date, Day]:
    counted_by = BROKER_WINDOWS if published.producer_group is None else PRODUCER_DAYS
    attempts = _per_day(published, days, counted_by, ("sends", "failures"))
    unsent = _per_day(published, days, SEND_CALLS, where=pc.field("attempts") == pc.scalar(0))
    columns = ["event_date", *_PRODUCER, "start_ms", "counted_until_ms"]
    isolations = published.rows(ISOLATION_INTERVALS, columns, is_real(), days)
    isolated = _by_day(
        isolations.append_column("isolated_ms", published.lengths_ms(isolations, "counted_until_ms"))
        .group_by("event_date")
        .aggregate([("isolated_ms", "sum"), ([], "count_all")])
    )
    producers = _by_day(
        isolations.group_by(["event_date", *_PRODUCER])
        .aggregate([])
        .group_by("event_date")
        .aggregate([([], "count_all")])
    )
    incidents = _per_day(published, days, BROKER_INCIDENTS, where=~_minor())
    minor = _per_day(published, days, BROKER_INCIDENTS, where=_minor())
    findings = _per_day(published, days, FINDINGS)
    rebalances = _per_day(published, days, REBALANCES, ("moved",))
    group_findings = _per_day(published, days, ALLOCATION_FINDINGS)
    ran = days_with(published)

    def of(counts: Mapping[dt.date, Mapping[str, int]], day: dt.date, name: str = "count_all") -> int:
        return counts.get(day, {}).get(name, 0)

    return {
        day: Day(
            date=day,
            has_sends=day in ran[FAULT_LATENCY],
            has_groups=day in ran[ALLOCATION],
            sends=of(attempts, day, "sends_sum"),
            failures=of(attempts, day, "failures_sum"),
            unsent=of(unsent, day),
            isolations=of(isolated, day),
            isolated_ms=of(isolated, day, "isolated_ms_sum"),
            isolating_producers=of(producers, day),
            incidents=of(incidents, day),
            minor_incidents=of(minor, day),
            findings=of(findings, day),
            rebalances=of(rebalances, day),
            moved=of(rebalances, day, "moved_sum"),
            group_findings=of(group_findings, day),
        )
        for day in days
    }


def _per_day(
    published: Published,
    days: Sequence[dt.date],
    table: Table,
    sums: Sequence[str] = (),
    where: pc.Expression | None = None,
) -> dict[dt.date, dict[str, Any]]:
    found = published.rows(table, ["event_date", *sums], where, days).group_by("event_date")
    return _by_day(found.aggregate([*((name, "sum") for name in sums), ([], "count_all")]))


def _by_day(counts: pa.Table) -> dict[dt.date, dict[str, Any]]:
    return {row["event_date"]: row for row in counts.to_pylist()}


def is_real() -> pc.Expression:
    """Isolations that took effect: the switch was on, and they have a length."""
    return pc.field("enforced") & (pc.field("end_ms") > pc.field("start_ms"))


def _minor() -> pc.Expression:
    """Minor incidents, which need nobody at night."""
    return pc.field("is_minor")


def _whole(published: Published, days: Sequence[Day]) -> Day:
    """The days together; a producer that isolated on several days counts once."""
    producers = published.rows(ISOLATION_INTERVALS, list(_PRODUCER), is_real()).group_by(_PRODUCER).aggregate([])
    summed = {
        name: sum(getattr(day, name) for day in days)
        for name in Day.__dataclass_fields__
        if name not in {"date", "has_sends", "has_groups", "isolating_producers"}
    }
    return Day(
        date=days[-1].date,
        has_sends=any(day.has_sends for day in days),
        has_groups=any(day.has_groups for day in days),
        isolating_producers=producers.num_rows,
        **summed,
    )
