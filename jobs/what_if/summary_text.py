"""The summary of a what-if run as a screen of text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from jobs.text.terminal import duration, grid, one_line, safe
from jobs.what_if.summary import PolicyLine, WhatIfSummary

_LINES = 20


def what_if_text(summary: WhatIfSummary) -> str:
    """A line per policy, one for policies with equal results; control characters in names are escaped."""
    span = summary.days[0] if len(summary.days) == 1 else f"{summary.days[0]} to {summary.days[-1]}"
    clusters = ", ".join(map(safe, summary.clusters))
    head = (
        f"{span}  cluster {clusters}: {summary.sends:,} sends whose queue the client chose,"
        f" {summary.bad_sends:,} of them bad (failed, or {summary.slow_ms} ms and longer)"
    )
    return "\n\n".join([head, _in_use_text(summary), _policies_text(summary), _notes_text(summary)])


def _in_use_text(summary: WhatIfSummary) -> str:
    rows = [
        [safe(used.client_version or "?"), safe(used.policy), f"{used.producers:,}", _few([*map(safe, used.groups)])]
        for used in summary.in_use
    ]
    return "In use on these days, as far as replayed\n" + grid(["client", "policy", "producers", "groups"], rows)


def _policies_text(summary: WhatIfSummary) -> str:
    alike = [list(lines) for _, lines in groupby(summary.policies, key=_figures)]
    shown = [lines for place, lines in enumerate(alike) if place < _LINES or lines[0].is_best]
    header = ["", "policy", "a failure isolates", "bad avoided", "good steered away", "isolations"]
    rows = [
        [
            "*" if lines[0].is_best else "",
            _few([line.label for line in lines]),
            ", ".join(dict.fromkeys("–" if line.failure_ms is None else duration(line.failure_ms) for line in lines)),
            f"{lines[0].hits:,}{_share(lines[0].hits, summary.bad_sends)}",
            f"{lines[0].false_alarms:,}",
            f"{lines[0].isolations:,}",
            duration(lines[0].isolated_ms),
        ]
        for lines in shown
    ]
    more = f", {len(shown)} of {len(alike)}" if len(shown) < len(alike) else ""
    return f"Policies, by bad sends that would have gone to another broker{more}\n" + grid(
        [*header, "isolated (sum over producers)"], rows
    )


def _figures(line: PolicyLine) -> tuple[int, ...]:
    return (line.hits, line.false_alarms, line.isolations, line.isolated_ms)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if names[4:] else "")


def _share(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.0f} %)" if whole else ""


def _notes_text(summary: WhatIfSummary) -> str:
    notes = [
        "* no other of these policies avoids as many bad sends with as few good ones steered away",
        f"{summary.unavoidable:,} bad sends would have been avoided by none of them",
        summary.limits,
    ]
    if summary.switch_on_share:
        notes.append(
            f"{100 * summary.switch_on_share:.0f} % of all attempts come from producers whose switch was on: what they"
            " kept away from a broker is not in their log"
        )
    if any(line.since for line in summary.policies):
        notes.append("P1 to P5: the rules of the released clients from that version to the next one's")
    if any(line.policy == "AS_RUN" for line in summary.policies):
        notes.append("AS_RUN: each producer under its own version and ladder, with the switch on")
    if summary.starts_empty:
        notes.append("the day before is not in the lake: the first day starts with no isolation")
    notes.extend(f"{count} producers not replayed: {why}" for why, count in summary.not_replayed.items())
    notes.append(f"per broker and day: {one_line(summary.lake)}/policy_outcomes")
    return "Notes\n" + "\n".join(f"  {note}" for note in notes)
