"""Seeded days of send attempts of any size, in the shape of the recordings: `python -m bench.sends --help`.

A site of producers and brokers; incidents in which a broker is slow or fails, met by every producer; now and then one
slow answer. All sends are SYNC, none is one-way, no producer restarts, and every attempt ends within its day: so that
the rules of the peers in bench/peers/ are short and yet give the same rows.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import duckdb

FIRST_DAY = dt.date(2026, 3, 1)
CLUSTER = "main"
_TABLES = Path(__file__).with_suffix(".sql")
_GZIP_LINES = "FORMAT json, COMPRESSION gzip"
_AT_ONCE = 2


@dataclass(frozen=True)
class Size:
    """How much is sent.

    Attributes:
        sends: sends per day, without retries.
        days: number of consecutive days from `FIRST_DAY`.
        skewed: one producer makes a third of all sends, to one broker.
        producers: number of producers, a quarter each on 5.3.3, 4.7.1, 4.9.8 and 5.1.3, with the switch on.
        brokers: number of brokers; every producer sends to all.
        incidents: incidents per day.
    """

    sends: int
    days: int = 1
    skewed: bool = False
    producers: int = 200
    brokers: int = 24
    incidents: int = 40

    @property
    def dates(self) -> tuple[dt.date, ...]:
        """Dates of its days."""
        return tuple(FIRST_DAY + dt.timedelta(days=day) for day in range(self.days))


def write_sends(size: Size, folder: Path, seed: int = 6) -> None:
    """`<day>/<hour>.jsonl.gz` below the folder, byte for byte the same for one seed."""
    _write(size, folder, seed, "FROM attempts({}, {}) ORDER BY ended_at_ms, client_id, seq", "jsonl.gz", _GZIP_LINES)


def kept_sends(size: Size, parent: Path) -> Path:
    """Folder of these sends below `parent`; created atomically on first use."""
    folder = parent / f"{size.sends}{'-skewed' if size.skewed else ''}-{size.days}d"
    if not folder.is_dir():
        parent.mkdir(parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(dir=parent))
        write_sends(size, half)
        half.rename(folder)
    return folder


def write_settings(folder: Path) -> Path:
    """The settings file of these sends: their cluster."""
    file = folder / "site.toml"
    file.write_text(f'cluster = "{CLUSTER}"\n', encoding="utf-8")
    return file


def write_table(size: Size, folder: Path, seed: int = 6) -> None:
    """`<day>/<hour>.parquet` below the folder: the same attempts as the table `sends` holds them."""
    _write(size, folder, seed, "FROM table_rows({}, {})", "parquet", "FORMAT parquet, COMPRESSION zstd")


def _write(size: Size, folder: Path, seed: int, rows: str, ending: str, form: str) -> None:
    for date in size.dates:
        (folder / date.isoformat()).mkdir(parents=True)
    with _site(size, seed) as site, ThreadPoolExecutor(_AT_ONCE) as pool:

        def write(day: int, hour: int) -> None:
            file = folder / size.dates[day].isoformat() / f"{hour:02}.{ending}"
            site.cursor().execute(f"COPY ({rows.format(day, hour)}) TO '{file}' ({form})")

        list(pool.map(lambda day_hour: write(*day_hour), itertools.product(range(size.days), range(24))))


def _site(size: Size, seed: int) -> duckdb.DuckDBPyConnection:
    """A database with `attempts(day, hour)`."""
    hot = size.sends // 3 if size.skewed else 0
    start_ms = (FIRST_DAY - dt.date(1970, 1, 1)).days * 86_400_000
    given = {
        "seed()": seed,
        "cluster()": f"'{CLUSTER}'",
        "days()": size.days,
        "producers()": size.producers,
        "brokers()": size.brokers,
        "incidents()": size.incidents,
        "lane_sends()": (size.sends - hot) // size.producers,
        "hot_sends()": hot,
        "day_start_ms(day)": f"{start_ms} + day * 86400000::BIGINT",
    }
    site = duckdb.connect()
    for macro, value in given.items():
        site.execute(f"CREATE MACRO {macro} AS {value}")
    site.execute(_TABLES.read_text(encoding="utf-8"))
    return site


def main() -> None:
    """Write the days requested on the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.sends", description="Write days of send attempts.")
    parser.add_argument("folder", type=Path, help="to write <day>/<hour>.jsonl.gz to; new days only")
    add_size_options(parser)
    parser.add_argument("--days", type=int, default=1, metavar="D", help="consecutive days; default %(default)s")
    parser.add_argument("--seed", type=int, default=6, help="other seed, other sends; default %(default)s")
    options = parser.parse_args()
    write_sends(asked_size(options), options.folder, options.seed)


def add_size_options(parser: argparse.ArgumentParser, sends: int = 200_000) -> None:
    """`--sends`, `--skewed`."""
    parser.add_argument("--sends", type=int, default=sends, metavar="N", help="sends a day; default %(default)s")
    parser.add_argument("--skewed", action="store_true", help="one producer sends a third of all to one broker")


def asked_size(options: argparse.Namespace) -> Size:
    """The size requested by the options."""
    return Size(options.sends, getattr(options, "days", 1), options.skewed)


if __name__ == "__main__":
    main()
