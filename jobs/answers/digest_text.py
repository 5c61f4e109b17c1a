"""The digest of a night as a screen of text, and its JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from jobs.answers.digest import MOST, Digest
from jobs.answers.words import clock_time
from jobs.text.terminal import UNDER_EACH, counted, duration, grid, grid_with_owners, one_line, safe

_MOST_IN_FULL = 3
_FEW, _FEWEST = 5, 3


def nights_text(nights: Sequence[Digest]) -> str:
    """Each night in full if they are few, else in a line."""
    if len(nights) > _MOST_IN_FULL:
        return "\n".join(
            f"{_head(each)}: {one_line(each.headline)}{f' {each.warning}' if each.warning else ''}" for each in nights
        )
    return "\n\n".join(night_text(each) for each in nights)


def nights_json(nights: Sequence[Digest]) -> str:
    """The nights as one JSON object, as the JSON of a run has them."""
    return json.dumps({"nights": [asdict(each) for each in nights]}, indent=1)


def night_text(night: Digest) -> str:
    """One night on one screen, what matters first; control characters in names are shown escaped."""
    parts = [
        _headline(night),
        _incidents(night),
        _findings(night),
        _brokers(night),
        _producers(night),
        _groups(night),
        _group_findings(night),
        _notes(night),
    ]
    return "\n\n".join(part for part in parts if part)


def _head(night: Digest) -> str:
    return f"{night.date}, cluster {safe(night.cluster)}"


def _headline(night: Digest) -> str:
    lines = [_head(night), f"  {one_line(night.headline)}", *([f"  {night.warning}"] if night.warning else [])]
    if night.group_count:
        counts = night.counts
        lines.append(
            f"  {counted(night.group_count, 'consumer group')}: {counted(counts['rebalances'], 'rebalance')} moved"
            f" {counted(counts['moved'], 'queue')}; {counted(counts['group_findings'], 'finding')} about them."
        )
    if night.rejected:
        most = [f"{each['lines']:,} {each['source']} {each['reason']}" for each in night.rejected[:MOST]]
        more = ", …" if night.rejected[MOST:] else ""
        lines.append(f"  Rejected lines: {', '.join(most)}{more}; {UNDER_EACH} (quarantine has file and line).")
    return "\n".join(lines)


def _incidents(night: Digest) -> str:
    minor = night.counts["minor_incidents"]
    if not night.incidents:
        return ""
    shown = sorted(night.incidents[:MOST], key=lambda each: (each["start_ms"], each["broker_name"]))
    rows = [
        [
            safe(each["broker_name"]),
            clock_time(each["start_ms"])[:8],
            clock_time(each["end_ms"])[:8],
            duration(each["end_ms"] - each["start_ms"]),
            f"{each['peak_producers']:,} of {each['producers']:,} producers",
            f"{each['lost']:,} of {each['sends']:,}",
        ]
        for each in shown
    ]
    count = night.counts["incidents"]
    more = f" (the {len(rows)} longest of {count:,})" if count > len(rows) else ""
    table = grid(["broker", "from", "until", "lasted", "at the peak", "sends lost"], rows)
    left = f"\n  and {counted(minor, 'minor one')}" if minor else ""
    return f"Incidents: many producers isolate one broker at the same time, UTC{more}\n{table}{left}"


def _findings(night: Digest) -> str:
    if not night.findings:
        return "Findings\n  none" if night.counts["has_sends"] else ""
    rows = [[each.kind, f"{each.critical:,}", f"{each.warning:,}", f"{each.info:,}"] for each in night.findings]
    worst = [f"  {one_line(each.worst)}" for each in night.findings if each.critical]
    table = grid(["kind", "critical", "warning", "info"], rows)
    return "\n".join(
        [
            "Findings: what to do about each kind is in docs/findings; below them the worst of each critical kind",
            table,
            *worst,
        ]
    )


def _brokers(night: Digest) -> str:
    if not night.brokers:
        return ""
    rows = [
        [
            safe(each["broker_name"]),
            f"{each['sends']:,}",
            f"{each['failures']:,}",
            duration(each["isolated_ms"]),
            f"{each['isolating_producers']:,}",
        ]
        for each in night.brokers[:MOST]
    ]
    more = _of_all(rows, night.broker_count)
    return f"Brokers{more}\n" + grid(
        ["broker", "sends", "failures", "isolated (sum over producers)", "by producers"], rows
    )


def _producers(night: Digest) -> str:
    """Of a night of many client ids their groups instead."""
    if not night.producers:
        return ""
    isolations, isolating = night.counts["isolations"], night.counts["isolating_producers"]
    count = f"{isolating:,} of {night.producer_count:,}, {isolations:,} isolations"
    if night.producer_group_count < isolating > MOST:
        rows = [
            [safe(each["producer_group"]) or "?", f"{each['producers']:,}", *_isolated(each)]
            for each in night.producer_groups
        ]
        header = ["group", "producers", "isolated (sum over brokers)", "isolations"]
        table = grid_with_owners(header, rows, [each["producer_group"] for each in night.producer_groups], night.owners)
        return f"Producer groups that isolated longest (producers: {count})\n{table}"
    rows = [
        [safe(each["client_id"]), each["client_version"] or "?", *_isolated(each)] for each in night.producers[:_FEW]
    ]
    header = ["client id", "client", "isolated (sum over brokers)", "isolations"]
    table = grid_with_owners(header, rows, [each["producer_group"] for each in night.producers[:_FEW]], night.owners)
    return f"Producers that isolated longest ({count})\n{table}"


def _isolated(each: Mapping[str, Any]) -> list[str]:
    return [duration(each["isolated_ms"]), f"{each['isolations']:,}"]


def _groups(night: Digest) -> str:
    if not night.groups:
        return ""
    rows = [
        [
            safe(each.consumer_group),
            duration(each.fault_ms),
            *(f"{count:,}" for count in (each.rebalances, each.moved, each.needed, each.findings)),
        ]
        for each in night.groups[:_FEW]
    ]
    header = ["group", "without right owner (sum over queues)", "rebalances", "queues moved", "needed", "findings"]
    table = grid_with_owners(header, rows, [each.consumer_group for each in night.groups[:_FEW]], night.owners)
    return f"Consumer groups{_of_all(rows, night.group_count)}\n{table}"


def _of_all(rows: Sequence[object], count: int) -> str:
    return f" ({len(rows)} of {count:,})" if count > len(rows) else ""


def _group_findings(night: Digest) -> str:
    if not night.group_findings:
        return ""
    rows = [[f"{each.count:,}", each.kind, one_line(each.sentence)] for each in night.group_findings[:_FEWEST]]
    return "Findings about groups, the longest of each kind\n" + grid(["times", "kind", "in words"], rows)


def _notes(night: Digest) -> str:
    notes = [*night.not_given, *night.rests_on]
    if night.missing_producers:
        groups = [_with_owner(group, night.owners) for group in night.missing_producers[:5]]
        more = ", …" if night.missing_producers[5:] else ""
        notes.append(f"producer groups of the day before that sent nothing: {', '.join(groups)}{more}")
    if unread := night.queues.get("UNREAD"):
        notes.append(f"{counted(unread, 'queue')} got messages and had no reader (topic_queues.finding = UNREAD)")
    if idle := night.queues.get("IDLE"):
        notes.append(f"{counted(idle, 'queue')} read but never written (topic_queues.finding = IDLE)")
    return "What this rests on\n" + "\n".join(f"  {one_line(note)}" for note in notes) if notes else ""


def _with_owner(group: str, owners: Mapping[str, str]) -> str:
    return f"{safe(group)}, {safe(owners[group])}" if group in owners else safe(group)
