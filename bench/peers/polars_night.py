"""`python -m bench.peers.polars_night SENDS OUT`: a day of sends as gz JSON lines → Parquet, by Polars.

The same tables and the same assumptions as bench/peers/duckdb_night.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

_SMALL = ("queue_id", "attempt", "response_code")
_LONG = ("invoke_id", "started_at_ms", "ended_at_ms", "latency_ms", "submitted_at_ms", "seq")
_TEXTS = (
    "client_id producer_group process_id cluster topic broker_name broker_addr client_version client_language mode"
    " result_broker_name outcome cause error msg_id thread queue_chosen_by order_key"
)
_SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(_TEXTS.split(), pl.String),
    **dict.fromkeys(_SMALL, pl.Int32),
    **dict.fromkeys(_LONG, pl.Int64),
    **dict.fromkeys(("fault_latency_enabled", "detector_enabled"), pl.Boolean),
}
_ITEM = ("cluster", "client_id", "producer_group", "broker_name")
_KEYS = ("cluster", "broker_name", "window_start_ms")
_MINUTE_MS, _DAY_MS = 60_000, 86_400_000
_LADDERS = {
    True: ((15_000, 30_000), (5_000, 10_000), (3_000, 6_000), (1_800, 5_000), (550, 2_000)),
    False: ((15_000, 600_000), (3_000, 180_000), (2_000, 120_000), (1_000, 60_000), (550, 30_000)),
}
"""Whether the latest end stays (5.3.3) → latency and isolation, highest first."""


def main(sends: Path, out: Path) -> None:
    """Read the folder of sends, write the three tables as Parquet."""
    out.mkdir(parents=True)
    read = pl.scan_ndjson(f"{sends}/*.jsonl.gz", schema=_SCHEMA)
    ended_on = pl.from_epoch("ended_at_ms", "ms").dt.date().alias("event_date")
    read.with_columns(pl.col("cluster").fill_null("main"), ended_on).sink_parquet(out / "sends.parquet")
    published = pl.scan_parquet(out / "sends.parquet")
    held = isolations(published).collect()
    held.write_parquet(out / "isolation_intervals.parquet")
    broker_windows(published, held.lazy()).sink_parquet(out / "broker_windows.parquet")


def isolations(sends: pl.LazyFrame) -> pl.LazyFrame:
    """One row per isolation."""
    at_ms, until_ms = pl.col("at_ms"), pl.col("until_ms")
    latest_stays = pl.col("client_version") >= "5.1.4"
    failure_ms = pl.when(latest_stays).then(10_000).otherwise(30_000)
    counted_ms = pl.when(pl.col("outcome") == "SEND_OK").then("latency_ms").otherwise(failure_ms)
    isolated_ms = (
        pl.when(latest_stays)
        .then(_rung(counted_ms, latest_stays=True))
        .otherwise(_rung(counted_ms, latest_stays=False))
    )
    written_until = at_ms + pl.col("isolated_ms")
    latest = pl.when(pl.col("isolated_ms") > 0).then(written_until).otherwise(0).cum_max().over(_ITEM)
    stretches = (
        sends.select(*_ITEM, pl.col("ended_at_ms").alias("at_ms"), "seq", latest_stays.alias("latest_stays"),
                     isolated_ms.alias("isolated_ms"))
        .sort(*_ITEM, "at_ms", "seq")
        .with_columns(until_ms=pl.when("latest_stays").then(latest).otherwise(written_until))
        .with_columns(
            next_at_ms=at_ms.shift(-1).over(_ITEM),
            is_isolated=until_ms > at_ms,
            was_isolated=(until_ms.shift(1).over(_ITEM) > at_ms).fill_null(value=False),
        )
        .with_columns(isolation=(pl.col("is_isolated") & ~pl.col("was_isolated")).cast(pl.Int64).cum_sum().over(_ITEM))
        .filter("is_isolated")
        .group_by(*_ITEM, "isolation")
        .agg(
            start_ms=at_ms.min(),
            end_ms=pl.min_horizontal("until_ms", "next_at_ms").max(),
            last_until_ms=until_ms.sort_by("at_ms", "seq").last(),
            midnight_ms=(at_ms.min() // _DAY_MS + 1) * _DAY_MS,
        )
    )  # fmt: skip
    ended_by = (
        pl.when(pl.col("end_ms") > pl.col("midnight_ms"))
        .then(pl.lit("DAY_END"))
        .when(pl.col("last_until_ms") > pl.col("end_ms"))
        .then(pl.lit("CLEARED"))
        .otherwise(pl.lit("EXPIRED"))
    )
    return stretches.select(
        *_ITEM,
        "start_ms",
        end_ms=pl.min_horizontal("end_ms", "midnight_ms"),
        ended_by=ended_by,
        enforced=pl.lit(value=True),
    )


def broker_windows(sends: pl.LazyFrame, held: pl.LazyFrame) -> pl.LazyFrame:
    """One row per broker and minute."""
    window_start, producer = pl.col("window_start_ms"), pl.struct("client_id", "producer_group")
    answered = pl.col("latency_ms").filter(pl.col("outcome") == "SEND_OK")
    attempts = (
        sends.with_columns(window_start_ms=pl.col("ended_at_ms") // _MINUTE_MS * _MINUTE_MS)
        .group_by(*_KEYS)
        .agg(
            pl.len().alias("sends"),
            (pl.col("outcome") != "SEND_OK").sum().alias("failures"),
            *(
                answered.quantile(share / 100, "equiprobable").cast(pl.Int64).alias(f"latency_p{share}_ms")
                for share in (50, 95, 99)
            ),
            answered.max().alias("latency_max_ms"),
            producer.n_unique().alias("producers"),
        )
    )
    starts = pl.int_ranges(pl.col("start_ms") // _MINUTE_MS * _MINUTE_MS, "end_ms", _MINUTE_MS)
    overlap = pl.min_horizontal("end_ms", window_start + _MINUTE_MS) - pl.max_horizontal("start_ms", window_start)
    isolated = (
        held.with_columns(window_start_ms=starts)
        .explode("window_start_ms")
        .group_by(*_KEYS)
        .agg(overlap.sum().alias("isolated_ms"), producer.n_unique().alias("isolating_producers"))
    )
    counts = ("sends", "failures", "producers", "isolating_producers", "isolated_ms")
    both = attempts.join(isolated, on=_KEYS, how="full", coalesce=True)
    return both.with_columns(pl.col(counts).fill_null(0))


def _rung(counted_ms: pl.Expr, *, latest_stays: bool) -> pl.Expr:
    rungs = (pl.when(counted_ms >= floor).then(isolation) for floor, isolation in _LADDERS[latest_stays])
    return pl.coalesce(*rungs, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
