"""With FAULTLINE_UNTOUCHED=1, as in CI: a run that leaves anything in the checkout, or changes it, fails.

Asked for, as nobody may edit the checkout meanwhile. Git says what has changed; what Git ignores counts too, but for
the virtual environment, the jars beside it and the caches of Python and of the checks.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CACHES = {".venv", ".faultline", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}

_before: pytest.StashKey[set[str]] = pytest.StashKey()
_left: pytest.StashKey[set[str]] = pytest.StashKey()


def pytest_sessionstart(session: pytest.Session) -> None:
    if os.environ.get("FAULTLINE_UNTOUCHED") == "1" and not hasattr(session.config, "workerinput"):
        session.config.stash[_before] = changes(ROOT)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if (before := session.config.stash.get(_before, None)) is not None:
        session.config.stash[_left] = changes(ROOT) - before
        if session.config.stash[_left] and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left := config.stash.get(_left, set()):
        terminalreporter.section("the tests changed the checkout")
        for line in sorted(left):
            terminalreporter.line(line)


def changes(checkout: Path) -> set[str]:
    """Git's two letters and the path of each file that is not as committed."""
    asked = ["git", "status", "--porcelain", "--ignored", "--untracked-files=all", "-z"]
    said = subprocess.run(asked, cwd=checkout, capture_output=True, text=True, check=True).stdout
    return {line for line in said.split("\0") if line and not CACHES & set(Path(line[3:]).parts)}
