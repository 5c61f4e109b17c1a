"""`python -m bench.night`: a cold night of the first flow beside programs that produce the same rows, as Markdown."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.markdown import load, machine, ratio, table
from bench.process import Measured
from bench.program import published_rows, run_peer_program, run_program, steps
from bench.same_rows import check_same_rows
from bench.sends import Size, add_size_options, asked_size, kept_sends, write_settings

PEERS = {"DuckDB": "duckdb_night", "Polars": "polars_night", "Spark": "spark_night"}
"""Name in the table → module of bench/peers; the first is the baseline."""

_MORE = """
The peers write sends, isolation_intervals and broker_windows, as Parquet or Delta, and take each line for good.
Faultline writes {rows:,} rows to Delta tables in its time: also fault_item_changes, fault_item_state,
events, producer_days, send_calls, findings, order_key_moves, fault_item_updates, topic_brokers, quarantine
and run_log; it judges each line, drops duplicates, gives the band of what is not known, and reconciles its counts."""


@dataclass(frozen=True)
class Night:
    """Measurements of one day.

    Attributes:
        program: Faultline.
        peers: name → process.
        rows: rows of each compared table, equal in all programs.
        published: rows of all tables of Faultline.
    """

    program: Measured
    peers: dict[str, Measured]
    rows: dict[str, int]
    published: int


def main() -> None:
    """Measure one size and print the tables."""
    options = _parser().parse_args()
    size = asked_size(options)
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory(prefix="faultline-bench-", dir=options.scratch) as scratch:
        sends = kept_sends(size, options.keep_sends or Path(scratch, "sends"))
        more = [part for setting in options.settings for part in ("--set", setting)]
        night = measure_night(size, sends, Path(scratch), options.peers or list(PEERS), more)
    print(f"\n{_wholes(night)}\n{_MORE.format(rows=night.published)}\n\n{_steps(night)}")
    print(f"\nload average at the end: {load()}")


def measure_night(size: Size, sends: Path, scratch: Path, peers: Sequence[str], more: Sequence[str]) -> Night:
    """Run Faultline and the peers on the first day, one after another, in cold processes.

    Raises:
        RuntimeError: one of them failed, or published other rows.
    """
    date, lake = size.dates[0].isoformat(), scratch / "lake"
    day = sends / date
    given = {"--date": date, "--sends": day, "--lake": lake, "--settings": write_settings(scratch)}
    program = run_program("fault-latency", given, more)
    ran, rows = {}, {}
    for name in peers:
        out = scratch / "peer"
        ran[name] = run_peer_program(PEERS[name], day, out)
        print(f"{name}: {ran[name].seconds:.1f} s", file=sys.stderr, flush=True)
        rows = check_same_rows(lake, out)
        shutil.rmtree(out)
    return Night(program, ran, rows, published_rows(lake))


def _wholes(night: Night) -> str:
    base_name, base = next(iter(night.peers.items()), ("Faultline", night.program))
    compared = (f"rows of {name}" for name in night.rows)
    head = ("one day", "seconds", "CPU s", "peak MiB", f"× {base_name}: seconds", "CPU s", *compared)
    equal = [f"{rows:,}" for rows in night.rows.values()]
    rows = [
        (name, f"{process.seconds:.1f}", f"{process.cpu_seconds:.1f}", f"{process.peak_mib:,.0f}",
         ratio(process.seconds, base.seconds), ratio(process.cpu_seconds, base.cpu_seconds), *equal)
        for name, process in {"Faultline": night.program, **night.peers}.items()
    ]  # fmt: skip
    return table(head, rows)


def _steps(night: Night) -> str:
    parts = steps(night.program)
    rest = {"starting Python, ending": night.program.seconds - sum(parts.values())}
    return table(("step of Faultline", "seconds"), [(name, f"{took:.1f}") for name, took in (parts | rest).items()])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.night",
        description="A night of the first flow, each program a cold process, beside peers that give the same rows.",
    )
    add_size_options(parser)
    parser.add_argument(
        "--peer", dest="peers", action="append", choices=PEERS, help="this peer only; repeatable; default all"
    )
    parser.add_argument(
        "--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="Faultline's; repeatable"
    )
    parser.add_argument("--keep-sends", type=Path, metavar="DIR", help="make the sends there, once for each size")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="for sends and lakes; default the system's")
    return parser


if __name__ == "__main__":
    main()
