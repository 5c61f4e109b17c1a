"""`python -m bench.allocation [SIZE …]`: figures of the second flow at every size, as Markdown on standard output."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from bench.markdown import load, machine, rate, ratio, table
from bench.peer import Peer, check_same_owners, compiled, run_peer
from bench.process import Measured
from bench.program import published_rows, run_program
from bench.snapshots import DAY, Size, write_snapshots
from bench.stage import Stage, measure_stage
from jobs.settings.load import load_settings
from jobs.spark.session import open_session

BASE = Size("1×")
SIZES = (
    BASE,
    Size("10× groups", groups=100, topics=100),
    Size("100× groups", groups=1_000, topics=1_000),
    Size("10× snapshots", captures=1_200),
    Size("100× snapshots", captures=12_000),
    Size("1×, all different", changes=119),
    Size("large groups", queues=512, consumers=200),
)


@dataclass(frozen=True)
class Figures:
    """Results at one size.

    Attributes:
        size: the size.
        program: `faultline allocation`, in its own process.
        rows: published rows of all tables but `run_log`.
        peer: the plain loop.
        changes: changes of a queue's owner, equal on both sides.
        stage: the stage alone.
    """

    size: Size
    program: Measured
    rows: int
    peer: Peer
    changes: int
    stage: Stage


def main(names: Sequence[str]) -> None:
    """Measure the sizes, by default all, and print the tables."""
    sizes = [size for size in SIZES if not names or size.name in names]
    print(machine(), flush=True)
    spark = open_session({})
    try:
        with tempfile.TemporaryDirectory(prefix="faultline-bench-") as scratch:
            class_path = compiled(Path(scratch))
            _warm_up(spark, Path(scratch, "warm-up"))
            figures = []
            for number, size in enumerate(sizes):
                figures.append(_measure(size, Path(scratch, str(number)), spark, class_path))
                print(figures[-1], file=sys.stderr, flush=True)
    finally:
        spark.stop()
    check_unchanged_snapshots_publish_nothing(figures)
    for text in (_whole(figures), _stage(figures), _strategies(figures)):
        print(f"\n{text}")
    print(f"\nload average at the end: {load()}")


def _warm_up(spark: SparkSession, snapshots: Path) -> None:
    """Let the JVM compile the code of the stage."""
    write_snapshots(BASE, snapshots)
    measure_stage(spark, snapshots, DAY, load_settings([snapshots / "strategies.toml"], [], {}))


def _measure(size: Size, folder: Path, spark: SparkSession, class_path: str) -> Figures:
    snapshots, lake, owners = folder / "snapshots", folder / "lake", folder / "owners.tsv"
    write_snapshots(size, snapshots)
    given = {
        "--date": DAY.isoformat(),
        "--consumers": snapshots / "consumers",
        "--routes": snapshots / "routes",
        "--settings": snapshots / "strategies.toml",
        "--lake": lake,
    }
    program = run_program("allocation", given)
    peer = run_peer(class_path, snapshots, owners)
    changes = check_same_owners(lake, owners)
    settings = load_settings([snapshots / "strategies.toml"], [], {})
    return Figures(size, program, published_rows(lake), peer, changes, measure_stage(spark, snapshots, DAY, settings))


def check_unchanged_snapshots_publish_nothing(figures: Sequence[Figures]) -> None:
    """Check that sizes which differ only in unchanged snapshots publish the same number of rows.

    Raises:
        RuntimeError: they do not.
    """
    base = next((result for result in figures if result.size == BASE), None)
    for result in figures:
        if base and result.size.name.endswith("snapshots") and result.rows != base.rows:
            raise RuntimeError(f"{result.size.name} published {result.rows} rows, {BASE.name} {base.rows}")


def _whole(figures: Sequence[Figures]) -> str:
    head = (
        "size", "snapshots × groups", "lines", "seconds", "CPU s", "peak MiB", "per second", "rows published",
        "loop: seconds", "CPU s", "per second", "ratio of seconds", "of CPU s", "equal changes of owners",
    )  # fmt: skip
    rows = []
    for result in figures:
        ours, loop = result.program, result.peer.process
        rows.append((
            result.size.name, f"{result.size.units:,}", f"{result.size.lines:,}", f"{ours.seconds:.0f}",
            f"{ours.cpu_seconds:.0f}", f"{ours.peak_mib:,.0f}", rate(result.size.units, ours.seconds),
            f"{result.rows:,}", f"{loop.seconds:.0f}", f"{loop.cpu_seconds:.0f}",
            rate(result.size.units, loop.seconds), ratio(loop.seconds, ours.seconds),
            ratio(loop.cpu_seconds, ours.cpu_seconds), f"{result.changes:,}",
        ))  # fmt: skip
    return table(head, rows)


def _stage(figures: Sequence[Figures]) -> str:
    head = (
        "size", "growth of work", "stretches", "to facts, CPU s", "to rows", "shares in them", "all", "growth",
        "seconds", "growth", "per CPU s", "loop: CPU s", "per CPU s", "ratio",
    )  # fmt: skip
    base, rows = figures[0], []
    for result in figures:
        stage, total, of_base = result.stage, result.stage.total, base.stage.total
        shares = sum(took.seconds for took in stage.to_shares.values())
        loops = sum(loop.seconds for loop in result.peer.loops.values())
        rows.append((
            result.size.name, ratio(result.size.units, base.size.units), f"{sum(stage.inputs.values()):,}",
            f"{stage.to_facts.cpu_seconds:.2f}", f"{stage.to_rows.cpu_seconds:.2f}", f"{shares:.2f}",
            f"{total.cpu_seconds:.2f}", f"{total.cpu_seconds / of_base.cpu_seconds:.1f}", f"{total.seconds:.1f}",
            f"{total.seconds / of_base.seconds:.1f}", rate(result.size.units, total.cpu_seconds), f"{loops:.2f}",
            rate(result.size.units, loops), ratio(loops, total.cpu_seconds),
        ))  # fmt: skip
    return table(head, rows)


def _strategies(figures: Sequence[Figures]) -> str:
    head = (
        "size", "strategy", "snapshots × groups", "different inputs", "to shares, ms", "per second", "loop, ms",
        "per second", "ratio",
    )  # fmt: skip
    rows = []
    for result in figures:
        for strategy, took in result.stage.to_shares.items():
            loop = result.peer.loops[strategy]
            rows.append((
                result.size.name, strategy, f"{loop.units:,}", f"{result.stage.inputs[strategy]:,}",
                f"{took.seconds * 1_000:,.1f}", rate(loop.units, took.seconds), f"{loop.seconds * 1_000:,.1f}",
                rate(loop.units, loop.seconds), ratio(loop.seconds, took.seconds),
            ))  # fmt: skip
    return table(head, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
