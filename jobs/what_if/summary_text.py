"""The summary of a what-if run as a screen of text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from jobs.text.terminal import duration, grid, one_line, safe
from jobs.what_if.summary import WhatIfSummary

_LINES = 20
_FIGURES = ("hits", "false_alarms", "isolations", "isolated_ms")


def what_if_text(summary: WhatIfSummary) -> str:
    """A line per policy, one for policies with equal results; control characters in names are escaped."""
    clusters = ", ".join(map(safe, summary.clusters))
    head = (
        f"{summary.span}  cluster {clusters}: {summary.sends:,} sends whose queue the client chose,"
        f" {summary.bad_sends:,} of them bad (failed, or {summary.slow_ms} ms and longer)"
    )
    used = [
        [
            safe(row["client_version"] or "?"),
            safe(row["policy"]),
            f"{row['producers']:,}",
            _few([*map(safe, row["groups"])]),
        ]
        for row in summary.in_use
    ]
    in_use = f"In use on these days, as far as replayed\n{grid(['client', 'policy', 'producers', 'groups'], used)}"
    return "\n\n".join([head, in_use, _policies_text(summary), _notes_text(summary)])


def _policies_text(summary: WhatIfSummary) -> str:
    alike = [list(lines) for _, lines in groupby(summary.policies, key=attrgetter(*_FIGURES))]
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


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if names[4:] else "")


def _share(part: int, whole: int) -> str:
    return f" ({100 * part / whole:.0f} %)" if whole else ""


def _notes_text(summary: WhatIfSummary) -> str:
    notes = [
        "(from …): the first client version with these rules; the next profile's is the first one without them",
        "* no other of these policies avoids as many bad sends with as few good ones steered away",
        f"{summary.unavoidable:,} bad sends would have been avoided by none of them",
        summary.limits,
    ]
    if summary.switch_on_share:
        notes.append(
            f"{100 * summary.switch_on_share:.0f} % of all attempts come from producers whose switch was on: what they"
            " kept away from a broker is not in their log"
        )
    if any(line.policy == "AS_RUN" for line in summary.policies):
        notes.append("AS_RUN: each producer under its own version and ladder, with the switch on")
    if summary.starts_empty:
        notes.append("the day before is not in the lake: the first day starts with no isolation")
    notes.extend(f"{count} producers not replayed: {why}" for why, count in summary.not_replayed.items())
    notes.append(f"per broker and day: {one_line(summary.lake)}/policy_outcomes")
    return "Notes\n" + "\n".join(f"  {note}" for note in notes)
