"""Words and numbers of a report: the night in a sentence, its cost, events, findings, the nights before."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.events import Event, cost_words, with_findings
from jobs.answers.producers import PRODUCER, versions_of, with_names
from jobs.answers.published import Published
from jobs.answers.runs import ALLOCATION, FAULT_LATENCY, NOT_GIVEN, days_with
from jobs.answers.sums import summed
from jobs.answers.words import percent, sentence
from jobs.kinds import Severity
from jobs.tables import (
    ALLOCATION_FINDINGS,
    BROKER_WINDOWS,
    EVENTS,
    FINDINGS,
    GROUP_EVENTS,
    ISOLATION_INTERVALS,
    PRODUCER_DAYS,
    REBALANCES,
    SEND_CALLS,
    Table,
)
from jobs.text.owners import NO_OWNERS
from jobs.text.terminal import counted, duration, safe

NIGHTS_BEFORE, MOST_EVENTS, MOST_FINDINGS = 14, 50, 200
_COST = ("lost", "unsent", "saved", "slow")


@dataclass(frozen=True)
class Day:
    """One published day in numbers of both flows; 0 if a flow did not run.

    Attributes:
        lost: sends that failed for their callers.
        unsent: of those, sends that failed before they had a broker; not counted in `sends` and `failures`.
        saved: sends that were answered after a retry.
        slow: sends that were answered at the first attempt, and late.
        sends: attempts.
        failures: of those, attempts that failed.
        events: those that are more than INFO, of all producers.
        info_events: the others.
        has_sends: the run read a send log.
        has_groups: the run read consumer snapshots.
    """

    date: dt.date
    lost: int = 0
    unsent: int = 0
    saved: int = 0
    slow: int = 0
    sends: int = 0
    failures: int = 0
    isolations: int = 0
    isolated_ms: int = 0
    isolating_producers: int = 0
    events: int = 0
    info_events: int = 0
    findings: int = 0
    group_events: int = 0
    rebalances: int = 0
    moved: int = 0
    group_findings: int = 0
    has_sends: bool = False
    has_groups: bool = False


@dataclass(frozen=True)
class Night:
    """The requested days in words and tables.

    Attributes:
        headline: one sentence.
        whole: the days together.
        days: the days before and the requested days, in order; none before a window.
        counts_sends: False for one group in a window: the tables count its sends only per day.
        costs: producer group to its `lost`, `unsent`, `saved` and `slow` sends, the gravest first.
        events: all of them, the gravest first.
        findings: rows of `findings` to tell on their own, the gravest first; the others are with their events. Their
            sentences name producers for a reader.
        kinds: kind to count, of all findings.
        severities: severity to count, of all events and findings.
        not_drawn: a sentence for each thing left out.
    """

    headline: str
    whole: Day
    days: tuple[Day, ...]
    counts_sends: bool
    costs: tuple[dict[str, Any], ...]
    events: tuple[Event, ...]
    findings: tuple[Mapping[str, Any], ...]
    kinds: Mapping[str, int]
    severities: Mapping[str, int]
    not_drawn: tuple[str, ...]

    @property
    def drawn_events(self) -> list[Event]:
        """The gravest events: those of several brokers first, then in order of time."""
        in_time = sorted(self.events[:MOST_EVENTS], key=lambda event: (event.row["bad_from_ms"], event.row["brokers"]))
        return sorted(in_time, key=lambda event: event.row["broker_name"] is not None)

    @property
    def drawn_findings(self) -> tuple[Mapping[str, Any], ...]:
        """The gravest findings."""
        return self.findings[:MOST_FINDINGS]


def night(published: Published, nights_before: int = NIGHTS_BEFORE, owners: Mapping[str, str] = NO_OWNERS) -> Night:
    """Read the days, and as many published ones before them; none before a window.

    `owners`, group or glob to its owner, stand beside the groups in sentences of findings.
    """
    earlier = [day for day in published.all_days if day < published.days[0]]
    before = earlier[-nights_before:] if nights_before and published.window is None else ()
    days, group = (*before, *published.days), published.producer_group
    costs = _costs(published, days)
    costs_of_groups = summed(costs.filter(pc.field("event_date").isin(published.days)), "producer_group", _COST)
    counts, counts_sends = _days(published, days, costs), group is None or published.window is None
    whole = _whole(published, [counts[day] for day in published.days])
    rows = published.rows(FINDINGS, FINDINGS.schema.fieldNames()).to_pylist()
    versions = versions_of(published) if rows else {}
    found = [
        {
            **row,
            "client_versions": versions.get((row["client_id"], row["producer_group"])),
            "sentence": with_names(row, versions, owners),
        }
        for row in rows
    ]
    events, findings = with_findings(published.rows(EVENTS, EVENTS.schema.fieldNames()).to_pylist(), found)
    not_drawn = [
        f"{counted(count - most, what)} beyond the {most} gravest"
        for count, most, what in ((len(events), MOST_EVENTS, "event"), (len(findings), MOST_FINDINGS, "finding"))
        if count > most
    ]
    if left := sum(len(event.findings) for event in events[MOST_EVENTS:]):
        not_drawn.append(f"{counted(left, 'finding')} of events that are not drawn")
    return Night(
        headline(whole, events) if group is None else headline_of_group(group, whole, counts_sends=counts_sends),
        whole,
        tuple(counts[day] for day in days),
        counts_sends,
        tuple(sorted(costs_of_groups.to_pylist(), key=gravest_first)),
        tuple(events),
        tuple(findings),
        dict(Counter(finding["kind"] for finding in found).most_common()),
        Counter(row["severity"] for row in (*found, *(event.row for event in events))),
        tuple(not_drawn),
    )


def headline(whole: Day, events: Sequence[Event]) -> str:
    """The night in one sentence, what it cost first; `events` are the gravest first."""
    cost, sends = cost_words(asdict(whole)), _failed(whole)
    if events:
        number = counted(whole.events or whole.info_events, "event")
        if whole.info_events:
            number += f"{f' and {whole.info_events:,}' if whole.events else ''} of severity INFO"
        return sentence(f"{cost}. {number}{'; the worst' if events[1:] else ''}: {events[0].words}")
    if whole.isolations:
        return sentence(
            f"{cost}; no event, {counted(whole.isolating_producers, 'producer')} isolated a broker; {sends}"
        )
    has_cost = any(getattr(whole, name) for name in _COST)
    if whole.sends or has_cost:
        quiet = "" if has_cost or whole.failures else "a quiet night: "
        return sentence(f"{quiet}{cost}; no event, no producer isolated a broker; {sends}")
    no_send = "no send attempt was logged" if whole.has_sends else NOT_GIVEN[FAULT_LATENCY]
    if whole.rebalances or whole.group_findings:
        return f"{counted(whole.rebalances, 'rebalance')} moved {counted(whole.moved, 'queue')}; {no_send}."
    return f"Nothing happened that the tables tell of; {no_send}."


def headline_of_group(group: str, whole: Day, *, counts_sends: bool) -> str:
    """The night of one producer group in one sentence."""
    cost, sends = cost_words(asdict(whole)), f"; {_failed(whole)}" if counts_sends else ""
    if not whole.isolations:
        return f"{safe(group)}: {cost}; no producer of it isolated a broker{sends}."
    who = f"{counted(whole.isolating_producers, 'producer')} isolated brokers for {duration(whole.isolated_ms)} in all"
    return f"{safe(group)}: {cost}; {who}{sends}."


def _failed(whole: Day) -> str:
    return f"{percent(whole.failures, whole.sends)} of {counted(whole.sends, 'send attempt')} failed"


def _costs(published: Published, days: Sequence[dt.date]) -> pa.Table:
    """A row per day and producer group with a send that was lost, saved or slow; each send counts once."""
    columns = ["event_date", "producer_group", "attempts", "failed", "retried", "slow"]
    counts = pc.field("failed") | pc.field("retried") | pc.field("slow")
    return cost_sums(published.rows(SEND_CALLS, columns, counts, days), columns[:2])


def cost_sums(calls: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Numbers of sends `lost`, of these `unsent`, `saved` and `slow`, by the keys; each send counts once."""
    lost, no_broker = calls["failed"], pc.equal(calls["attempts"], 0)
    saved = pc.and_not(calls["retried"], lost)
    late = pc.and_not(pc.and_not(calls["slow"], calls["retried"]), lost)
    marked = calls.select(keys)
    for name, is_so in zip(_COST, (lost, no_broker, saved, late), strict=True):
        marked = marked.append_column(name, pc.cast(is_so, pa.int64()))
    return summed(marked, keys, _COST)


def gravest_first(cost: Mapping[str, Any]) -> tuple[int, int, str]:
    """The order of costs by producer group."""
    return -cost["lost"], -cost["saved"] - cost["slow"], cost["producer_group"]


def _days(published: Published, days: Sequence[dt.date], costs: pa.Table) -> dict[dt.date, Day]:
    """Each day in numbers, every one of them from rows by day that have its name."""
    columns = ["event_date", *PRODUCER, "start_ms", "counted_until_ms"]
    isolations = published.rows(ISOLATION_INTERVALS, columns, is_real(), days)
    isolations = isolations.append_column("isolated_ms", published.lengths_ms(isolations, "counted_until_ms"))
    isolating = isolations.group_by(["event_date", *PRODUCER]).aggregate([])
    counted_by = BROKER_WINDOWS if published.producer_group is None else PRODUCER_DAYS
    is_info = pc.field("severity") == pc.scalar(Severity.INFO.value)

    def of(table: Table, count: str | None, sums: Sequence[str] = (), where: pc.Expression | None = None) -> pa.Table:
        return summed(published.rows(table, ["event_date", *sums], where, days), "event_date", sums, count)

    by_day = (
        summed(costs, "event_date", _COST),
        of(counted_by, None, ("sends", "failures")),
        summed(isolations, "event_date", ["isolated_ms"], "isolations"),
        summed(isolating, "event_date", count="isolating_producers"),
        of(EVENTS, "events", where=~is_info),
        of(EVENTS, "info_events", where=is_info),
        of(FINDINGS, "findings"),
        of(GROUP_EVENTS, "group_events"),
        of(REBALANCES, "rebalances", ("moved",)),
        of(ALLOCATION_FINDINGS, "group_findings"),
    )
    found: dict[dt.date, dict[str, int]] = {day: {} for day in days}
    for row in (row for rows in by_day for row in rows.to_pylist()):
        found[row.pop("event_date")].update(row)
    ran = days_with(published)
    return {
        day: Day(day, **found[day], has_sends=day in ran[FAULT_LATENCY], has_groups=day in ran[ALLOCATION])
        for day in days
    }


def is_real() -> pc.Expression:
    """Isolations that took effect: the switch was on, and they have a length."""
    return pc.field("enforced") & (pc.field("end_ms") > pc.field("start_ms"))


def _whole(published: Published, days: Sequence[Day]) -> Day:
    """The days together; a producer that isolated on several days counts once."""
    producers = published.rows(ISOLATION_INTERVALS, list(PRODUCER), is_real()).group_by(PRODUCER).aggregate([])
    sums = {
        name: sum(getattr(day, name) for day in days)
        for name in Day.__dataclass_fields__
        if name not in {"date", "has_sends", "has_groups", "isolating_producers"}
    }
    return Day(
        date=days[-1].date,
        has_sends=any(day.has_sends for day in days),
        has_groups=any(day.has_groups for day in days),
        isolating_producers=producers.num_rows,
        **sums,
    )
