"""docs/faults.md names every fault once, with the tests that carry its number or the reason why there is none."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from tests.faults.summary import NOT_HERE, faults

TESTS = Path(__file__).parents[1]


def _marked() -> dict[int, set[str]]:
    """Number of each fault to the files with a test of it."""
    found: dict[int, set[str]] = defaultdict(set)
    for file in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr="fault"), args=numbers):
                    for number in numbers:
                        found[ast.literal_eval(number)].add(file.relative_to(TESTS).as_posix())
    return found


def test_every_fault_has_a_test_or_a_reason() -> None:
    told, marked = faults(), _marked()
    assert list(told) == list(range(1, 47))
    assert marked.keys() <= told.keys()
    for number, proof in told.items():
        if proof.startswith(NOT_HERE):
            assert number not in marked, f"fault {number} has tests, but docs/faults.md says that it has none"
            assert len(proof) > len(NOT_HERE) + 10
        else:
            assert set(re.findall(r"`([^`]+)`", proof)) == marked[number], f"fault {number}"
