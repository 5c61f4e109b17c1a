"""A real Superset with the bundle of dashboards/superset over a drawn lake."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page

from jobs.serving.duckdb_file import export_duckdb
from tests.given.drawn_nights import write_nights
from tests.given.processes import is_listening, wait_until
from tests.stores.servers import ROOT, Servers, free_port

_HERE = ROOT / "dashboards" / "superset"
_PASSWORD = "only-for-tests"


class Superset(Servers):
    """Superset as docs/dashboards.md starts it, but for its port and its home; the bundle is imported twice.

    Attributes:
        lake: of the file that its dashboards read.
        url: where it answers.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.lake, self.file, self.port = folder / "lake", folder / "lake.duckdb", free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        place = _installed() / "bin"
        self._program = (place / "python", place / "superset")  # its first line has the place where it was installed
        own = {"SUPERSET_HOME": f"{folder}", "SUPERSET_SECRET_KEY": "only-for-tests", "SCARF_ANALYTICS": "false"}
        self._environ = {**os.environ, "FLASK_APP": "superset", **own}

    def bring_up(self) -> None:
        write_nights(self.lake)
        export_duckdb(str(self.lake), self.file)
        names = ("--username", "admin", "--firstname", "A", "--lastname", "B", "--email", "a@example.org")
        self._run("db", "upgrade")
        self._run("fab", "create-admin", *names, "--password", _PASSWORD)
        self._run("init")
        for _ in range(2):
            self._run("import-directory", "-o", f"{_HERE / 'bundle'}")
        self.start("superset", [*self._program, "run", "-p", self.port], self._environ)
        wait_until(lambda: is_listening(self.port), "Superset")

    def sign_in(self, page: Page) -> None:
        page.goto(f"{self.url}/login/")
        page.locator("[data-test=username-input]").fill("admin")
        page.locator("[data-test=password-input]").fill(_PASSWORD)
        page.locator("[data-test=login-button]").click()
        page.wait_for_url("**/welcome/")

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            [*self._program, *arguments], cwd=self.folder, env=self._environ, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "Error" not in done.stderr, done.stderr  # import-directory exits with 0 all the same


def _installed() -> Path:
    """Its environment, made once for each lock."""
    lock = _HERE / "requirements.lock"
    place = ROOT / ".faultline" / "superset" / hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    if not (place / "complete").exists():
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "--clear", "--python", "3.11", place], check=True)
        subprocess.run([uv, "pip", "install", "--python", place, "--require-hashes", "-r", lock], check=True)
        (place / "complete").touch()
    return place
