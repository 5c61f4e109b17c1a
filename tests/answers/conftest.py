"""The page of a hostile night, and a Chromium to open it in."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserType, sync_playwright

from jobs.cli import main as cli
from tests.given.hostile_night import write_night

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    write_night(folder / "lake")
    page = folder / "page.html"
    assert cli.main(["report", "--lake", str(folder / "lake"), "--cluster", "main", "--output", str(page)]) == 0
    return page


@pytest.fixture(scope="session")
def chromium() -> Iterator[tuple[BrowserType, str]]:
    """What starts a browser, and the executable."""
    found = subprocess.run([ROOT / "bin/browser"], capture_output=True, text=True, check=True).stdout.strip()
    with sync_playwright() as playwright:
        yield playwright.chromium, found


@pytest.fixture(scope="session")
def browser(chromium: tuple[BrowserType, str]) -> Iterator[Browser]:
    kind, executable = chromium
    started = kind.launch(executable_path=executable, args=["--no-sandbox"])
    yield started
    started.close()
