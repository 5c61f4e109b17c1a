"""The summary of a run of the second flow as a screen of text."""

from __future__ import annotations

from jobs.allocation.group.sentence import WHAT, WHY
from jobs.allocation.summary import AllocationSummary
from jobs.text.terminal import days_text, duration, grid_with_owners, left_out, one_line, safe


def allocation_text(summary: AllocationSummary) -> str:
    """The groups on one screen, those with most to look at first."""
    parts = [
        days_text(summary.days, summary.quarantine_reasons),
        _groups_text(summary),
        _faults_text(summary),
        _notes_text(summary),
    ]
    return "\n\n".join(part for part in parts if part)


def _groups_text(summary: AllocationSummary) -> str:
    if not summary.groups:
        return "Consumer groups\n  none whose queues could be allocated"
    rows = [
        [
            safe(each.consumer_group),
            f"{each.strategy} ({each.strategy_source.lower()})",
            str(each.topics),
            str(each.rebalances),
            str(each.moved),
            str(each.fewest_moves),
        ]
        for each in summary.groups
    ]
    header = ["group", "strategy", "topics", "rebalances", "queues moved", "needed"]
    groups = [each.consumer_group for each in summary.groups]
    return f"Consumer groups ({summary.group_count} in all)\n{grid_with_owners(header, rows, groups, summary.owners)}"


def _faults_text(summary: AllocationSummary) -> str:
    if not summary.faults:
        return ""
    rows = [
        [
            safe(each.consumer_group),
            WHY.get(each.cause, each.cause),
            str(each.unassigned),
            str(each.doubly_owned),
            str(each.against_strategy),
            duration(each.longest_ms),
        ]
        for each in summary.faults
    ]
    header = ["group", "why", "no owner", "several", "another", "longest"]
    groups = [each.consumer_group for each in summary.faults]
    table = grid_with_owners(header, rows, groups, summary.owners)
    return f"Queues without an owner, with several, or with another than the strategy says\n{table}"


def _notes_text(summary: AllocationSummary) -> str:
    kinds = [f"{count} x {WHAT[kind]} ({kind})" for kind, count in sorted(summary.kinds.items()) if kind in WHAT]
    notes = [*summary.rests_on, *kinds]
    if summary.unread_queues:
        notes.append(f"{summary.unread_queues} queues got messages and had no reader (topic_queues.finding = UNREAD)")
    if summary.idle_queues:
        notes.append(f"{summary.idle_queues} queues were read but never written (topic_queues.finding = IDLE)")
    if summary.route_changes:
        notes.append(f"{summary.route_changes} changes of a broker's queues (route_changes)")
    if summary.stale_days:
        notes.append(f"should be run again, as the day before changed: {', '.join(summary.stale_days)}")
    if others := summary.other_settings:
        notes.append(
            f"made with other settings, or by another release: {', '.join(others[-5:])}"
            f"{f' and {len(others) - 5} before' if others[5:] else ''}; run them again with their input"
        )
    notes.extend(
        f"{count:,} lines of {day}: publish them with --date {day}"
        for day, count in list(summary.other_days.items())[:5]
    )
    notes.extend(left_out(summary.hidden_files, summary.repeated_files))
    each = f"{summary.finding_count:,} findings, each in words" if summary.finding_count else "no finding"
    notes.append(f"{each}: {one_line(summary.lake)}/allocation_findings")
    return "Notes\n" + "\n".join(f"  {note}" for note in notes)
