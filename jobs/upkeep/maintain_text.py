"""Text of `faultline maintain`."""

from __future__ import annotations

from jobs.text.terminal import grid, one_line
from jobs.upkeep.maintain import Upkeep


def upkeep_text(found: Upkeep) -> str:
    """The tables, and what was done or would be."""
    merge, delete = ("merged", "deleted") if found.applied else ("to merge", "to delete")
    header = ["table", "files", "MB", "days", merge, delete, "MB"]
    merged = sum(state.files_to_merge for state in found.tables)
    deleted = sum(state.files_to_delete for state in found.tables)
    freed = sum(state.bytes_to_delete for state in found.tables) + found.leftover_bytes
    work = f"{merged} small files to merge, {deleted} files to delete, {_mb(found.leftover_bytes)} MB of leftovers"
    done = "done" if found.applied else "nothing done; --apply does it"
    rows = [
        [
            state.table,
            f"{state.files:,}",
            _mb(state.size_bytes),
            f"{state.days:,}",
            f"{state.files_to_merge:,}",
            f"{state.files_to_delete:,}",
            _mb(state.bytes_to_delete),
        ]
        for state in found.tables
    ]
    return "\n".join(
        [
            f"Lake {one_line(found.lake)}; files of versions older than {found.versions_days} days may go",
            grid(header, rows),
            "",
            f"{work}: {_mb(freed)} MB to free ({done})",
        ]
    )


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f}"
