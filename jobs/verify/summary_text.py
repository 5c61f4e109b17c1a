"""The summary of a verify run as a screen of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.text.terminal import counted, duration, grid, one_line, safe
from jobs.verify.summary import VerifySummary

CAUSES: Mapping[str, str] = {
    "UNKNOWN_CLIENT": 'the log names no client: set client_id in [client_logs."FOLDER"], or give the log of its start',
    "NO_SENDS": "the client wrote, and its sends are not in the lake: is its send log collected?",
    "NOT_REPLAYED": "its sends cannot be replayed: see producer_days.not_replayed",
    "OTHER_SWITCH": 'it isolates, and its sends say that it does not: set fault_latency_enabled in [producers."GROUP"]',
    "OTHER_VERSION": 'its lines are of another version than its sends: set client_version in [producers."GROUP"]',
    "OTHER_LADDER": 'it isolates for other times than its ladder: set latency_max_ms, … in [producers."GROUP"]',
    "LOST_LINES": "lines are lost: numbers are missing, or the client's log dropped some in a burst",
    "WITHOUT_EFFECT": "writes within an isolation differ, as of unseen retries of async sends; isolations are the same",
    "REMOVED_ITEM": "the client removed the fault item, which no send shows",
    "DETECTOR": "the client's detector found the broker reachable again, which no send shows",
    "UNEXPLAINED": "none of these: what sends cannot show (docs/exactness.md), or a fault of the replay",
}
"""Cause to what it means, and what to do."""


def verify_text(summary: VerifySummary) -> str:
    """How well the two agree, the worst items, and what to do; control characters in names are escaped."""
    return "\n\n".join(part for part in (_head(summary), _worst(summary), _notes(summary)) if part)


def _head(summary: VerifySummary) -> str:
    share = f" ({_share(summary.matched, summary.written)})" if summary.written else ""
    return (
        f"{summary.span}  cluster {', '.join(map(safe, summary.clusters))}:"
        " what clients wrote against the replay from sends\n"
        f"  {summary.matched:,} of {counted(summary.written, 'write')} replayed alike{share};"
        f" {summary.other_length:,} of another length, {summary.missed:,} missed, {summary.extra:,} extra\n"
        f"  isolated {duration(summary.isolated_ms)} by clients, {duration(summary.replayed_ms)} by the replay;"
        f" {duration(summary.differing_ms)} by one of the two alone"
    )


def _share(part: int, whole: int) -> str:
    """Part of a whole; 100 % only for all of it.

    >>> _share(9_999_999, 10_000_000), _share(3, 3)
    ('99.99 %', '100 %')
    """
    return "100 %" if part == whole else f"{int(10_000 * part / whole) / 100:.2f} %"


def _worst(summary: VerifySummary) -> str:
    if not summary.worst:
        return ""
    all_of_them = sum(summary.causes.values())
    more = f", {len(summary.worst)} of {all_of_them:,}" if all_of_them > len(summary.worst) else ""
    header = ["day", "producer or log", "broker", "written", "alike", "other length", "missed", "extra", "differing",
              "cause"]  # fmt: skip
    return f"Where they differ, worst first{more}\n" + grid(header, [_row(item) for item in summary.worst])


def _row(item: Mapping[str, Any]) -> list[str]:
    return [
        item["event_date"],
        safe(item["writer"]) + (f" ({safe(item['producer_group'])})" if item["producer_group"] else ""),
        safe(item["broker_name"]),
        *(f"{item[name]:,}" for name in ("written", "matched", "other_length", "missed", "extra")),
        duration(item["differing_ms"]),
        item["cause"],
    ]


def _notes(summary: VerifySummary) -> str:
    notes = [f"{cause} ({count:,}): {CAUSES[cause]}" for cause, count in summary.causes.items()]
    alone = summary.switched_on - summary.recorded
    if alone > 0:
        notes.append(
            f"{alone:,} of {counted(summary.switched_on, 'producer')} with the switch on recorded nothing:"
            " only a log can say more of them"
        )
    if summary.bad_lines:
        notes.append(f"{counted(summary.bad_lines, 'line')} of client logs in quarantine, source fault_item_logs")
    notes += map(one_line, summary.notes)
    notes.append(f"per producer, or log, and broker: {one_line(summary.lake)}/replay_checks")
    return "Notes\n" + "\n".join(f"  {note}" for note in notes)
