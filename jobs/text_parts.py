"""Parts that every summary's text is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def days_text(days: Sequence[Mapping[str, Any]], quarantine_reasons: Mapping[str, int]) -> str:
    """Where the lines of each day went; other clusters are named where the input has their lines."""
    lines = []
    for day in days:
        elsewhere = f" + {day['rows_other_cluster']:,} of other clusters" if day["rows_other_cluster"] else ""
        bad = ", ".join(f"{reason} {count}" for reason, count in quarantine_reasons.items())
        lines.append(
            f"{day['date']}  cluster {safe(day['cluster'])}: {day['rows_read']:,} lines read ="
            f" {day['rows_published']:,} published + {day['rows_quarantined']:,} quarantined"
            f" + {day['rows_duplicate']:,} duplicates + {day['rows_other_day']:,} of other days{elsewhere}"
        )
        if bad and len(days) == 1:
            lines.append(f"            quarantined: {bad}")
    return "\n".join(lines)


def grid(header: list[str], rows: list[list[str]]) -> str:
    """A table in columns, indented."""
    widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [header, *rows]
    )


def safe(name: str) -> str:
    """The name with everything a terminal might act on escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in name)


def duration(ms: int) -> str:
    """A time as a person says it."""
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
