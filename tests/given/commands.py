"""Commands of the program as a shell sees them, run in the tests' own session."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from jobs.cli import main as cli


@dataclass(frozen=True)
class Said:
    """How a command ended: its exit code, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The last line of stderr: why it failed."""
        return self.err.splitlines()[-1]

    def section(self, title: str) -> list[str]:
        """The lines of the part of the answer that begins with `title`, which is the first of them."""
        (found,) = [part for part in self.out.rstrip("\n").split("\n\n") if part.startswith(title)]
        return found.split("\n")


def command(spark: SparkSession, *arguments: object) -> Said:
    """Run one command; its session is the tests' and outlives it."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr("jobs.spark.session.open_session", lambda *_, **__: spark)
        patch.setattr(spark, "stop", lambda: None)
        code = cli.main([str(each) for each in arguments])
    return Said(code, out.getvalue(), err.getvalue())
