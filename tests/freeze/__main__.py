"""A freeze: what the program of one commit publishes, kept outside the repository and compared row by row.

python -m tests.freeze keep DIR [--commit REV] [--inputs DIR] [--only CASE …]
python -m tests.freeze compare BEFORE AFTER [--renames FILE.toml] [--only CASE …]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.freeze.cases import all_cases, chosen
from tests.freeze.compare import NothingToCompareError, compare
from tests.freeze.expected import ExpectedError, load_expected
from tests.freeze.keep import keep
from tests.freeze.program import KeepError


def main(arguments: Sequence[str] | None = None) -> int:
    """0 = kept, or no difference; 1 = differences, or a case that ended otherwise; 2 = it cannot be done."""
    options = _parser().parse_args(arguments)
    try:
        return _keep(options) if options.command == "keep" else _compare(options)
    except (KeepError, NothingToCompareError, ExpectedError, ValueError) as error:
        print(f"freeze: {error}", file=sys.stderr)
        return 2


def _keep(options: argparse.Namespace) -> int:
    cases = chosen(options.only)

    def say(line: str) -> None:
        print(line, flush=True)

    is_well = keep(options.folder, options.commit, cases, inputs_of=options.inputs, at_once=options.at_once, say=say)
    return 0 if is_well else 1


def _compare(options: argparse.Namespace) -> int:
    names = [case.name for case in chosen(options.only)] if options.only else []
    found = compare(options.before, options.after, load_expected(options.renames), names)
    for difference in found.differences:
        print(difference)
    print(found.summary())
    return 1 if found.differences else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.freeze",
        description="What the program of one commit publishes, kept outside the repository and compared row by row.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    keeps = commands.add_parser(
        "keep", help="run every case with the code of a commit; about half an hour on two idle cores (an estimate)"
    )
    keeps.add_argument("folder", type=Path, metavar="DIR", help="a new folder outside the repository")
    keeps.add_argument("--commit", default="HEAD", metavar="REV", help="whose code runs; default: HEAD")
    keeps.add_argument("--inputs", type=Path, metavar="DIR", help="take the inputs that an earlier keep has made")
    keeps.add_argument("--at-once", type=int, default=2, metavar="N", help="processes, a JVM of 3 GB each; default: 2")
    compares = commands.add_parser("compare", help="what differs between two kept folders; seconds")
    compares.add_argument("before", type=Path, metavar="BEFORE")
    compares.add_argument("after", type=Path, metavar="AFTER")
    compares.add_argument("--renames", type=Path, metavar="FILE", help="TOML: names before to names after")
    names = ", ".join(case.name for case in all_cases())
    for each in (keeps, compares):
        each.add_argument(
            "--only", action="append", default=[], metavar="CASE", help=f"names, or how they begin: {names}"
        )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
