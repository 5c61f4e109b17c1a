"""Runs the mutants of our list on a copy, one after the other, their tests in one process with one JVM."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.mutants.copies import MutantsError, environ_of
from tests.mutants.listed import Mutant

# Slow ones too, in no random order, the same drawn cases each time; a busy machine may draw slowly.
_PYTEST = (
    *("-x", "-q", "-m", "", "--no-header", "-rN"),
    *("-p", "no:randomly", "-p", "no:cacheprovider", "--hypothesis-profile=ci"),
)
_KILLED, _SURVIVED = (1, 2), 0  # a test failed, or could not even be imported
_LONGEST_S = 900.0


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant.

    Attributes:
        by: the test that failed first; empty for a survivor.
    """

    mutant: Mutant
    survived: bool
    by: str
    seconds: float


def verdicts(mutants: Sequence[Mutant], tree: Path, log: IO[str], say: Callable[[str], None]) -> Iterator[Verdict]:
    """Run the mutants' tests without any, then with each.

    Args:
        mutants: which.
        tree: a copy of the checkout.
        log: takes what the tests print.
        say: takes a line of progress.

    Raises:
        MutantsError: a test fails without a mutant, or cannot be run.
    """
    worker = _Worker(tree, log)
    try:
        began = time.monotonic()
        asked = sorted({test for mutant in mutants for test in mutant.tests})
        exit_code, failed = worker.run(asked, None)
        if exit_code != 0:
            raise MutantsError(f"without any mutant the tests end with {exit_code} ({failed or 'see the log'})")
        say(f"without a mutant {len(asked)} files and tests pass, {time.monotonic() - began:.0f} s")
        for number, mutant in enumerate(mutants, 1):
            file, began = tree / mutant.file, time.monotonic()
            source = file.read_text(encoding="utf-8")
            _write(file, mutant.applied(source), 2 * number)
            exit_code, failed = worker.run(mutant.tests, _LONGEST_S)
            _write(file, source, 2 * number + 1)
            if exit_code not in {*_KILLED, _SURVIVED}:
                raise MutantsError(f"the tests of {mutant.name} cannot be run: pytest ends with {exit_code}")
            yield Verdict(mutant, exit_code == _SURVIVED, failed, time.monotonic() - began)
    finally:
        worker.ends()


def _write(file: Path, text: str, second: int) -> None:
    """A text gets a second of its own: Python takes a compiled one that is of the same second and length."""
    file.write_text(text, encoding="utf-8")
    os.utime(file, (second, second))


class _Worker:
    """The process of `worker.py`; another one after a mutant that takes too long."""

    def __init__(self, tree: Path, log: IO[str]) -> None:
        self._tree, self._log = tree, log
        self._process: subprocess.Popen[str] | None = None

    def run(self, tests: Sequence[str], seconds: float | None) -> tuple[int, str]:
        """The exit code of pytest, and the first test that failed; a run that takes too long has failed."""
        process = self._process = self._process or self._started()
        assert process.stdin
        assert process.stdout
        print(json.dumps([*_PYTEST, *tests]), file=process.stdin, flush=True)
        if not select.select([process.stdout], [], [], seconds)[0]:
            process.kill()
            self.ends()
            return 1, f"no end within {seconds:.0f} s"
        reply = process.stdout.readline()
        if not reply:
            self.ends()
            return 1, "the process ended"
        answer: dict[str, Any] = json.loads(reply)
        return answer["exit_code"], answer["failed"]

    def ends(self) -> None:
        """Its JVM ends with it."""
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=self._tree,
            env=environ_of(self._tree),
            text=True,
        )
