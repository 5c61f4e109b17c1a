"""The summary of a run as a screen of text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from jobs.fault_latency.summary import Summary
from jobs.text.terminal import counted, days_text, duration, grid, grid_with_owners, left_out, one_line, safe
from jobs.uri import local_folder

_ROWS = 8


def as_text(summary: Summary) -> str:
    """The night on one screen; control characters in names are shown escaped."""
    parts = [
        days_text(summary.days, summary.quarantine_reasons),
        _recomputed_text(summary),
        _brokers_text(summary),
        _incidents_text(summary),
        _findings_text(summary),
        _producers_text(summary),
        _notes_text(summary),
        _tables_text(summary),
    ]
    return "\n\n".join(part for part in parts if part)


def _recomputed_text(summary: Summary) -> str:
    if not summary.recomputed_days:
        return ""
    return (
        f"{_days(summary.recomputed_days)}: recomputed from the lake's own sends; what only the input says stays as it"
        " was (sends, fault_item_updates, topic_brokers, order_key_moves, quarantine, and all of allocation)"
    )


def _brokers_text(summary: Summary) -> str:
    if not summary.brokers:
        return ""
    rows = [
        [
            safe(broker.broker_name),
            f"{broker.sends:,}",
            f"{broker.failures:,}",
            duration(broker.isolated_ms),
            str(broker.isolating_producers),
        ]
        for broker in summary.brokers[:_ROWS]
    ]
    return "Brokers\n" + grid(["broker", "sends", "failures", "isolated (sum over producers)", "by producers"], rows)


def _incidents_text(summary: Summary) -> str:
    minor = counted(summary.minor_incident_count, "minor one") if summary.minor_incident_count else ""
    if not summary.incident_count:
        return f"Incidents\n  none{f' but {minor}: {summary.minor_incident}' if minor else ''}"
    grave = [each for each in summary.incidents if not each.is_minor]
    rows = [
        [
            safe(each.broker_name),
            each.start_at[11:],
            each.end_at[11:],
            duration(int(each.seconds * 1000)),
            f"{each.peak_producers} of {each.producers} producers",
            f"{each.lost:,} of {each.sends:,}",
        ]
        for each in sorted(grave[:_ROWS], key=lambda each: each.start_at)
    ]
    more = f" (the {len(rows)} longest of {summary.incident_count})" if summary.incident_count > len(rows) else ""
    table = grid(["broker", "from", "until", "lasted", "at the peak", "sends lost"], rows)
    left = f"\n  and {minor}: {summary.minor_incident}" if minor else ""
    return f"Incidents: many producers isolate one broker at the same time, UTC{more}\n{table}{left}"


def _findings_text(summary: Summary) -> str:
    if not summary.findings:
        return "Findings\n  none"
    rows = [[each.kind, f"{each.critical:,}", f"{each.warning:,}", f"{each.info:,}"] for each in summary.findings]
    worst = [f"  {one_line(sentence)}" for sentence in summary.worst_findings]
    counts = grid(["kind", "critical", "warning", "info"], rows)
    return "\n".join(["Findings: docs/findings says how each kind is found, and what to do", counts, *worst])


def _producers_text(summary: Summary) -> str:
    if not summary.producers:
        return f"Producers\n  none of {summary.producer_count} isolated a broker"
    count = f"{summary.producer_count} in all, {summary.isolations} isolations"
    if summary.isolating_groups < summary.isolating_producers > _ROWS:
        return f"{_producer_groups_text(summary)}\n\n{_longest_text(summary, f'{count}; of any group')}"
    return _longest_text(summary, count)


def _producer_groups_text(summary: Summary) -> str:
    """Of a night of many client ids the groups come first."""
    rows = [
        [safe(each.producer_group) or "?", f"{each.clients:,}", duration(each.isolated_ms), f"{each.isolations:,}"]
        for each in summary.producer_groups
    ]
    header = ["group", "producers", "isolated (sum over brokers)", "isolations"]
    table = grid_with_owners(header, rows, [each.producer_group for each in summary.producer_groups], summary.owners)
    many = f"{summary.isolating_producers:,} producers of {summary.isolating_groups:,} groups"
    hint = "  one group's: faultline show isolations --group GROUP"
    return f"Producer groups that isolated longest ({many})\n{table}\n{hint}"


def _longest_text(summary: Summary, count: str) -> str:
    rows = [
        [safe(each.client_id), each.client_version or "?", duration(each.isolated_ms), str(each.isolations)]
        for each in summary.producers
    ]
    header = ["client id", "client", "isolated (sum over brokers)", "isolations"]
    table = grid_with_owners(header, rows, [each.producer_group for each in summary.producers], summary.owners)
    return f"Producers that isolated longest ({count})\n{table}"


def _notes_text(summary: Summary) -> str:
    notes = [*summary.rests_on, *_notes_on_producers(summary), *_notes_on_days(summary), *_notes_on_files(summary)]
    return "Notes\n" + "\n".join(f"  {note}" for note in notes) if notes else ""


def _notes_on_producers(summary: Summary) -> list[str]:
    notes = []
    if summary.would_have_isolated_ms:
        notes.append(
            f"producers with the switch off would have isolated for {duration(summary.would_have_isolated_ms)} "
            "(enforced = false)"
        )
    if summary.switch_assumed_off:
        notes.append(
            f"{summary.switch_assumed_off} producers do not log sendLatencyFaultEnable: assumed off;"
            " set fault_latency_enabled"
        )
    for why, count in summary.not_replayed.items():
        notes.append(f"{count} producers not replayed: {why}")
    if summary.contradictions:
        notes.append(_contradictions_text(summary))
    if summary.missing_producers:
        notes.append(
            "producer groups of the day before that sent nothing:"
            f" {', '.join(_group_text(group, summary) for group in summary.missing_producers[:5])}"
        )
    return notes


def _contradictions_text(summary: Summary) -> str:
    """How many, and of whom; the rest of those that are not listed."""
    who = [
        f"{each.contradictions:,} of {safe(each.client_id)}"
        + (f" ({_group_text(each.producer_group, summary)})" if each.producer_group else "")
        for each in summary.contradicting
    ]
    rest = summary.contradictions - sum(each.contradictions for each in summary.contradicting)
    if rest and who:
        who.append(f"{rest:,} of others")
    return (
        f"{summary.contradictions:,} first attempts contradict the replay (producer_days.contradictions)"
        f"{': ' if who else ''}{', '.join(who)}"
    )


def _group_text(group: str, summary: Summary) -> str:
    """A producer group, and who owns it where that is known."""
    return f"{safe(group)}, {safe(summary.owners[group])}" if group in summary.owners else safe(group)


def _notes_on_days(summary: Summary) -> list[str]:
    notes = []
    if any(day["started_from"] == "EMPTY" for day in summary.days):
        notes.append(
            "the day before is not in the lake: the day starts with no isolation"
            " (after_unknown_start marks rows that could differ)"
        )
    if summary.cascaded_days:
        notes.append(f"recomputed because the day before changed: {', '.join(summary.cascaded_days)}")
    if summary.stale_days:
        notes.append(
            f"should be recomputed, as the day before changed: from {summary.stale_days[0]} on;"
            " run without --no-cascade"
        )
    if summary.forgotten_days:
        notes.append(
            f"not recomputed, as their sends are no longer in the lake (retention.sends_days):"
            f" {_days(summary.forgotten_days)}"
        )
    if summary.read_otherwise:
        notes.append(
            f"the lines of {_days(summary.read_otherwise)} were read with other settings of the input than these, and"
            " stay so: publish the days from the input"
        )
    if others := summary.other_settings:
        notes.append(
            f"{_days(others)} were made with other settings, or by another release, and stay so: `faultline"
            f" fault-latency --recompute --from {others[0]} --to {others[-1]}` recomputes them from the lake's sends"
        )
    return notes


def _days(days: Sequence[str]) -> str:
    """Days in short.

    >>> _days(["2026-11-01"]), _days(["2026-11-01", "2026-11-02", "2026-11-09"])
    ('2026-11-01', '3 days of 2026-11-01 to 2026-11-09')
    """
    return days[0] if len(days) == 1 else f"{len(days)} days of {days[0]} to {days[-1]}"


def _notes_on_files(summary: Summary) -> list[str]:
    notes = [
        f"{count:,} lines of {day}: publish them with --date {day}"
        for day, count in list(summary.other_days.items())[:5]
    ]
    if summary.bad_routes:
        notes.append(f"{summary.bad_routes:,} lines of topic routes cannot be used (see quarantine, source routes)")
    notes.extend(left_out(summary.hidden_files, summary.repeated_files))
    return notes


def _tables_text(summary: Summary) -> str:
    lake = f"{local_folder(summary.lake) or summary.lake}"
    return (
        f"Tables are in {one_line(lake)} (Delta). Ask them with what reads Delta, such as deltalake and duckdb:\n"
        "  import duckdb, deltalake\n"
        f"  isolations = deltalake.DeltaTable({json.dumps(lake + '/isolation_intervals')}).to_pyarrow_table()\n"
        '  duckdb.sql("FROM isolations SELECT broker_name, client_id, start_at, end_at, cause, ended_by'
        ' WHERE enforced ORDER BY start_ms LIMIT 20").show()'
    )
