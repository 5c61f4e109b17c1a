"""Sends, failures and latency of brokers over time, minute by minute, or coarser where that would be too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.published import Published
from jobs.tables import BROKER_WINDOWS

MOST_POINTS = 1500
_MINUTE_MS = 60_000
_WIDTHS = (1, 2, 5, 10, 15, 30, 60, 120, 360, 1440)
_SUMS = ("sends", "failures", "isolated_ms")
_HIGHEST = ("latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_max_ms", "isolating_producers")


@dataclass(frozen=True)
class Point:
    """One broker, or all, in one window; a percentile is the highest of the minutes and brokers in it."""

    start_ms: int
    sends: int
    failures: int
    isolated_ms: int
    latency_p50_ms: int | None
    latency_p95_ms: int | None
    latency_p99_ms: int | None
    latency_max_ms: int | None
    isolating_producers: int


@dataclass(frozen=True)
class Minutes:
    """Windows of `width_ms` with sends or isolation, in order.

    Attributes:
        width_ms: length of a window, whole minutes.
        all_brokers: every broker of the cluster together.
        of_broker: the worst brokers, worst first.
        brokers: how many brokers there are.
    """

    width_ms: int
    all_brokers: tuple[Point, ...]
    of_broker: dict[str, tuple[Point, ...]]
    brokers: int


def minutes(published: Published, most_brokers: int) -> Minutes:
    """Windows of all brokers together, and of the `most_brokers` isolated longest, then failing most."""
    found = published.rows(BROKER_WINDOWS, ["broker_name", "window_start_ms", *_SUMS, *_HIGHEST])
    width_ms = _width_ms(found)
    start = pc.multiply(pc.divide(found["window_start_ms"], width_ms), width_ms)
    windows = found.append_column("start_ms", start)
    totals = windows.group_by("broker_name").aggregate([(name, "sum") for name in _SUMS]).to_pylist()
    worst = sorted(
        totals,
        key=lambda row: (-row["isolated_ms_sum"], -row["failures_sum"], -row["sends_sum"], row["broker_name"]),
    )[:most_brokers]
    return Minutes(
        width_ms,
        _points(windows),
        {row["broker_name"]: _points(windows.filter(pc.field("broker_name") == row["broker_name"])) for row in worst},
        len(totals),
    )


def _width_ms(windows: pa.Table) -> int:
    """The finest width with at most `MOST_POINTS` windows over the whole time."""
    if not windows.num_rows:
        return _MINUTE_MS
    bounds = pc.min_max(windows["window_start_ms"])
    minutes_there = (bounds["max"].as_py() - bounds["min"].as_py()) // _MINUTE_MS + 1
    width = next((width for width in _WIDTHS if minutes_there <= width * MOST_POINTS), _WIDTHS[-1])
    return width * _MINUTE_MS


def _points(windows: pa.Table) -> tuple[Point, ...]:
    wanted: Sequence[tuple[str, str]] = [*((name, "sum") for name in _SUMS), *((name, "max") for name in _HIGHEST)]
    rows = windows.group_by("start_ms").aggregate(list(wanted)).sort_by("start_ms").to_pylist()
    return tuple(Point(row["start_ms"], *(row[f"{name}_{how}"] for name, how in wanted)) for row in rows)
