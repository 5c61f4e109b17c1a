"""Mutants: the program is changed on a copy, one small change at a time; a change that no test notices is a finding.

python -m tests.mutants [--listed | --plain] [--only NAME …] [--list]
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tests.mutants import plain
from tests.mutants.copies import ROOT, MutantsError, copy_to
from tests.mutants.listed import all_listed, misfits
from tests.mutants.page import PAGE, Survivor, compared, explained
from tests.mutants.runs import verdicts


def main(arguments: Sequence[str] | None = None) -> int:
    """0 = each survivor has its reason on the page; 1 = one has none; 2 = it cannot be done."""
    options = _parser().parse_args(arguments)
    try:
        return _list(options) if options.list else _run(options)
    except MutantsError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2


def _list(options: argparse.Namespace) -> int:
    for mutant in all_listed():
        if _is_chosen(mutant.name, options.only):
            print(f"{mutant.name}: {mutant.file}")
    return 0


def _run(options: argparse.Namespace) -> int:
    reasons = explained(PAGE.read_text(encoding="utf-8"))
    of_mutmut, of_list = ([name for name in options.only if ("." in name) is dotted] for dotted in (True, False))
    began = time.monotonic()
    survivors: list[Survivor] = []
    with tempfile.TemporaryDirectory(prefix="faultline-mutants-") as scratch:
        log_path = Path(tempfile.gettempdir(), f"faultline-mutants-{os.getpid()}.log")
        with log_path.open("w", encoding="utf-8") as log:
            _say(f"what tests print: {log_path}")
            if not options.listed and (of_mutmut or not options.only):
                tree = Path(scratch, "plain")
                copy_to(tree)
                survivors += plain.survivors(tree, of_mutmut, options.at_once, log)
                _say(f"mutmut: {len(survivors)} survived, {_minutes(began)}")
            if not options.plain and (of_list or not options.only):
                tree = Path(scratch, "listed")
                copy_to(tree)
                survivors += _of_list(tree, of_list, log)
    without, unneeded = compared(survivors, reasons)
    if not (options.only or options.listed or options.plain):
        for reason in unneeded:
            _say(f"the page explains {reason}, which did not survive; take it from there")
    for survivor in without:
        _say(f"no reason for {survivor}")
    _say(f"{len(survivors)} survived, {len(without)} of them without a reason on docs/mutants.md, {_minutes(began)}")
    return 1 if without else 0


def _of_list(tree: Path, names: Sequence[str], log: IO[str]) -> list[Survivor]:
    """Run those of our list, and say of each what became of it."""
    chosen = [mutant for mutant in all_listed() if _is_chosen(mutant.name, names)]
    for problem in misfits(chosen, ROOT):
        raise MutantsError(f"the list does not fit the code: {problem}")
    survivors = []
    for number, verdict in enumerate(verdicts(chosen, tree, log, _say) if chosen else (), 1):
        became = "SURVIVED" if verdict.survived else f"noticed by {verdict.by}"
        _say(f"{number}/{len(chosen)} {verdict.mutant.name}: {became}, {verdict.seconds:.0f} s")
        if verdict.survived:
            survivors.append(Survivor(verdict.mutant.name))
    return survivors


def _is_chosen(name: str, names: Sequence[str]) -> bool:
    return not names or any(fnmatch.fnmatchcase(name, each) for each in names)


def _minutes(began: float) -> str:
    return f"{(time.monotonic() - began) / 60:.0f} minutes"


def _say(line: str) -> None:
    print(line, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--listed", action="store_true", help="our own list alone, tests/mutants/listed.toml")
    which.add_argument("--plain", action="store_true", help="mutmut alone, over plain Python")
    parser.add_argument("--list", action="store_true", help="name those of our list, and run none")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="globs: of our list, `ladder-*`; with a dot of mutmut's, `udfs.moves.*`",
    )
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="processes of mutmut; default: 2")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
