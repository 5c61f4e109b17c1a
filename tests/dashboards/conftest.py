"""A real Superset with the bundle over a drawn lake, and a Chromium that is signed in."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.given.real_superset import Superset
from tests.stores.servers import ROOT


@pytest.fixture(scope="session")
def superset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Superset]:
    with Superset(tmp_path_factory.mktemp("superset")) as started:
        yield started


@pytest.fixture(scope="session")
def page(superset: Superset) -> Iterator[Page]:
    """Signed in, and so high that no chart waits to be scrolled to."""
    chromium = subprocess.run([ROOT / "bin/browser"], capture_output=True, text=True, check=True).stdout.strip()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1500, "height": 3600})
        opened.set_default_timeout(120_000)
        superset.sign_in(opened)
        yield opened
        browser.close()


@pytest.fixture(scope="session")
def listed(superset: Superset, page: Page) -> Any:
    """What Superset's own interface lists: kind to entries."""
    kinds = ("database", "dataset", "chart", "dashboard")
    answers = {kind: page.request.get(f"{superset.url}/api/v1/{kind}/?q=(page_size:100)").json() for kind in kinds}
    return {kind: answer["result"] for kind, answer in answers.items()}
