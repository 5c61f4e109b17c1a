"""After all faults or all tests: how many faults of docs/faults.md were survived, and which were not looked at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

FAULTS = Path(__file__).parents[2] / "docs/faults.md"
NOT_HERE = "not tested here: "


def faults() -> dict[int, str]:
    """Number of each fault in docs/faults.md, and the last cell of its row."""
    rows = re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", FAULTS.read_text(encoding="utf-8"), re.MULTILINE)
    return {int(number): proof for number, proof in rows}


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """A report carries the numbers of its test, out of another process too."""
    for item in items:
        numbers = {number for mark in item.iter_markers("fault") for number in mark.args}
        item.user_properties.extend(("fault", number) for number in sorted(numbers))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line for all, one for each that failed or was not tested."""
    is_all = not config.option.markexpr and config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if config.option.markexpr != "fault" and not is_all:
        return
    ended: dict[int, set[str]] = {number: set() for number in faults()}
    for how in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.getreports(how):
            for name, value in report.user_properties:
                if name == "fault" and isinstance(value, int):
                    ended.setdefault(value, set()).add(how)
    survived = [number for number, ways in ended.items() if ways == {"passed"}]
    untested = [number for number, ways in ended.items() if not ways & {"passed", "failed", "error"}]
    terminalreporter.section("faults")
    for number, ways in ended.items():
        if number not in survived:
            what = faults().get(number, "") if number in untested else ", ".join(sorted(ways))
            terminalreporter.line(f"fault {number}: {what}")
    not_here = f", {len(untested)} not tested here ({', '.join(map(str, untested))})" if untested else ""
    terminalreporter.line(f"faults: {len(survived)} of {len(ended)} scenarios passed{not_here}")
