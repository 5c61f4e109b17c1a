"""`python -m bench.backfill`: many days in one run, many policies in one question, and the answers on that lake."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.markdown import load, machine, ratio, table
from bench.process import Measured
from bench.program import run_program
from bench.same_rows import check_same_rows
from bench.sends import Size, add_size_options, asked_size, write_sends, write_settings

_SWEEP = "P5/0.5,0.75,1,1.5,2,3,4,6/0.25,0.5,1,2,4,8,16,32"
"""64 policies: eight factors of the floors by eight factors of the isolations."""

_ANSWERS: Mapping[str, tuple[str, ...]] = {
    "report": ("report",),
    "show events": ("show", "events"),
    "show isolations": ("show", "isolations", "--broker", "broker-00"),
}


@dataclass(frozen=True)
class Figure:
    """One measurement, and the seconds that it is compared with, if any."""

    name: str
    process: Measured
    by_seconds: float | None = None


def main() -> None:
    """Measure one size and print the table."""
    options = _parser().parse_args()
    size = asked_size(options)
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory(prefix="faultline-bench-", dir=options.scratch) as scratch:
        sends, lake = Path(scratch, "sends"), Path(scratch, "lake")
        write_sends(size, sends)
        site = {"--settings": write_settings(Path(scratch))}
        cold = size.dates[: options.nights]
        figures = measure_backfill(size, cold, sends, lake, Path(scratch, "by-night"), site)
        figures += measure_policies(size, {**site, "--lake": lake})
        figures += measure_answers({**site, "--lake": lake}, Path(scratch, "page.html"))
    print(f"\n{_table(figures)}\n\nload average at the end: {load()}")


def measure_backfill(
    size: Size, cold: Sequence[dt.date], sends: Path, lake: Path, by_night: Path, site: Mapping[str, object]
) -> list[Figure]:
    """Run all days in one run, and the first of them night by night into another lake.

    Args:
        cold: days that are also run night by night; all days are assumed to take as long.

    Raises:
        RuntimeError: the lakes differ in these days.
    """
    first, last = (date.isoformat() for date in (size.dates[0], size.dates[-1]))
    at_once = run_program("fault-latency", {**site, "--from": first, "--to": last, "--sends": sends, "--lake": lake})
    _say("at once", at_once)
    nights = []
    for date in cold:
        given = {**site, "--date": date.isoformat(), "--sends": sends / date.isoformat(), "--lake": by_night}
        nights.append(run_program("fault-latency", given))
        _say(date.isoformat(), nights[-1])
    check_same_rows(lake, by_night, where=f"event_date <= DATE '{cold[-1]}'")
    share = size.days / len(cold)
    summed = Measured(
        sum(night.seconds for night in nights) * share,
        sum(night.cpu_seconds for night in nights) * share,
        max(night.peak_mib for night in nights),
        "",
        "",
    )
    return [
        Figure(f"{size.days} nights, each a cold run (of which {len(cold)} were run)", summed),
        Figure(f"{size.days} days in one run", at_once, summed.seconds),
    ]


def measure_policies(size: Size, site: Mapping[str, object]) -> list[Figure]:
    """Run what-if on the last day with one policy, and with 64."""
    day = {**site, "--date": size.dates[-1].isoformat()}
    one = run_program("what-if", {**day, "--policy": "P5"})
    _say("one policy", one)
    many = run_program("what-if", {**day, "--sweep": _SWEEP})
    _say("64 policies", many)
    return [Figure("what-if, 1 policy, one day", one), Figure("what-if, 64 policies, one day", many, one.seconds)]


def measure_answers(site: Mapping[str, object], page: Path) -> list[Figure]:
    """The answers without Spark."""
    found = []
    for name, (command, *what) in _ANSWERS.items():
        to = {"--output": page} if command == "report" else {}
        found.append(Figure(name, run_program(command, {**site, **to}, what)))
    return found


def _say(name: str, process: Measured) -> None:
    print(f"{name}: {process.seconds:.1f} s", file=sys.stderr, flush=True)


def _table(figures: list[Figure]) -> str:
    head = ("", "seconds", "CPU s", "peak MiB", "ratio of seconds")
    rows = [
        (
            figure.name,
            f"{figure.process.seconds:.1f}",
            f"{figure.process.cpu_seconds:.1f}",
            f"{figure.process.peak_mib:,.0f}",
            ratio(figure.process.seconds, figure.by_seconds) if figure.by_seconds else "",
        )
        for figure in figures
    ]
    return table(head, rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.backfill",
        description="Days in one run against a cold run for each (the lakes must hold the same rows), what-if with 64"
        " policies against one, and how long report and show take on that lake.",
    )
    add_size_options(parser, sends=100_000)
    parser.add_argument("--days", type=int, default=30, metavar="D", help="consecutive days; default %(default)s")
    parser.add_argument("--nights", type=int, metavar="N", help="cold runs of the first N days alone; default all")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="for sends and lakes; default the system's")
    return parser


if __name__ == "__main__":
    main()
