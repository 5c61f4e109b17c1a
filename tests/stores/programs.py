"""Programs of a test: one that stays warm and takes command after command, and ones that begin, and may be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tests.given.processes import children, wait_until
from tests.stores.servers import ROOT, kill_all

_LONGEST_SECONDS = 1_500


@dataclass(frozen=True)
class Ended:
    """How a program ended, and its sentence, if any: Spark's own log may come after it."""

    code: int
    sentence: str


class WarmProgram:
    """The program in a process that takes one command after another."""

    def __init__(self, log: IO[str]) -> None:
        environ = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "FAULTLINE_HOME": str(ROOT),
            "FAULTLINE_CACHE": os.environ.get("FAULTLINE_CACHE", str(ROOT / ".faultline" / "jars")),
            "PYSPARK_PYTHON": sys.executable,
            # Java's second compiler would take a third of the CPU and more.
            "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).parent / "drive.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environ,
            text=True,
        )

    def run(self, arguments: Sequence[str]) -> dict[str, Any]:
        """What became of one command."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(arguments), file=self._process.stdin, flush=True)
        reply = self._process.stdout.readline()
        assert reply, f"the program ended during {' '.join(arguments)}"
        told: dict[str, Any] = json.loads(reply)
        return told

    def ends(self) -> None:
        """No more commands."""
        self._process.communicate()


class Running:
    """A program that runs; all of it is killed at the end of the block, if it still does.

    Args:
        command: of the program.
        folder: where it runs, and what it says is kept.
        environ: its environment, whole.
    """

    def __init__(self, command: Sequence[object], folder: Path, environ: Mapping[str, str] | None = None) -> None:
        self._said = folder / "said.txt"
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                list(map(str, command)), cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """SIGKILL to the program, its JVM and their workers."""
        kill_all(children(self._process.pid))
        self._process.wait()

    def processes(self) -> list[int]:
        """The program's and all below."""
        return children(self._process.pid)

    def wait_until_said(self, text: str) -> None:
        """Until it is in what the program wrote; under spark-submit stderr comes out at stdout."""
        wait_until(lambda: text in self._text() or self._process.poll() is not None, text, _LONGEST_SECONDS)
        assert self._process.poll() is None, self._text()

    def ended(self) -> Ended:
        """Wait for its end."""
        code = self._process.wait(_LONGEST_SECONDS)
        said = [line for line in self._text().splitlines() if line.startswith("faultline: ")]
        return Ended(code, said[-1] if said else "")

    def _text(self) -> str:
        return self._said.read_text(encoding="utf-8", errors="replace")


def program(folder: Path, *arguments: object) -> Running:
    """The program from its command line."""
    folder.mkdir(parents=True)
    compiles_little = {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1"}
    environ = {**os.environ, **compiles_little, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    return Running([sys.executable, "-m", "jobs.cli", *map(str, arguments)], folder, environ)
