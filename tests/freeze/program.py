"""The program of one commit: its files out of sight of the repository, and a process that runs its commands."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from tests.freeze.cases import ROOT


class KeepError(Exception):
    """Nothing can be kept so."""


def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)


def check_out(commit: str, tree: Path) -> None:
    """The commit's files, without a trace in the repository."""
    archive = git("archive", "--format=tar", commit)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(tree, filter="data")


class Program:
    """A process of the tree's own code, which takes one command after another."""

    def __init__(self, tree: Path, log: IO[str]) -> None:
        entry = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]["faultline"]
        environ = {
            **os.environ,
            "PYTHONPATH": str(tree),
            "FAULTLINE_HOME": str(tree),
            "FAULTLINE_CACHE": os.environ.get("FAULTLINE_CACHE", str(ROOT / ".faultline" / "jars")),
            "PYSPARK_PYTHON": sys.executable,
            # Java's second compiler would take a third of the CPU and more.
            "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).parent / "drive.py"), str(tree), entry.partition(":")[0]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=tree.parent,
            env=environ,
            text=True,
        )

    def run(self, arguments: Sequence[str]) -> dict[str, Any]:
        """What became of one command.

        Raises:
            KeepError: the process is gone.
        """
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(arguments), file=self._process.stdin, flush=True)
        reply = self._process.stdout.readline()
        if not reply:
            raise KeepError(f"the program ended during {' '.join(arguments)}")
        told: dict[str, Any] = json.loads(reply)
        return told

    def ends(self) -> None:
        """No more commands."""
        self._process.communicate()
