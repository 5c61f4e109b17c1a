"""What stands in a lake, read without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import deltalake

from tests.fuzz.invariants import Lake
from tests.fuzz.recordings import DATE
from tests.given.corrected_day import content, versions

__all__ = ["content", "everything_in", "rows_of_run", "versions"]


def rows_of_run(lake: Path, run_id: str, clusters: Sequence[str]) -> Lake:
    """What a run published, and what it left behind in its staging."""
    staging = lake / "_staging"
    return Lake(
        sends=[row for row in _rows(lake / "sends") if row["cluster"] in clusters and row["event_date"] == DATE],
        quarantine=[row for row in _rows(lake / "quarantine") if row["run_id"] == run_id],
        run_log=[row for row in _rows(lake / "run_log") if row["run_id"] == run_id],
        leftovers=sorted(path.name for path in staging.iterdir()) if staging.is_dir() else [],
    )


def everything_in(lake: Path) -> str:
    """All values of all tables, as text."""
    return "\n".join(str(row) for table in sorted(lake.glob("[a-z]*")) for row in _rows(table))


def _rows(table: Path) -> list[dict[str, Any]]:
    if not (table / "_delta_log").is_dir():
        return []
    return deltalake.DeltaTable(str(table)).to_pyarrow_table().to_pylist()  # type: ignore[no-any-return]
