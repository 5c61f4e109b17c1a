"""The digest of a night as a screen of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.answers.digest import MOST, Digest
from jobs.answers.events import IN_FULL
from jobs.answers.producers import group_name, host_of
from jobs.answers.words import NOTHING, clock_time, percent
from jobs.text.terminal import UNDER_EACH, counted, duration, grid, one_line, safe

_MOST_IN_FULL = 3
_FEW, _FEWEST = 5, 3


def nights_text(nights: Sequence[Digest]) -> str:
    """Each night in full if there are few, else one line per night."""
    if len(nights) > _MOST_IN_FULL:
        return "\n".join(map(night_line, nights))
    return "\n\n".join(night_text(night) for night in nights)


def night_line(night: Digest) -> str:
    """One night on one line."""
    return f"{_head(night)}: {one_line(night.headline)}{f' {night.warning}' if night.warning else ''}"


def night_text(night: Digest) -> str:
    """One night on one screen, the most important first; control characters in names are escaped."""
    parts = (
        _headline(night),
        _costs(night),
        _events(night),
        _findings(night),
        _brokers(night),
        _producers(night),
        _groups(night),
        _group_events(night),
        _group_findings(night),
        _notes(night),
    )
    return "\n\n".join(filter(None, parts))


def _head(night: Digest) -> str:
    return f"{night.date}, cluster {safe(night.cluster)}"


def _headline(night: Digest) -> str:
    lines = [_head(night), f"  {one_line(night.headline)}", *([f"  {night.warning}"] if night.warning else [])]
    counts = night.counts
    if night.events:  # else the headline has it
        failed = percent(counts["failures"], counts["sends"])
        lines.append(f"  {failed} of {counted(counts['sends'], 'send attempt')} failed.")
    if night.group_count:
        lines.append(
            f"  {counted(night.group_count, 'consumer group')}: {counted(counts['group_events'], 'event')};"
            f" {counted(counts['rebalances'], 'rebalance')} moved {counted(counts['moved'], 'queue')};"
            f" {counted(counts['group_findings'], 'finding')} about them."
        )
    if night.rejected:
        most = [f"{row['lines']:,} {row['source']} {row['reason']}" for row in night.rejected[:MOST]]
        more = ", …" if night.rejected[MOST:] else ""
        lines.append(f"  Rejected lines: {', '.join(most)}{more}; {UNDER_EACH} (quarantine has file and line).")
    return "\n".join(lines)


def _costs(night: Digest) -> str:
    rows = [
        [group_name(cost["producer_group"], night.owners), *(f"{cost[name]:,}" for name in ("lost", "saved", "slow"))]
        for cost in night.costs[:_FEW]
    ]
    header = ["group", "lost", "saved by a retry", "slow"]
    return _table("What it cost: sends by producer group", header, rows, len(night.costs))


def _events(night: Digest) -> str:
    if not night.events:
        return ""
    shown = sorted(night.events[:MOST], key=lambda event: (event["bad_from_ms"], event["brokers"]))
    rows = [
        [
            safe(event["where"]),
            event["what"],
            clock_time(event["bad_from_ms"])[:8],
            duration(event["last_bad_ms"] - event["bad_from_ms"]),
            f"{event['hit_producers']:,} of {event['producers']:,}",
            f"{event['avoiding_producers']:,}",
            NOTHING if event["avoided_until_ms"] is None else clock_time(event["avoided_until_ms"])[:8],
            duration(event["avoided_after_ms"]) if event["avoided_after_ms"] else "",
            *(f"{event[name]:,}" for name in ("lost_sends", "saved_sends", "slow_sends")),
        ]
        for event in shown
    ]
    header = [
        *("broker", "what", "from", "bad for", "producers hit", "avoided by", "until", "after it answered"),
        *("lost", "saved", "slow"),
    ]
    first, *lines = grid(header, rows).split("\n")
    told = [text for line, event in zip(lines, shown, strict=True) for text in (line, *_below(event))]
    more = f" (the {len(rows)} gravest of {len(night.events):,})" if len(night.events) > len(rows) else ""
    title = f"Events: brokers in trouble, producers that avoided them, and sends, UTC{more}"
    return "\n".join([title, first, *told])


def _below(event: Mapping[str, Any]) -> list[str]:
    """What the row of an event does not say."""
    found = ", ".join(f"{kind} {count:,}" for kind, count in event["findings"].items())
    lines = [*event["notes"], *([f"findings: {found}"] if found else []), *([event["worst"]] if event["worst"] else [])]
    return [f"    {one_line(line)}" for line in lines]


def _findings(night: Digest) -> str:
    if not night.findings:
        none = "none besides those of events" if night.kinds else "none"
        return f"Findings\n  {none}" if night.counts["has_sends"] else ""
    rows = [
        [finding["kind"], *(f"{finding[name]:,}" for name in ("critical", "warning", "info"))]
        for finding in night.findings
    ]
    worst = [row["worst"] for row in night.findings if row["critical"] and row["kind"] not in IN_FULL]
    more = [f"and {len(night.in_full) - MOST:,} more"] if night.in_full[MOST:] else []
    return "\n".join(
        [
            "Findings besides those of events: docs/findings has what to do about a kind; below, the gravest in words",
            grid(["kind", "critical", "warning", "info"], rows),
            *(f"  {one_line(words)}" for words in (*worst, *night.in_full[:MOST], *more)),
        ]
    )


def _brokers(night: Digest) -> str:
    rows = [
        [
            safe(broker["broker_name"]),
            f"{broker['sends']:,}",
            f"{broker['failures']:,}",
            duration(broker["isolated_ms"]),
            f"{broker['isolating_producers']:,}",
        ]
        for broker in night.brokers[:MOST]
    ]
    header = ["broker", "sends", "failures", "isolated (sum over producers)", "by producers"]
    return _table("Brokers", header, rows, night.broker_count)


def _producers(night: Digest) -> str:
    """The producers, or their groups if a night has many client ids."""
    isolations, isolating = night.counts["isolations"], night.counts["isolating_producers"]
    count = f"{isolating:,} of {night.producer_count:,}, {isolations:,} isolations"
    if night.producer_group_count < isolating > MOST:
        rows = [
            [
                group_name(group["producer_group"], night.owners),
                f"{group['producers']:,}",
                duration(group["isolated_ms"]),
                f"{group['isolations']:,}",
            ]
            for group in night.producer_groups
        ]
        header = ["group", "producers", "isolated (sum over brokers)", "isolations"]
        return _table(f"Producer groups that isolated longest (producers: {count})", header, rows)
    rows = [
        [
            group_name(producer["producer_group"], night.owners),
            safe(host_of(producer["client_id"]) or "?"),
            safe(producer["client_version"] or "?"),
            duration(producer["isolated_ms"]),
            f"{producer['isolations']:,}",
            safe(producer["client_id"]),
        ]
        for producer in night.producers[:_FEW]
    ]
    header = ["group", "host", "client", "isolated (sum over brokers)", "isolations", "client id"]
    return _table(f"Producers that isolated longest ({count})", header, rows)


def _groups(night: Digest) -> str:
    rows = [
        [
            group_name(group.consumer_group, night.owners),
            duration(group.fault_ms),
            *(f"{count:,}" for count in (group.events, group.rebalances, group.moved, group.needed, group.findings)),
        ]
        for group in night.groups[:_FEW]
    ]
    header = ["group", "without right owner (sum over queues)", "events", "rebalances", "queues moved", "needed"]
    return _table("Consumer groups", [*header, "findings"], rows, night.group_count)


def _table(title: str, header: list[str], rows: list[list[str]], count: int = 0) -> str:
    """A table under its title, which says so if there are more rows than these, `count`; nothing without rows."""
    of_all = f" ({len(rows)} of {count:,})" if count > len(rows) else ""
    return f"{title}{of_all}\n{grid(header, rows)}" if rows else ""


def _group_events(night: Digest) -> str:
    rows = [[clock_time(event["start_ms"]), one_line(event["sentence"])] for event in night.group_events[:_FEW]]
    return _table("Events of consumer groups, UTC", ["at", "in words"], rows, night.counts["group_events"])


def _group_findings(night: Digest) -> str:
    rows = [
        [f"{finding.count:,}", finding.kind, one_line(finding.sentence)] for finding in night.group_findings[:_FEWEST]
    ]
    return _table("Other findings about groups, the longest of each kind", ["times", "kind", "in words"], rows)


def _notes(night: Digest) -> str:
    notes = [*night.not_given, *night.rests_on]
    if night.missing_producers:
        groups = [group_name(group, night.owners) for group in night.missing_producers[:5]]
        more = ", …" if night.missing_producers[5:] else ""
        notes.append(f"producer groups of the day before that sent nothing: {', '.join(groups)}{more}")
    notes += [
        f"{counted(night.queues[finding], 'queue')} {what} (topic_queues.finding = {finding})"
        for finding, what in (("UNREAD", "got messages and had no reader"), ("IDLE", "read but never written"))
        if finding in night.queues
    ]
    return "What this rests on\n" + "\n".join(f"  {one_line(note)}" for note in notes) if notes else ""
