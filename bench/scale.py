"""`python -m bench.scale`: a night of the first flow on more executors, fixed work and growing work, as Markdown."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.markdown import load, machine, table
from bench.process import Measured
from bench.program import run_program, steps
from bench.sends import Size, kept_sends, write_settings
from jobs.spark.environment import spark_jars_folder

_EXECUTORS = (1, 2, 4)
_ONCE = ("starting Spark", "opening the lake", "reading the answers")


@dataclass(frozen=True)
class Night:
    """One cold night on a cluster.

    Attributes:
        executors: number of executors, of one core each.
        sends: number of sends, without retries.
        program: the driver with all executors.
        tasks: sums over all tasks: `cpu_ns`, `shuffle_bytes`, `spilled_bytes`.
    """

    executors: int
    sends: int
    program: Measured
    tasks: Counter[str]

    @property
    def cpu_seconds_of_million(self) -> float:
        """CPU seconds of tasks for a million sends."""
        return self.tasks["cpu_ns"] / 1e9 / (self.sends / 1e6)

    @property
    def seconds_of_work(self) -> float:
        """Seconds of the steps that grow with the sends."""
        return sum(took for name, took in steps(self.program).items() if name not in _ONCE)


def main() -> None:
    """Measure what the command line asks for, and print the tables."""
    options = _parser().parse_args()
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory(prefix="faultline-bench-", dir=options.scratch) as scratch:
        nights = []
        for executors, sends in _plan(options.sends):
            folder = kept_sends(Size(sends), options.keep_sends or Path(scratch, "sends"))
            nights.append(measure_night(executors, sends, folder, Path(scratch)))
            print(f"{executors} executors, {sends:,} sends: {nights[-1].program.seconds:.0f} s", flush=True)
    print(f"\n{_measured(nights)}\n\nload average at the end: {load()}")


def measure_night(executors: int, sends: int, folder: Path, scratch: Path) -> Night:
    """Publish the first day into a new lake."""
    os.environ["SPARK_HOME"] = str(spark_jars_folder().parent)
    lake, log = scratch / "lake", scratch / "log"
    log.mkdir()
    (date,) = Size(sends).dates
    given = {
        "--date": date,
        "--sends": folder / date.isoformat(),
        "--lake": lake,
        "--settings": write_settings(scratch),
    }
    spark = {
        "master": f"local-cluster[{executors},1,1536]",
        "executor.memory": "1536m",
        "sql.shuffle.partitions": max(4, 2 * executors),
        "eventLog.enabled": "true",
        "eventLog.dir": log.as_uri(),
        "eventLog.compress": "false",
    }
    more = [part for name, value in spark.items() for part in ("--set", f"spark.{name}={value}")]
    program = run_program("fault-latency", given, more)
    night = Night(executors, sends, program, _tasks(log))
    shutil.rmtree(lake)
    shutil.rmtree(log)
    return night


def _plan(sends: int) -> Iterator[tuple[int, int]]:
    """Fixed work, then growing work."""
    for executors in _EXECUTORS:
        yield executors, sends
    for executors in _EXECUTORS[1:]:
        yield executors, executors * sends


def _tasks(log: Path) -> Counter[str]:
    """Sums over the tasks in Spark's event log."""
    sums = Counter[str]()
    for file in log.rglob("events_*"):
        for line in file.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["Event"] == "SparkListenerTaskEnd" and (took := event.get("Task Metrics")):
                sums["cpu_ns"] += took["Executor CPU Time"]
                sums["shuffle_bytes"] += took["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                sums["spilled_bytes"] += took["Disk Bytes Spilled"]
    return sums


def _measured(nights: Sequence[Night]) -> str:
    head = (
        "executors of one core", "sends", "seconds", "of these work", "CPU s of tasks", "for a million sends",
        "work, s for a million sends and core", "shuffle MiB for a million", "spilled MiB", "peak MiB of all processes",
    )  # fmt: skip
    rows = [
        (f"{night.executors}", f"{night.sends:,}", f"{night.program.seconds:.0f}", f"{night.seconds_of_work:.0f}",
         f"{night.tasks['cpu_ns'] / 1e9:.0f}", f"{night.cpu_seconds_of_million:.1f}",
         f"{night.seconds_of_work * night.executors / (night.sends / 1e6):.0f}",
         f"{night.tasks['shuffle_bytes'] / 2**20 / (night.sends / 1e6):.0f}",
         f"{night.tasks['spilled_bytes'] / 2**20:.0f}", f"{night.program.peak_mib:,.0f}")
        for night in nights
    ]  # fmt: skip
    return table(head, rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.scale",
        description="A cold night on 1, 2 and 4 executors of one core: the same sends, then as many for each executor.",
    )
    parser.add_argument(
        "--sends", type=int, default=1_000_000, metavar="N", help="for one executor; default %(default)s"
    )
    parser.add_argument("--keep-sends", type=Path, metavar="DIR", help="make the sends there, once for each size")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="for sends and lakes; default the system's")
    return parser


if __name__ == "__main__":
    main()
