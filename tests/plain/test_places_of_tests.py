"""Tests keep their places: CONTRIBUTING says where one goes; what they are given is made in tests/given, once."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Besides tests: makers, and programs that tests or `make` start, each with what drives it.
HOLD_MORE_THAN_TESTS = {"given", "harness", "faults", "fuzz", "lab", "stores", "truth"}
Files = dict[str, str]
"""Path below the checkout to text."""


def _files() -> Files:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "tests").rglob("*.py"))
    }


def neither_a_test_nor_in_its_place(files: Files) -> Iterator[str]:
    for path in map(Path, files):
        is_test = path.name.startswith("test_") or path.name == "conftest.py"
        if not is_test and path.parts[1] not in HOLD_MORE_THAN_TESTS:
            yield f"{path} is not a test; what tests are given is made in tests/given"


def taken_from_a_test(files: Files) -> Iterator[str]:
    """Programs in a string of a test count too."""
    for path, text in files.items():
        for module in re.findall(
            r"^\s*(?:from|import) ((?:[\w.]+\.)?test_\w+|tests\.[\w.]*conftest)\b", text, re.MULTILINE
        ):
            yield f"{path} imports {module}; what both need is made in tests/given"


def made_twice(files: Files) -> Iterator[str]:
    """Functions and classes of the same body, but for their docstring; one of a single expression may stand twice."""
    found: dict[str, list[str]] = defaultdict(list)
    for path, text in files.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("test_"):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                if body and (len(body) > 1 or not isinstance(body[0], ast.Return | ast.Expr)):
                    found["".join(map(ast.dump, body))].append(f"{path}::{node.name}")
    yield from (
        f"{' and '.join(places)} are the same; make it once, in tests/given" for places in found.values() if places[1:]
    )


def impatient(files: Files) -> Iterator[str]:
    for path, text in files.items():
        for seconds in re.findall(r"assert .*\b(?:monotonic|perf_counter|time)\(\) - \w+ <=? ([\d.]+)", text):
            if float(seconds) < 30:
                yield f"{path} asserts that less than {seconds} s went by; a busy machine takes longer"


RULES = [neither_a_test_nor_in_its_place, taken_from_a_test, made_twice, impatient]


@pytest.mark.parametrize("breaches", RULES)
def test_nothing_is(breaches: Callable[[Files], Iterator[str]]) -> None:
    assert list(breaches(_files())) == []


CLOCK = "monotonic"
SAME = "def {}(x):\n    {}\n    y = x + 1\n    return y\n"


@pytest.mark.parametrize(
    ("breaches", "files", "found"),
    [
        (neither_a_test_nor_in_its_place, {"tests/sends.py": ""}, 1),
        (neither_a_test_nor_in_its_place, {"tests/spark/sends.py": ""}, 1),
        (neither_a_test_nor_in_its_place, {"tests/given/a.py": "", "tests/conftest.py": "", "tests/test_a.py": ""}, 0),
        (taken_from_a_test, {"tests/plain/test_a.py": "from tests.spark.test_b import x"}, 1),
        (taken_from_a_test, {"tests/plain/test_a.py": 'PROGRAM = """\n    import tests.spark.test_b\n"""'}, 1),
        (taken_from_a_test, {"tests/plain/test_a.py": "from tests.spark.conftest import x"}, 1),
        (taken_from_a_test, {"tests/plain/test_a.py": "from tests.given.sends import test_x\nimport testing_x"}, 0),
        (made_twice, {"a": SAME.format("one", "'Says one.'"), "b": SAME.format("_two", "'Says two.'")}, 1),
        (made_twice, {"a": SAME.format("one", "x += 1"), "b": SAME.format("one", "x += 2")}, 0),
        (made_twice, {"a": "def a():\n    return f(1)\n", "b": "def a():\n    return f(1)\n"}, 0),
        (impatient, {"a": f"    assert time.{CLOCK}() - began < 29.5  # a busy machine\n"}, 1),
        (impatient, {"a": f"    assert time.{CLOCK}() - began < 30\n    assert process_time() - began < 1\n"}, 0),
    ],
)  # fmt: skip
def test_a_rule_finds_its_breach(breaches: Callable[[Files], Iterator[str]], files: Files, found: int) -> None:
    assert len(list(breaches(files))) == found
