"""docs/faults.md names every fault once, with its tests and what they simulate; each has a quick one that is real."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.faults.summary import NOT_HERE, faults

TESTS = Path(__file__).parents[1]
SIMULATED = "; simulated: "


@dataclass(frozen=True)
class Mark:
    """A `fault(n)` in a test file; one of a whole file is quick when the file is."""

    number: int
    file: str
    simulated: str | None
    is_slow: bool


def _of_file(file: Path) -> Iterator[Mark]:
    """All marks, wherever they stand: at a test, at the whole file, in a table of marks."""
    name = file.relative_to(TESTS).as_posix()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    of_file = next((ast.unparse(node) for node in tree.body if ast.unparse(node).startswith("pytestmark = ")), "")
    for node in tree.body:
        decorators = [ast.unparse(each) for each in getattr(node, "decorator_list", [])]
        is_slow = "mark.slow" in of_file or any(re.match(r"SLOW$|pytest\.mark\.slow", each) for each in decorators)
        for call in ast.walk(node):
            match call:
                case ast.Call(func=ast.Attribute(attr="fault"), args=numbers, keywords=named):
                    values = {each.arg: ast.literal_eval(each.value) for each in named}
                    for number in numbers:
                        yield Mark(ast.literal_eval(number), name, values.get("simulated"), is_slow)


MARKS = [mark for file in sorted(TESTS.rglob("test_*.py")) for mark in _of_file(file)]


def test_every_fault_has_a_test_or_a_reason() -> None:
    rows, marked = faults(), defaultdict[int, set[str]](set)
    for mark in MARKS:
        marked[mark.number].add(mark.file)
    assert list(rows) == list(range(1, 47))
    assert marked.keys() <= rows.keys()
    for number, proof in rows.items():
        if proof.startswith(NOT_HERE):
            assert number not in marked, f"fault {number} has tests, but docs/faults.md says that it has none"
            assert len(proof) > len(NOT_HERE) + 10
        else:
            assert set(re.findall(r"`([^`]+)`", proof)) == marked[number], f"fault {number}"


def test_the_page_says_what_is_simulated() -> None:
    simulated = defaultdict[int, set[str]](set)
    for mark in MARKS:
        if mark.simulated:
            simulated[mark.number].add(mark.simulated)
    assert simulated
    for number, proof in faults().items():
        _, _, said = proof.partition(SIMULATED)
        assert said == "; ".join(sorted(simulated[number])), f"fault {number}"


def test_every_fault_has_a_quick_test_that_is_real() -> None:
    """`make test` runs it."""
    quick = {mark.number for mark in MARKS if not mark.is_slow and not mark.simulated}
    shown = {number for number, proof in faults().items() if not proof.startswith(NOT_HERE)}
    assert shown - quick == set()
