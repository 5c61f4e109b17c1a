"""Progress on stderr: one line rewritten on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from jobs.text.redaction import redacted
from jobs.text.terminal import one_line


class Progress:
    """Prints each step as it runs, and how long it took."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Show `what` while the block runs, and the seconds it took after it."""
        started, what = time.monotonic(), one_line(what)
        if self._terminal:
            self._write(f"  … {what}")
        try:
            yield
        except BaseException:
            if self._terminal:
                with suppress(OSError):  # it may be gone, and is what ended the run
                    self._write("")
            raise
        took = time.monotonic() - started
        self._write(f"  ✓ {what} ({took:.1f} s)\n" if self._terminal else f"{what}: {took:.1f} s\n")

    def say(self, line: str) -> None:
        """A line of its own, with secrets redacted."""
        self._write(f"{one_line(redacted(line))}\n")

    def _write(self, text: str) -> None:
        """On a terminal in place of the line that it shows."""
        self._stream.write(f"\r\033[K{text}" if self._terminal else text)
        self._stream.flush()
