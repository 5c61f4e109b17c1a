"""A command and all processes it starts: wall clock, CPU time, peak memory. Linux only: it reads /proc."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_EVERY_SECONDS = 0.2
_TICKS, _PAGE_BYTES = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Measured:
    """What a command took.

    Attributes:
        seconds: wall clock.
        cpu_seconds: of all its processes, as last seen before each ended; unlike the wall clock it hardly depends on
            what else the machine does.
        peak_mib: largest sum of resident memory; pages that processes share count once for each.
        said: its standard output.
    """

    seconds: float
    cpu_seconds: float
    peak_mib: float
    said: str


def run_measured(command: Sequence[str], environ: Mapping[str, str] = os.environ) -> Measured:
    """Run the command to its end.

    Raises:
        RuntimeError: it failed; the message ends with what it said.
    """
    cpu_seconds: dict[int, float] = {}
    peak_bytes = 0
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        started = time.perf_counter()
        with subprocess.Popen(command, env=environ, stdout=out, stderr=err, start_new_session=True) as process:
            while process.poll() is None:
                found = _of_session(process.pid)
                cpu_seconds.update({pid: cpu for pid, (cpu, _) in found.items()})
                peak_bytes = max(peak_bytes, sum(resident for _, resident in found.values()))
                time.sleep(_EVERY_SECONDS)
        seconds = time.perf_counter() - started
        out.seek(0)
        err.seek(0)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {err.read()[-2_000:]}")
        return Measured(seconds, sum(cpu_seconds.values()), peak_bytes / 2**20, out.read())


def _of_session(session: int) -> dict[int, tuple[float, int]]:
    """Process id to CPU seconds and resident bytes."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[3]) == session:
            cpu_seconds = (int(fields[11]) + int(fields[12])) / _TICKS
            found[int(stat.parent.name)] = cpu_seconds, int(fields[21]) * _PAGE_BYTES
    return found
