"""`python -m bench.replay`: the replay alone, warm, from the table `sends`, beside windows over every send."""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb
from pyspark.sql import DataFrame, SparkSession

from bench.markdown import load, machine, ratio, table
from bench.peers.duckdb_night import ISOLATIONS
from bench.peers.spark_night import isolations
from bench.process import end_in_order
from bench.same_rows import check_same_rows
from bench.sends import CLUSTER, Size, write_table
from bench.took import Took, all_rows, run_once, run_warm
from jobs.fault_latency.replayed_day import DayOfProducers, replayed
from jobs.settings.model import Settings
from jobs.spark.materialize import materializer
from jobs.spark.session import open_session
from jobs.tables import FAULT_ITEM_STATE, SENDS, TOPIC_BROKERS
from jobs.tables.day import Day

_PUBLISHED = "isolation_intervals"
_WARM_UP = Size(200_000)


@dataclass(frozen=True)
class Replay:
    """Measurements of one table.

    Attributes:
        size: size of the table.
        sends: its number of rows.
        isolations: number found, equal for all.
        faultline: the writes of every send, and the isolations.
        by_duckdb: its windows over every send.
        by_spark: the windows that one writes first; None = not asked.
    """

    size: Size
    sends: int
    isolations: int
    faultline: Took
    by_duckdb: Took
    by_spark: Took | None


def main() -> None:
    """Measure all sizes, even and skewed, and print one table."""
    options = _parser().parse_args()
    end_in_order()
    print(machine(), flush=True)
    spark = open_session({"spark.driver.memory": options.memory})
    shapes = (False,) if options.even_only else (False, True)
    sizes = [Size(sends, skewed=skewed) for skewed, sends in itertools.product(shapes, options.sends)]
    try:
        with tempfile.TemporaryDirectory(prefix="faultline-bench-", dir=options.scratch) as scratch:
            found = []
            for number, size in enumerate((_WARM_UP, *sizes)):
                folder = Path(scratch, str(number))
                found.append(measure_replay(spark, size, folder, plain=not options.alone))
                print(found[-1], file=sys.stderr, flush=True)
    finally:
        spark.stop()
    print(f"\n{_table(found[1:])}\n\nload average at the end: {load()}")


def measure_replay(spark: SparkSession, size: Size, folder: Path, *, plain: bool) -> Replay:
    """Create the table, replay it with every program, and delete it.

    Args:
        plain: also replay with plain Spark.

    Raises:
        RuntimeError: they do not find the same isolations.
    """
    write_table(size, folder / "sends")
    files = f"{folder}/sends/*/*.parquet"
    sends = spark.read.schema(SENDS.schema).parquet(files)

    def replay(write: str) -> None:
        shutil.rmtree(folder / "kept", ignore_errors=True)
        held = _replayed(spark, sends, size, Settings(), str(folder / "kept"))
        held.write.format(write).mode("overwrite").save(f"{folder}/ours/{_PUBLISHED}")

    with duckdb.connect(config={"temp_directory": f"{folder}/spilled"}) as database:
        database.execute(f"CREATE VIEW sends AS FROM '{files}'")
        windows = f"CREATE OR REPLACE TABLE isolations AS {ISOLATIONS}"
        by_duckdb = run_warm(lambda: database.execute(windows))
        (folder / "theirs").mkdir()
        database.execute(f"COPY isolations TO '{folder}/theirs/{_PUBLISHED}.parquet'")
        rows = database.execute("SELECT count(*) FROM sends").fetchone() or (0,)
    replay("parquet")
    found = check_same_rows(folder / "ours", folder / "theirs", [_PUBLISHED])
    faultline = run_once(lambda: replay("noop"))
    by_spark = run_warm(all_rows(isolations(sends))) if plain else None
    shutil.rmtree(folder)
    return Replay(size, rows[0], found[_PUBLISHED], faultline, by_duckdb, by_spark)


def _replayed(spark: SparkSession, sends: DataFrame, size: Size, settings: Settings, kept: str) -> DataFrame:
    nothing, no_routes = (
        spark.createDataFrame([], definition.schema) for definition in (FAULT_ITEM_STATE, TOPIC_BROKERS)
    )
    day = Day(size.dates[0], CLUSTER)
    of = DayOfProducers(sends, nothing.drop("event_date"), no_routes, has_async=False)
    return replayed(of, day, settings, materializer(spark, kept)).isolations


def _table(found: list[Replay]) -> str:
    head = (
        "sends", "isolations", "seconds", "CPU s", "growth: sends", "seconds", "DuckDB: seconds", "CPU s",
        "× DuckDB", "plain Spark: seconds", "CPU s", "× plain Spark",
    )  # fmt: skip
    base, rows = found[0], []
    for replay in found:
        spark = replay.by_spark
        rows.append((
            f"{replay.sends:,}{' skewed' if replay.size.skewed else ''}", f"{replay.isolations:,}",
            f"{replay.faultline.seconds:.1f}", f"{replay.faultline.cpu_seconds:.1f}", ratio(replay.sends, base.sends),
            ratio(replay.faultline.seconds, base.faultline.seconds), f"{replay.by_duckdb.seconds:.1f}",
            f"{replay.by_duckdb.cpu_seconds:.1f}", ratio(replay.faultline.seconds, replay.by_duckdb.seconds),
            f"{spark.seconds:.1f}" if spark else "", f"{spark.cpu_seconds:.1f}" if spark else "",
            ratio(replay.faultline.seconds, spark.seconds) if spark else "",
        ))  # fmt: skip
    return table(head, rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.replay",
        description="The replay alone, warm, from the table sends to isolations, even and skewed, and the same"
        " isolations by windows over every send. Ratios below 1: Faultline is faster.",
    )
    parser.add_argument(
        "--sends", type=int, nargs="+", default=[4_000_000, 20_000_000], metavar="N", help="sizes; default %(default)s"
    )
    parser.add_argument("--even-only", action="store_true", help="leave the skewed days out")
    parser.add_argument("--alone", action="store_true", help="leave plain Spark out, which takes longest")
    parser.add_argument("--memory", default="4g", help="of the driver, as Spark writes it; default %(default)s")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="for the tables; default the system's")
    return parser


if __name__ == "__main__":
    main()
