"""`maintain`: what each option does, and what is printed of tables, line by line."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import main as cli
from jobs.upkeep.maintain import TableFiles, Upkeep
from jobs.upkeep.maintain_text import upkeep_text

SENDS = TableFiles("sends", 1_234, 5_600_000, 30, 22, 1_009, 4_500_000)
FINDINGS = TableFiles("findings", 3, 40_000, 3, 1, 0, 0)
FOUND = Upkeep("/the/la\x1bke", applied=False, versions_days=9, leftover_bytes=700_000, tables=[SENDS, FINDINGS])


def test_what_a_look_at_the_tables_says() -> None:
    assert upkeep_text(FOUND).split("\n") == [
        "Lake /the/la\\x1bke; files of versions older than 9 days may go",
        "  table     files  MB   days  to merge  to delete  MB",
        "  sends     1,234  5.6  30    22        1,009      4.5",
        "  findings  3      0.0  3     1         0          0.0",
        "",
        (
            "23 small files to merge, 1009 files to delete, 0.7 MB of leftovers: 5.2 MB to free"
            " (nothing done; --apply does it)"
        ),
    ]


def test_what_was_applied_is_said_as_done() -> None:
    _, header, *_, last = upkeep_text(dataclasses.replace(FOUND, applied=True)).split("\n")
    assert header.split() == ["table", "files", "MB", "days", "merged", "deleted", "MB"]
    assert last.endswith(": 5.2 MB to free (done)")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Any, ...]]:
    """What was asked of the lake, without one: whether to apply."""
    calls: list[tuple[Any, ...]] = []

    @contextlib.contextmanager
    def running(*_: Any, **__: Any) -> Iterator[None]:
        yield None

    def maintain(*_: Any, apply: bool) -> Upkeep:
        calls.append(("maintain", apply))
        return FOUND

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("jobs.spark.environment.check_environment", lambda: None)
    monkeypatch.setattr("jobs.spark.session.running", running)
    monkeypatch.setattr("jobs.upkeep.maintain.run_maintain", maintain)
    return calls


@pytest.mark.parametrize(
    ("options", "call"),
    [
        ([], ("maintain", False)),
        (["--apply"], ("maintain", True)),
    ],
)
def test_each_option_of_maintain(
    asked: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str], options: list[str], call: tuple[Any, ...]
) -> None:
    plain: dict[str, Any] = dataclasses.asdict(FOUND)
    for as_json in ([], ["--json"]):
        assert cli.main(["maintain", "--lake", "lake", *options, *as_json]) == 0
        said = capsys.readouterr().out
        if as_json:
            assert json.loads(said) == plain
        else:
            assert said == f"{upkeep_text(FOUND)}\n"
    assert asked == [call, call]
