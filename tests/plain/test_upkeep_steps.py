"""What `maintain` counts, and what it does with --apply: over a lake of literals."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from jobs.errors import InputMissingError
from jobs.runs.run import Run
from jobs.settings.load import load_settings
from jobs.tables import FINDINGS, RUN_LOG, SENDS, Table
from jobs.text.progress import Progress
from jobs.upkeep import maintain
from jobs.upkeep.maintain import SMALL_BYTES, TableFiles, Upkeep, run_maintain, small_files

D1, D2, D3 = (dt.date(2026, 3, day) for day in (1, 2, 3))
NOON = dt.datetime(2026, 3, 9, 13, tzinfo=dt.timezone(dt.timedelta(hours=1)))


class Lake:
    """Three tables: of the first, files to merge and to delete; of the second, some to delete; of the third, nothing.

    Attributes:
        done: each change that was asked for, in order, and the metadata of a compaction's commit.
        is_held: whether the changes are made while the lake is held.
        breaks_lock: whether it was to be held whoever else holds it; None = it was not held.
    """

    held = (SENDS, FINDINGS, RUN_LOG)
    staging = "/lake/_staging"
    taken_from: str | None = None
    breaks_lock: bool | None = None

    def __init__(self, _: object, root: str) -> None:
        self.root, self.is_held = root, False
        self.done: list[tuple[Any, ...]] = []

    def holds(self, table: Table) -> bool:
        return table in self.held

    def files(self, table: Table) -> list[tuple[dt.date, int]]:
        small_days = [(D2, 5), (D1, 7), (D2, 11), (D1, 1), (D1, SMALL_BYTES - 1), (D3, 100), (D3, SMALL_BYTES)]
        return small_days if table == SENDS else [(D1, 3)]

    def vacuum(self, table: Table, days: int, *, dry_run: bool) -> list[str]:
        if not dry_run:
            self.done.append(("vacuum", table.name, days, self.is_held))
        unneeded = {"sends": ["/lake/sends/10", "/lake/sends/200"], "findings": ["/lake/findings/4000"]}
        return unneeded.get(table.name, [])

    def size(self, path: str) -> int:
        return 777 if path == self.staging else int(path.rpartition("/")[2])

    def compact(self, table: Table, day: dt.date, small: int, metadata: Mapping[str, str]) -> None:
        self.done.append(("compact", table.name, day, small, metadata.get("lock"), metadata["run_id"], self.is_held))

    @contextlib.contextmanager
    def locked(self, *_: object, break_lock: bool, **_how: object) -> Iterator[str | None]:
        self.is_held, self.breaks_lock = True, break_lock
        yield self.taken_from
        self.is_held = False

    def clear_staging(self, run_id: str) -> None:
        self.done.append(("clear", run_id, self.is_held))


@pytest.fixture
def lakes(monkeypatch: pytest.MonkeyPatch) -> list[Lake]:
    """The lakes that were opened."""
    opened: list[Lake] = []

    def open_lake(spark: object, root: str) -> Lake:
        opened.append(Lake(spark, root))
        return opened[-1]

    monkeypatch.setattr(maintain, "MaintainedLake", open_lake)
    return opened


def maintained(*, apply: bool, root: str = "/lake", break_lock: bool = False) -> tuple[Upkeep, str]:
    """What was found, and what was said on the way."""
    run = Run("u", "maintain", (), allow_empty=False, cascade=True, clock=lambda: NOON, break_lock=break_lock)
    settings, said = load_settings([], ["retention.versions_days=9"], {"lake": root}), io.StringIO()
    nothing: Any = None
    return run_maintain(nothing, settings, run, Progress(said), apply=apply), said.getvalue()


def test_what_is_found_of_each_table(lakes: list[Lake]) -> None:
    """Of the first day three small files, of the second two; of the third one, beside a large one."""
    found, _ = maintained(apply=False)
    assert (found.lake, found.applied, found.versions_days, found.leftover_bytes) == ("/lake", False, 9, 777)
    size = 5 + 7 + 11 + 1 + 100 + 2 * SMALL_BYTES - 1
    assert found.tables == [
        TableFiles("sends", 7, size, 3, 5, 2, 210),
        TableFiles("findings", 1, 3, 1, 0, 1, 4_000),
        TableFiles("run_log", 1, 3, 1, 0, 0, 0),
    ]
    (lake,) = lakes
    assert lake.done == []


def test_what_is_applied_is_what_was_found_while_the_lake_is_held(lakes: list[Lake]) -> None:
    found, said = maintained(apply=True)
    assert found.applied
    (lake,) = lakes
    assert lake.done == [
        ("compact", "sends", D1, 128 * 1024 * 1024, None, "u", True),
        ("compact", "sends", D2, 128 * 1024 * 1024, None, "u", True),
        ("vacuum", "sends", 9, True),
        ("vacuum", "findings", 9, True),
        ("clear", "u", True),
    ]
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        "looking at the tables", "maintaining sends", "maintaining findings",
    ]  # fmt: skip


def test_whose_lock_was_taken_is_said_and_stands_in_the_commits(
    lakes: list[Lake], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lake, "taken_from", "taken from run r1")
    _, said = maintained(apply=True)
    assert said.startswith("taken from run r1\n")
    assert [each[4] for each in lakes[0].done if each[0] == "compact"] == ["taken from run r1"] * 2


def test_a_lock_is_broken_when_that_is_asked_for_and_what_is_only_looked_at_is_not_held(lakes: list[Lake]) -> None:
    for apply, break_lock in ((False, True), (True, False), (True, True)):
        maintained(apply=apply, break_lock=break_lock)
    assert [lake.breaks_lock for lake in lakes] == [None, False, True]


def test_a_lake_without_tables_is_named(lakes: list[Lake], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lake, "held", ())
    for apply in (False, True):
        with pytest.raises(InputMissingError, match=r"^lake /lake holds no table; run faultline nightly first"):
            maintained(apply=apply)
    assert [lake.done for lake in lakes] == [[], []]


def test_small_files_are_those_below_the_limit_where_a_day_has_several() -> None:
    files = [(D2, SMALL_BYTES - 1), (D1, 1), (D1, SMALL_BYTES), (D2, 0), (D3, SMALL_BYTES), (D3, SMALL_BYTES)]
    assert list(small_files(files).items()) == [(D2, 2)]
    assert list(small_files([(D2, 1), (D1, 1), (D2, 1), (D1, 1)])) == [D1, D2]
