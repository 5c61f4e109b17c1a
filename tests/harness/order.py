"""In which order tests run: another each time by a printed seed, but files that take long begin first.

pytest-randomly shuffles the files, and the tests within each; its seed stands in the header. The files that
`tests/durations.toml` records are then put in front, longest first, so that no worker ends a run with a long file that
the others wait for. A file stays whole, and so do the files of some folders: they share what they were given.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DURATIONS = ROOT / "tests/durations.toml"
LONG_S = 10
SHARING = ("tests/faults/", "tests/scenarios/", "tests/truth/")
"""Folders whose files share what is dear: lakes that their conftest publishes, or plans that are compiled, not
interpreted. One worker has them all."""
_HEAD = f"""\
# Seconds of the test files that take longer than {LONG_S} s, the longest first: in this order they begin.
# `make durations` writes it; what a run did not look at stays.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", action="store_true", help="write what files took into tests/durations.toml")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are no part of a test's name: gzip writes the second into them, and two workers must find one list."""
    return argname if isinstance(val, bytes) else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadfile`, but for folders that share."""
    from xdist.scheduler import LoadFileScheduling

    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = _shares
    return scheduler if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = in_order(items, recorded(DURATIONS))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("record_durations"):
        found = [report for reports in terminalreporter.stats.values() for report in reports]
        took = [(report.nodeid, report.duration) for report in found if isinstance(report, pytest.TestReport)]
        known = {name: seconds for name, seconds in recorded(DURATIONS).items() if (ROOT / name).is_file()}
        DURATIONS.write_text(page(known, took), encoding="utf-8")


def in_order(items: Sequence[pytest.Item], seconds: Mapping[str, int]) -> list[pytest.Item]:
    """Long files and folders that share first, then as they came; in a file too, but `last` ones at its end."""
    came: dict[str, int] = {}
    for place, item in enumerate(items):
        came.setdefault(_file(item.nodeid), place)
        came.setdefault(_shares(item.nodeid), place)
    together = Counter[str]()
    for name, each in seconds.items():
        together[_shares(name)] += each

    def key(item: pytest.Item) -> tuple[int, int, int, bool]:
        shared, name = _shares(item.nodeid), _file(item.nodeid)
        return -together[shared], came[shared], came[name], item.get_closest_marker("last") is not None

    return sorted(items, key=key)


def recorded(durations: Path) -> dict[str, int]:
    return tomllib.loads(durations.read_text(encoding="utf-8"))


def page(known: Mapping[str, int], took: Sequence[tuple[str, float]]) -> str:
    """The file again, to five seconds: `took` are ids and seconds of set-ups, calls and tear-downs."""
    sums: dict[str, float] = {}
    for nodeid, seconds in took:
        sums[_file(nodeid)] = sums.get(_file(nodeid), 0.0) + seconds
    every = {**known, **{name: 5 * round(seconds / 5) for name, seconds in sums.items()}}
    long = sorted(((name, seconds) for name, seconds in every.items() if seconds > LONG_S), key=lambda each: -each[1])
    return _HEAD + "".join(f'"{name}" = {seconds}\n' for name, seconds in long)


def _file(nodeid: str) -> str:
    return nodeid.split("::", 1)[0]


def _shares(nodeid: str) -> str:
    """The folder that shares, else the file."""
    return next((folder for folder in SHARING if nodeid.startswith(folder)), _file(nodeid))
