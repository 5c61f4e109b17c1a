"""Processes of this machine, as the kernel shows them in /proc, and those that a test brings up."""

from __future__ import annotations

import re
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self


def children(parent: int) -> list[int]:
    """The process and all below it."""
    below = [
        int(status.parent.name)
        for status in Path("/proc").glob("[0-9]*/status")
        if f"\nPPid:\t{parent}\n" in text(status)
    ]
    return [parent, *(each for child in below for each in children(child))]


def text(path: Path) -> str:
    """Empty where the process has just ended, or is another user's."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def listening(processes: Iterable[int]) -> list[tuple[str, int]]:
    """Address, as the kernel writes it, and port of every socket that the processes listen at."""
    links = [link for process in processes for link in Path(f"/proc/{process}/fd").glob("*")]
    inodes = {match[1] for link in links if (match := re.fullmatch(r"socket:\[(\d+)\]", _link(link)))}
    rows = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    local = [row[1].split(":") for row in rows if row[3] == "0A" and row[9] in inodes]
    return [(address, int(port, 16)) for address, port in local]


class BroughtUp(ABC):
    """What a test starts: up within the block, and stopped at its end, also when it did not come up."""

    def __enter__(self) -> Self:
        try:
            self.bring_up()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @abstractmethod
    def bring_up(self) -> None:
        """Start what the block needs."""

    @abstractmethod
    def stop(self) -> None:
        """Kill whatever was started."""


def wait_until(holds: Callable[[], bool], what: str, seconds: float = 120) -> None:
    """Look five times a second."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(0.2)


def is_listening(port: int) -> bool:
    """Whether somebody takes connections at the port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _link(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""
