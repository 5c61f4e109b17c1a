"""Faultline as a process of its own, as bin/faultline starts it once its environment is there."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import deltalake

from bench.process import Measured, run_measured

ROOT = Path(__file__).parents[1]
_STEP = re.compile(r"^(?P<step>.*): (?P<seconds>\d+\.\d) s$", re.MULTILINE)
_DAY = re.compile(r" of \d{4}-\d\d-\d\d$")


def run_program(command: str, options: Mapping[str, object], more: Sequence[str] = ()) -> Measured:
    """Run `faultline command`, cold; without `--settings` the checkout's own conf/local.toml would count.

    Args:
        command: such as `fault-latency`.
        options: option to value.
        more: further arguments.
    """
    given = [str(part) for option in options.items() for part in option]
    environ = {"FAULTLINE_HOME": str(ROOT), "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    return run_measured([sys.executable, "-P", "-m", "jobs.cli", command, *more, *given], {**os.environ, **environ})


def run_peer_program(module: str, *arguments: object) -> Measured:
    """Run a module of bench/peers, cold."""
    command = [sys.executable, "-m", f"bench.peers.{module}", *map(str, arguments)]
    return run_measured(command, {**os.environ, "PYTHONPATH": str(ROOT)})


def steps(measured: Measured) -> dict[str, float]:
    """Each step that the program named on stderr, and its seconds; those of several days together."""
    sums: dict[str, float] = {}
    for found in _STEP.finditer(measured.noted):
        name = _DAY.sub("", found["step"])
        sums[name] = sums.get(name, 0.0) + float(found["seconds"])
    return sums


def published_rows(lake: Path) -> int:
    """Rows of all tables but `run_log`."""
    tables = (log.parent for log in lake.glob("*/_delta_log") if log.parent.name != "run_log")
    return sum(deltalake.DeltaTable(str(table)).to_pyarrow_dataset().count_rows() for table in tables)
