"""docs/first-night.md as a site follows it: a log in words of its own, and settings, give the sends of ours."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.given.commands import Said, command
from tests.given.foreign_logs import SHAPES, sample_attempts
from tests.given.site import published_rows

PAGE = Path(__file__).parents[2] / "docs" / "first-night.md"
CARRIED, WRITE_CSV = SHAPES["csv"]


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, Said]]]:
    """A folder with the log, and what each command of the page said there."""
    folder = tmp_path_factory.mktemp("first_night")
    WRITE_CSV(folder, sample_attempts(600)).joinpath("sends.txt").rename(folder / "orders.csv")
    (folder / "site.toml").write_text(_blocks("toml")[0], encoding="utf-8")
    said = []
    with contextlib.chdir(folder):
        for line in "".join(_blocks("sh")).splitlines():
            words, _, file = line.partition(" > ")
            said.append((words, command(spark, *shlex.split(words)[1:])))
            if file:
                (folder / file).write_text(said[-1][1].out, encoding="utf-8")
    return folder, said


def test_the_page_shows_the_log_that_it_speaks_of(site: tuple[Path, list[tuple[str, Said]]]) -> None:
    (shown,) = _blocks("csv")
    assert set(shown.splitlines()) <= set((site[0] / "orders.csv").read_text(encoding="utf-8").splitlines())


def test_each_command_of_the_page_does_what_it_says(site: tuple[Path, list[tuple[str, Said]]]) -> None:
    folder, commands = site
    assert [words.split()[1] for words, _ in commands] == [
        "check", "check", "check", "plan", "nightly", "report", "show", "show",
    ]  # fmt: skip
    assert [said.code for _, said in commands] == [2, 0, 0, 0, 0, 0, 0, 0]  # the first one says what is to be mapped
    first, _, mapped, _, night, *_, isolations = (said for _, said in commands)
    assert "WRONG" in first.out
    assert "WARNING" not in mapped.out
    assert "  days: 2026-11-21 (600)" in mapped.out
    assert "600 lines read = 600 published + 0 quarantined" in night.out
    assert "broker-b" in isolations.out
    assert "<title>Faultline 2026-11-21" in (folder / "night.html").read_text(encoding="utf-8")


def test_settings_alone_give_the_sends_of_a_log_of_ours(site: tuple[Path, list[tuple[str, Said]]]) -> None:
    """From which the isolations of ours follow."""
    lake = site[0] / "lake"
    found = published_rows(lake / "sends", CARRIED, {})
    ours = [{name: each[name] for name in CARRIED} for each in sample_attempts(600)]
    assert sorted(map(repr, found)) == sorted(map(repr, ours))
    assert len({row["cause"] for row in published_rows(lake / "isolation_intervals", ["cause"], {})}) > 1
