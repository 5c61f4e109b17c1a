"""`register`: the lake and the name that it is asked for, and what it says."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import main as cli
from jobs.serving.register import Registered, registered_text


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, str]]:
    """Lake and database of each call; the catalog is nobody's."""
    calls: list[tuple[str, str]] = []

    @contextlib.contextmanager
    def running(*_: Any, **__: Any) -> Iterator[None]:
        yield None

    def register(_: Any, lake: Any, database: str) -> Any:
        calls.append((lake.root, database))
        return "what was registered"

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("jobs.spark.environment.check_environment", lambda: None)
    monkeypatch.setattr("jobs.spark.session.running", running)
    monkeypatch.setattr("jobs.serving.register.register", register)
    monkeypatch.setattr("jobs.serving.register.registered_text", lambda done: f"said: {done}")
    return calls


def test_each_option_of_register(
    asked: list[tuple[str, str]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["register", "--lake", "lake"]) == 0
    assert cli.main(["register", "--lake", "/other", "--database", "night"]) == 0
    assert asked == [(f"{tmp_path}/lake", "faultline"), ("/other", "night")]
    assert capsys.readouterr().out == "said: what was registered\n" * 2


def test_an_invalid_database_name_is_refused_before_anything_starts(asked: list[tuple[str, str]]) -> None:
    assert cli.main(["register", "--lake", "lake", "--database", "x; DROP"]) == 2
    assert asked == []


def test_what_was_registered_is_said_and_why_the_rest_was_not() -> None:
    done = Registered("night", True, ("sends", "findings"), (), {"v": "rests on t", "t": "not yet"})
    said = [
        "Registered in database night",
        "  tables   sends, findings",
        "  views    none",
        "  lacking  v: rests on t",
        "  lacking  t: not yet",
    ]
    assert registered_text(done).split("\n") == said
    *same, last = registered_text(dataclasses.replace(done, is_kept=False)).split("\n")
    assert same == said
    assert last.startswith("  This session's catalog lives in memory and is gone now; to keep it, name a metastore:")
