"""What a run does to which nothing happens: its steps, its commits, and the tables before and after it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.faults.steps import watched
from tests.given.corrected_day import content
from tests.given.site import D1, Site
from tests.given.snapshot_site import SnapshotSite


@dataclass(frozen=True)
class UndisturbedRun:
    """A run of the first day; `commits` has the tables that got one or more, with their number."""

    steps: list[str]
    commits: dict[str, int]
    before: dict[str, list[str]]
    after: dict[str, list[str]]

    def changed(self) -> set[str]:
        """Tables with other rows than before."""
        return {table for table, rows in self.after.items() if rows != self.before[table]}


def run_undisturbed(site: Site | SnapshotSite) -> UndisturbedRun:
    """Publish the first day of the site."""
    before, then, steps = content(site.lake), _commits(site.lake), list[str]()
    with watched(steps.append):
        site.run(D1)
    return UndisturbedRun(steps, dict(_commits(site.lake) - then), before, content(site.lake))


def _commits(lake: Path) -> Counter[str]:
    """Of each table, whichever it is, the commits in its log."""
    return Counter(file.parents[1].name for file in lake.glob("*/_delta_log/*[0-9].json"))
