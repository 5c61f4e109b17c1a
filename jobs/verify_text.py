"""What `faultline verify-lake` says."""

from __future__ import annotations

from jobs.text.terminal import grid, one_line, safe
from jobs.verify_lake import Compared, Verification

_LONGEST = 300


def verification_text(found: Verification) -> str:
    """The days, their tables side by side, what does not add up, and what may explain it."""
    header = ["day", "cluster", "table", "published", "derived anew", "missing", "extra"]
    parts = [
        f"Derived anew from the lake's own sends: {one_line(', '.join(found.days))}",
        grid(header, [_row(each) for each in found.tables]),
    ]
    notes = [
        *(f"{each.table} of {each.date}: {_example(each)}" for each in found.differing),
        *found.sums,
        *found.since,
        *(f"sends of {day} are no longer kept (retention.sends_days)" for day in found.forgotten),
    ]
    if notes:
        parts.append("\n".join(["", "Notes", *(f"  {one_line(note)}" for note in notes)]))
    return "\n".join(parts)


def breach(found: Verification) -> str | None:
    """Why the lake cannot be trusted, in a sentence; None when it can."""
    if not found.differing and not found.sums:
        return None
    if not found.differing:
        return f"lake {found.lake} does not add up: {found.sums[0]}; run the day again and report it"
    worst = found.differing[0]
    others = len(found.differing) - 1
    why = f" (it may be explained: {found.since[0]})" if found.since else ""
    return (
        f"{worst.table} of {worst.date} ({worst.cluster}) is not what the sends say: {worst.missing} rows missing and"
        f" {worst.extra} extra, such as {_example(worst)}{f'; {others} more tables differ' if others else ''}{why};"
        f" run faultline nightly --date {worst.date} again"
    )


def _example(each: Compared) -> str:
    text = each.example or ""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _row(each: Compared) -> list[str]:
    counts = (each.published, each.derived, each.missing, each.extra)
    return [each.date, safe(each.cluster), each.table, *(f"{count:,}" for count in counts)]
