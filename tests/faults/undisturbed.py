"""What a run does to which nothing happens: its steps, its commits, and the tables before, after and on the way."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.faults.steps import watched
from tests.given.corrected_day import content
from tests.given.site import D1, Site
from tests.given.snapshot_site import SnapshotSite


@dataclass(frozen=True)
class UndisturbedRun:
    """A run of the first day, one step after the other.

    Attributes:
        steps: as they began.
        commits: the tables that got one or more, with their number.
        before: each table's rows.
        after: likewise.
        on_the_way: `before` or `after` and the step to a copy of the lake: what a machine leaves that dies then.
    """

    steps: list[str]
    commits: Mapping[str, int]
    before: dict[str, list[str]]
    after: dict[str, list[str]]
    on_the_way: Mapping[tuple[str, str], Path]

    def changed(self) -> set[str]:
        """Tables with other rows than before."""
        return {table for table, rows in self.after.items() if rows != self.before[table]}


def run_undisturbed(site: Site | SnapshotSite) -> UndisturbedRun:
    """Publish the first day of the site."""
    before, then, copies = content(site.lake), _commits(site.lake), dict[tuple[str, str], Path]()

    def copied(when: str) -> Callable[[str], None]:
        def copy(step: str) -> None:
            copies[when, step] = Path(shutil.copytree(site.lake, site.folder / "on-the-way" / f"{when} {step}"))

        return copy

    # Tables one at a time: a copy of a lake that is being written is none of any one moment.
    with mock.patch("jobs.lake.tables_io._AT_ONCE", 1), watched(copied("before"), copied("after")):
        site.run(D1)
    steps = [step for when, step in copies if when == "before"]
    return UndisturbedRun(steps, dict(_commits(site.lake) - then), before, content(site.lake), copies)


def _commits(lake: Path) -> Counter[str]:
    """Of each table, whichever it is, the commits in its log."""
    return Counter(file.parents[1].name for file in lake.glob("*/_delta_log/*[0-9].json"))
