"""A command and all processes it starts: wall clock, CPU time, peak memory. Linux only: it reads /proc."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NamedTuple

_EVERY_SECONDS = 0.2
_TICKS, _PAGE_BYTES = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Measured:
    """Cost of a command.

    Attributes:
        seconds: wall clock.
        cpu_seconds: CPU time of all its processes, including ended ones; unlike the wall clock it hardly depends on
            other load.
        peak_mib: largest sum of resident memory; pages that processes share count once for each.
        said: its standard output.
        noted: its standard error: the program's steps and their seconds.
    """

    seconds: float
    cpu_seconds: float
    peak_mib: float
    said: str
    noted: str


def run_measured(command: Sequence[str], environ: Mapping[str, str] = os.environ) -> Measured:
    """Run the command to its end.

    Raises:
        RuntimeError: it failed; the message ends with what it said.
    """
    cpu_seconds, peak_bytes = 0.0, 0
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        started = time.perf_counter()
        end_in_order()
        with subprocess.Popen(command, env=environ, stdout=out, stderr=err, start_new_session=True) as process:
            try:
                while process.poll() is None:
                    cpu_now, resident_bytes = _of_session(process.pid)
                    cpu_seconds, peak_bytes = max(cpu_seconds, cpu_now), max(peak_bytes, resident_bytes)
                    time.sleep(_EVERY_SECONDS)
            except BaseException:  # its own session gets neither Ctrl-C nor signals to this process
                os.killpg(process.pid, signal.SIGTERM)
                raise
        seconds = time.perf_counter() - started
        out.seek(0)
        err.seek(0)
        said, noted = out.read(), err.read()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {noted[-2_000:]}")
    return Measured(seconds, cpu_seconds, peak_bytes / 2**20, said, noted)


class Running(NamedTuple):
    """A process in Linux's /proc.

    Attributes:
        parent: process id of the parent.
        threads: number of threads.
        stack: start address.
        size: size of its memory, resident or not.
        pages: number of resident pages.
    """

    parent: int
    threads: int
    stack: str
    size: int
    pages: int


def end_in_order() -> None:
    """Raise SystemExit on SIGTERM, so that child processes and temporary files are cleaned up."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)


def own_cpu_seconds() -> float:
    """CPU time so far of all processes in this session, including a JVM that it started."""
    return _of_session(os.getsid(0))[0]


def _of_session(session: int) -> tuple[float, int]:
    """CPU seconds, including ended children, and resident bytes."""
    ticks = 0
    found: dict[int, Running] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
            parent, threads, size, pages = (int(fields[place]) for place in (1, 17, 20, 21))
            found[int(stat.parent.name)] = Running(parent, threads, fields[25], size, pages)
    return ticks / _TICKS, resident_pages(found) * _PAGE_BYTES


def resident_pages(found: Mapping[int, Running]) -> int:
    """Resident pages of all processes, given by process id.

    A child that has not yet started its own program shares its parent's memory, which counts once: both have the same
    stack. Their sizes are equal too, apart from what other threads of the parent allocate between the two reads.
    """

    def runs_in(parent: Running, child: Running) -> bool:
        return child.stack == parent.stack and (child.size == parent.size or child.threads < parent.threads)

    return sum(
        process.pages
        for process in found.values()
        if process.parent not in found or not runs_in(found[process.parent], process)
    )
