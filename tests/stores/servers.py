"""Servers of a test on loopback: a process each, killed as a machine would end it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from jobs.spark.delta_jars import Jar, cached
from tests.given.processes import BroughtUp, children

ROOT = Path(__file__).parents[2]


def jars(*names: str) -> list[Path]:
    """The locked jars of these names, fetched once."""
    lock = tomllib.loads((ROOT / "tests/stores/jars.toml").read_text(encoding="utf-8"))
    wanted = [Jar(**entry) for entry in lock["jar"] if entry["name"] in names]
    return list(cached(wanted, ROOT / ".faultline" / "store-jars"))


class Servers(BroughtUp):
    """Processes below a folder; what each says is in a file there. All that is left of them is killed at the end."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def stop(self) -> None:
        """Kill every process and all below it."""
        for name in list(self._processes):
            kill_all(children(self._processes[name].pid))
            self.kill(name)

    def start(self, name: str, command: Sequence[object], environ: Mapping[str, str] | None = None) -> None:
        """Start a process, in this environment or that of the tests."""
        with (self.folder / f"{name} said.txt").open("ab") as said:
            self._processes[name] = subprocess.Popen(
                list(map(str, command)), cwd=self.folder, env=environ, stdin=subprocess.DEVNULL, stdout=said,
                stderr=said,
            )  # fmt: skip

    def kill(self, name: str) -> None:
        """SIGKILL; what it has started goes on."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def process(self, name: str) -> int:
        """Its number."""
        return self._processes[name].pid

    def said(self, name: str) -> str:
        """All that it has written."""
        return (self.folder / f"{name} said.txt").read_text(encoding="utf-8", errors="replace")


def kill_all(processes: Sequence[int]) -> None:
    """SIGKILL to each that is still there."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def free_port() -> int:
    """A port of loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
