"""Tests run in another order each time, long files first, each whole; and what a run leaves behind is seen."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.harness.order import DURATIONS, ROOT, in_order, page, pytest_make_parametrize_id, recorded
from tests.harness.untouched import changes

NUMBERS = [str(number) for number in range(20)]


def _ordered(names: Sequence[str], seconds: dict[str, int]) -> list[str]:
    """`names` as tests; one that ends in `!` is marked `last`."""
    items: list[Any] = [
        SimpleNamespace(nodeid=name, get_closest_marker=lambda mark, name=name: (name[-1] == "!" and mark) or None)
        for name in names
    ]
    return [item.nodeid for item in in_order(cast("list[pytest.Item]", items), seconds)]


def test_long_files_begin_and_all_else_stays_as_it_was_shuffled() -> None:
    shuffled = [
        "b::3!",
        "b::1",
        "jobs/a.py::x",
        "jobs/c.py::x",
        "jobs/a.py::b",
        "long::9",
        "long::1",
        "longer::1",
        "b::2",
    ]
    assert _ordered(shuffled, {"long": 20, "longer": 300, "gone": 900}) == [
        "longer::1", "long::9", "long::1", "b::1", "b::2", "b::3!", "jobs/a.py::x", "jobs/a.py::b", "jobs/c.py::x",
    ]  # fmt: skip


def test_files_of_a_folder_that_shares_stay_together() -> None:
    shuffled = ["b::1", "tests/faults/x.py::1", "long::1", "tests/faults/y.py::1", "tests/faults/x.py::2"]
    assert _ordered(shuffled, {"long": 20, "tests/faults/x.py": 15, "tests/faults/y.py": 15}) == [
        "tests/faults/x.py::1", "tests/faults/x.py::2", "tests/faults/y.py::1", "long::1", "b::1",
    ]  # fmt: skip


def test_what_files_took_is_recorded_longest_first() -> None:
    took = [("a::1", 4.0), ("a::1", 0.5), ("a::2[x::y]", 12.0), ("b::1", 2_000.0), ("now short::1", 3.0)]
    written = page({"now short": 90, "not run": 25}, took)
    assert list(tomllib.loads(written).items()) == [("b", 2000), ("not run", 25), ("a", 15)]
    assert written.startswith("# ")


def test_every_recorded_file_is_there() -> None:
    found = recorded(DURATIONS)
    assert [name for name in found if not (ROOT / name).is_file()] == []
    assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Tests that pass, committed; one of them writes the files that LEAVES names."""
    (tmp_path / "test_it.py").write_text("""
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(20))
def test_it(number):
    for name in os.environ.get("LEAVES", "").split() if number == 7 else []:
        pathlib.Path(name).write_text("left")
""")
    (tmp_path / ".gitignore").write_text("ignored\n.pytest_cache\n__pycache__\n")
    me = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], [*me, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def _run(checkout: Path, *options: str, **environ: str) -> tuple[int, str, list[str]]:
    """Exit code, output, and the tests in their order."""
    launch = (
        "import sys, pathlib, pytest, tests.harness.untouched as it; it.ROOT = pathlib.Path.cwd();"
        "sys.exit(pytest.main(sys.argv[1:], plugins=[it]))"
    )
    inherited = {name: value for name, value in os.environ.items() if name != "FAULTLINE_UNTOUCHED"}  # CI sets it
    done = subprocess.run(
        [sys.executable, "-c", launch, "-v", "-p", "no:xdist", *options],
        cwd=checkout, env={**inherited, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, re.findall(r"::test_it\[(\d+)\]", done.stdout)


def test_a_seed_is_printed_and_decides(checkout: Path) -> None:
    orders = []
    for seed in ("1", "2"):
        code, said, order = _run(checkout, f"--randomly-seed={seed}", LEAVES="new")  # nobody asked what it leaves
        assert (code, f"Using --randomly-seed={seed}\n" in said, sorted(order, key=int)) == (0, True, NUMBERS)
        orders.append(order)
    assert orders[0] != orders[1]


def test_a_run_that_changes_the_checkout_fails_where_that_is_asked(checkout: Path) -> None:
    (checkout / "was there").touch()
    assert _run(checkout, FAULTLINE_UNTOUCHED="1")[0] == 0
    assert changes(checkout) == {"?? was there"}  # caches do not count
    code, said, _ = _run(checkout, FAULTLINE_UNTOUCHED="1", LEAVES="new ignored test_it.py")
    _, title, lines = said.partition("= the tests changed the checkout =")
    assert (code, title != "", "20 passed" in said) == (1, True, True)
    assert lines.splitlines()[1:4] == [" M test_it.py", "!! ignored", "?? new"]


def test_bytes_are_not_part_of_a_test_s_name() -> None:
    assert pytest_make_parametrize_id(b"\x1f\x8b\x08\x00\x11", "content") == "content"
    assert pytest_make_parametrize_id("text", "content") is None
