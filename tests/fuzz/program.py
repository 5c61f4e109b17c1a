"""One command of the program, called in this process as its user calls it."""

from __future__ import annotations

import contextlib
import io
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from jobs.cli import main as cli

_LONGEST_S = 1_000  # an idle machine takes a fiftieth of it


class TookTooLongError(BaseException):
    """The command hangs; no `except Exception` of the program may hide it."""


_STUCK: list[tuple[str, ...]] = []


def is_stuck() -> bool:
    """Whether a command had to be torn from its call to the JVM, after which nothing can be asked of that one."""
    return bool(_STUCK)


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, what it printed, and what it was called with."""

    arguments: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """The last line on stderr."""
        return next(iter(reversed(self.err.splitlines())), "")


def call(arguments: Sequence[str], folder: Path, variables: Mapping[str, str]) -> Ended:
    """Run `faultline` with the arguments in a folder, at most for some minutes.

    Args:
        arguments: without the program's name.
        folder: the working directory.
        variables: added to the environment of this process while it runs.
    """
    out, err = io.StringIO(), io.StringIO()
    with (
        _environment(variables),
        contextlib.chdir(folder),
        _deadline(_LONGEST_S),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = cli.main(arguments)
        except TookTooLongError:
            code = -1
            _STUCK.append(tuple(arguments))
    return Ended(tuple(arguments), code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    def late(_: int, __: FrameType | None) -> None:
        raise TookTooLongError

    before = signal.signal(signal.SIGALRM, late)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)  # pytest-timeout has the same clock
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, before)
