"""What the summaries of runs that compare published days have in common."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunSummary:
    """The run, and the days that it looked at."""

    run_id: str
    lake: str
    days: list[str]
    clusters: list[str]

    @property
    def span(self) -> str:
        """The days in words."""
        return self.days[0] if len(self.days) == 1 else f"{self.days[0]} to {self.days[-1]}"
