"""Counts the statements of jobs/ and udfs/, without docstrings and imports: `python bin/statements.py [--check]`.

Prints the number for each top folder and in total. `--check` fails when the total is above `BUDGET`.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

BUDGET = 11_807
"""Maximum number of statements in jobs/ and udfs/. Lower it when code is removed."""

_PACKAGES = ("jobs", "udfs")


def statements(source: str) -> int:
    """Number of statements of a module; strings that are statements are documentation and do not count."""
    return sum(_counts(node) for node in ast.walk(ast.parse(source)))


def _counts(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
            return False
    return isinstance(node, ast.stmt)


def by_folder() -> Counter[str]:
    """Top folder to its number of statements; files at the root of a package count under the package."""
    counts: Counter[str] = Counter()
    for path in (path for package in _PACKAGES for path in Path(package).rglob("*.py")):
        counts["/".join(path.parent.parts[:2])] += statements(path.read_text(encoding="utf-8"))
    return counts


def main(arguments: Sequence[str]) -> int:
    """Print the numbers; with `--check` print nothing unless the budget is exceeded."""
    counts = by_folder()
    if "--check" not in arguments:
        lines = [f"{count:6,}  {folder}" for folder, count in counts.most_common()]
        sys.stdout.write("\n".join([*lines, f"{counts.total():6,}  total, budget {BUDGET:,}"]) + "\n")
        return 0
    if counts.total() <= BUDGET:
        return 0
    sys.stderr.write(
        f"jobs/ and udfs/ have {counts.total():,} statements, the budget is {BUDGET:,}; remove code, or raise BUDGET in"
        " bin/statements.py and say why\n"
    )
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
