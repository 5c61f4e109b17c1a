"""`maintain`: what each option does, and what is printed of tables and commits, line by line."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import main as cli
from jobs.upkeep.maintain import TableCommit, TableFiles, Upkeep
from jobs.upkeep.maintain_text import history_text, upkeep_text

SENDS = TableFiles("sends", 1_234, 5_600_000, 30, 22, 1_009, 4_500_000, 61, "2026-03-01 00:10:00")
FINDINGS = TableFiles("findings", 3, 40_000, 3, 1, 0, 0, 4, "2026-03-02 00:10:00")
FOUND = Upkeep("/the/la\x1bke", applied=False, versions_days=9, leftover_bytes=700_000, tables=[SENDS, FINDINGS])
COMMITS = [
    TableCommit("sends", 12, "2026-03-01 00:10:00", "WRITE", "run-1", 15_832),
    TableCommit("sends", 11, "2026-03-01 00:00:00", "OPTI\x1b", None, None),
    TableCommit("findings", 0, "2026-02-28 00:00:00", "CREATE TABLE", "r\x1b", 0),
]


def test_what_a_look_at_the_tables_says() -> None:
    assert upkeep_text(FOUND).split("\n") == [
        "Lake /the/la\\x1bke; files of versions older than 9 days may go",
        "  table     files  MB   days  to merge  to delete  MB   versions  oldest, UTC",
        "  sends     1,234  5.6  30    22        1,009      4.5  61        2026-03-01 00:10:00",
        "  findings  3      0.0  3     1         0          0.0  4         2026-03-02 00:10:00",
        "",
        (
            "23 small files to merge, 1009 files to delete, 0.7 MB of leftovers: 5.2 MB to free"
            " (nothing done; --apply does it)"
        ),
    ]


def test_what_was_applied_is_said_as_done() -> None:
    _, header, *_, last = upkeep_text(dataclasses.replace(FOUND, applied=True)).split("\n")
    assert header.split() == ["table", "files", "MB", "days", "merged", "deleted", "MB", "versions", "oldest,", "UTC"]
    assert last.endswith(": 5.2 MB to free (done)")


def test_what_the_history_says() -> None:
    assert history_text(COMMITS).split("\n") == [
        "  table     version  at, UTC              operation     run    rows",
        "  sends     12       2026-03-01 00:10:00  WRITE         run-1  15,832",
        "  sends     11       2026-03-01 00:00:00  OPTI\\x1b",
        "  findings  0        2026-02-28 00:00:00  CREATE TABLE  r\\x1b  0",
    ]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Any, ...]]:
    """What was asked of the lake, without one: whether to apply, or which history and how much of it."""
    calls: list[tuple[Any, ...]] = []

    @contextlib.contextmanager
    def running(*_: Any, **__: Any) -> Iterator[None]:
        yield None

    def maintain(*_: Any, apply: bool) -> Upkeep:
        calls.append(("maintain", apply))
        return FOUND

    def history(_: Any, __: Any, name: str | None, last: int) -> list[TableCommit]:
        calls.append(("history", name, last))
        return COMMITS

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("jobs.spark.environment.check_environment", lambda: None)
    monkeypatch.setattr("jobs.spark.session.running", running)
    monkeypatch.setattr("jobs.upkeep.maintain.run_maintain", maintain)
    monkeypatch.setattr("jobs.upkeep.maintain.table_history", history)
    return calls


@pytest.mark.parametrize(
    ("options", "call"),
    [
        ([], ("maintain", False)),
        (["--apply"], ("maintain", True)),
        (["--history"], ("history", None, 10)),
        (["--history", "sends"], ("history", "sends", 10)),
        (["--history", "sends", "--last", "3"], ("history", "sends", 3)),
        (["--last", "1", "--history"], ("history", None, 1)),
    ],
)
def test_each_option_of_maintain(
    asked: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str], options: list[str], call: tuple[Any, ...]
) -> None:
    plain: dict[str, Any] = dataclasses.asdict(FOUND)
    commits = [dataclasses.asdict(each) for each in COMMITS]
    for as_json in ([], ["--json"]):
        assert cli.main(["maintain", "--lake", "lake", *options, *as_json]) == 0
        said = capsys.readouterr().out
        if as_json:
            assert json.loads(said) == (plain if call[0] == "maintain" else commits)
        else:
            assert said == f"{upkeep_text(FOUND) if call[0] == 'maintain' else history_text(COMMITS)}\n"
    assert asked == [call, call]
