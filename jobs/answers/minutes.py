"""Sends, failures and latency of brokers over time: by the second around events, elsewhere by the minute or coarser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.events import Event
from jobs.answers.published import Published
from jobs.answers.window import MINUTE_MS
from jobs.tables import BROKER_WINDOWS, SENDS
from jobs.text.terminal import counted
from udfs.plain_outcome import ANSWERS, SENT

MOST_POINTS = 1500
_WIDTHS = (1, 2, 5, 10, 15, 30, 60, 120, 360, 1440)
_BEFORE_MS, _AFTER_MS, _LONGEST_TO_ANSWER_MS = 30_000, 60_000, 60_000
_FINE_MS, _FINER_MS, _MOST_FINER_MS = 5_000, 1_000, 1_200_000
_COUNTS = ("sends", "failures")
_PERCENTILES = {"latency_p50_ms": 50, "latency_p95_ms": 95, "latency_p99_ms": 99}
_OF_BROKER = ("broker_name", "start_ms")
_COLUMNS = [*_OF_BROKER, "width_ms", *_COUNTS, *_PERCENTILES]


@dataclass(frozen=True)
class Point:
    """One broker, or all, in `width_ms`; a percentile is the highest of the minutes and brokers in it."""

    start_ms: int
    width_ms: int
    sends: int
    failures: int
    latency_p50_ms: int | None
    latency_p95_ms: int | None
    latency_p99_ms: int | None


@dataclass(frozen=True)
class Minutes:
    """Windows with sends or isolation, in order; around events, those with sends.

    Attributes:
        all_brokers: every broker of the cluster together.
        of_broker: the worst brokers, worst first.
        brokers: how many brokers there are.
        not_drawn: a sentence for each thing left out.
    """

    all_brokers: tuple[Point, ...]
    of_broker: dict[str, tuple[Point, ...]]
    brokers: int
    not_drawn: tuple[str, ...] = ()


def minutes(published: Published, most_brokers: int, events: Sequence[Event] = ()) -> Minutes:
    """Windows of all brokers together, and of the `most_brokers` isolated longest, then failing most.

    Around events they are of 1 s, or of 5 s when that would be many; around those that are beyond even this, as wide
    as elsewhere. They are counted from `sends`, all or none of a window, and only if these are as many as it says.

    Args:
        published: the days.
        most_brokers: how many brokers to tell apart.
        events: around which to look closer, the gravest first.

    Raises:
        LakeError: a table cannot be read.
    """
    found = published.rows(BROKER_WINDOWS, ["broker_name", "window_start_ms", *_COUNTS, "isolated_ms", *_PERCENTILES])
    totals = found.group_by("broker_name").aggregate([(name, "sum") for name in (*_COUNTS, "isolated_ms")]).to_pylist()
    worst = sorted(
        totals,
        key=lambda row: (-row["isolated_ms_sum"], -row["failures_sum"], -row["sends_sum"], row["broker_name"]),
    )[:most_brokers]
    width_ms = _width_ms(found)
    windows = found.append_column("start_ms", _floor(found["window_start_ms"], width_ms)).append_column(
        "width_ms", pa.array([width_ms] * found.num_rows, pa.int64())
    )
    there = set(windows["start_ms"].to_pylist())
    around = [_around(event, width_ms) & there for event in events]
    close = _few_enough(around, width_ms)
    windows, gone = _closer(published, windows, close, width_ms) if close else (windows, close)
    return Minutes(
        _points(windows),
        {row["broker_name"]: _points(windows.filter(pc.field("broker_name") == row["broker_name"])) for row in worst},
        len(totals),
        tuple(_not_drawn(around, close, gone)),
    )


def _width_ms(windows: pa.Table) -> int:
    """The finest width with at most `MOST_POINTS` windows over the whole time."""
    if not windows.num_rows:
        return MINUTE_MS
    bounds = pc.min_max(windows["window_start_ms"])
    minutes_there = (bounds["max"].as_py() - bounds["min"].as_py()) // MINUTE_MS + 1
    width = next((width for width in _WIDTHS if minutes_there <= width * MOST_POINTS), _WIDTHS[-1])
    return width * MINUTE_MS


def _floor(instants: Any, width_ms: int) -> Any:
    """Starts of the windows of some instants, a column or an expression."""
    return pc.multiply(pc.divide(instants, pa.scalar(width_ms)), pa.scalar(width_ms))


def _around(event: Event, width_ms: int) -> set[int]:
    """Starts of the windows from shortly before the event to shortly after its next answer, or its last bad attempt."""
    last_bad_ms, answered_ms = event.row["last_bad_ms"], event.row["bad_until_ms"] or 0
    first_ms = (event.row["bad_from_ms"] - _BEFORE_MS) // width_ms * width_ms
    end_ms = min(max(last_bad_ms, answered_ms), last_bad_ms + _LONGEST_TO_ANSWER_MS) + _AFTER_MS
    return set(range(first_ms, end_ms, width_ms))


def _few_enough(around: Iterable[set[int]], width_ms: int) -> set[int]:
    """Windows of the first events, and of later ones that still fit."""
    found: set[int] = set()
    for windows in around:
        if len(found | windows) * width_ms <= MOST_POINTS * _FINE_MS:
            found |= windows
    return found


def _closer(published: Published, windows: pa.Table, close: set[int], width_ms: int) -> tuple[pa.Table, set[int]]:
    """The windows, with those of `close` cut into bins, and the starts of those of which `sends` lacks a send."""
    minute = pc.min_max(windows["window_start_ms"])
    since_ms = max(min(close), minute["min"].as_py())
    until_ms = min(max(close) + width_ms, minute["max"].as_py() + MINUTE_MS)
    ended, columns = pc.field("ended_at_ms"), ["broker_name", "ended_at_ms", "mode", "outcome", "latency_ms"]
    is_close = (ended >= since_ms) & (ended < until_ms) & _floor(ended, width_ms).isin(list(close))
    sends = replace(published, producer_group=None).rows(SENDS, columns, is_close)
    window = _floor(sends["ended_at_ms"], width_ms)
    held = {each["values"]: each["counts"] for each in pc.value_counts(window).to_pylist()}
    gone = {
        row["start_ms"]
        for row in windows.group_by("start_ms").aggregate([("sends", "sum")]).to_pylist()
        if row["start_ms"] in close and row["sends_sum"] != held.get(row["start_ms"], 0)
    }
    cut = pa.array(close - gone, pa.int64())
    bin_ms = _FINER_MS if len(close) * width_ms <= _MOST_FINER_MS else _FINE_MS
    bins = _bins(sends.filter(pc.is_in(window, cut)), bin_ms)
    left = windows.filter(pc.invert(pc.is_in(windows["start_ms"], cut))).select(_COLUMNS)
    return pa.concat_tables([left, bins], promote_options="default"), gone


def _bins(sends: pa.Table, bin_ms: int) -> pa.Table:
    """A row for each broker and bin with sends, counted as `broker_windows` counts a minute."""
    is_answer = pc.is_in(sends["outcome"], pa.array(ANSWERS))
    failed = pc.invert(pc.or_(is_answer, pc.equal(sends["outcome"], SENT)))
    in_bins = (
        sends.select(["broker_name", "latency_ms"])
        .append_column("start_ms", _floor(sends["ended_at_ms"], bin_ms))
        .append_column("failures", pc.cast(failed, pa.int64()))
    )
    counts = in_bins.group_by(_OF_BROKER).aggregate([([], "count_all"), ("failures", "sum")])
    answers = in_bins.filter(pc.and_(is_answer, pc.not_equal(sends["mode"], "ONEWAY"))).sort_by(
        [(name, "ascending") for name in (*_OF_BROKER, "latency_ms")]
    )
    latencies = answers.group_by(_OF_BROKER, use_threads=False).aggregate([([], "count_all")])
    number = latencies["count_all"]
    before = pc.subtract(pc.cumulative_sum(number), number)
    for name, percent in _PERCENTILES.items():
        rank = pc.divide(pc.add(pc.multiply(number, percent), 99), 100)  # rounded up, from 1
        at = pc.subtract(pc.add(before, rank), 1)
        latencies = latencies.append_column(name, answers["latency_ms"].take(at))
    return (
        counts.rename_columns([*_OF_BROKER, *_COUNTS])
        .join(latencies.drop_columns("count_all"), list(_OF_BROKER))
        .append_column("width_ms", pa.array([bin_ms] * counts.num_rows, pa.int64()))
        .select(_COLUMNS)
    )


def _points(windows: pa.Table) -> tuple[Point, ...]:
    wanted = [*((name, "sum") for name in _COUNTS), *((name, "max") for name in _PERCENTILES)]
    rows = windows.group_by(["start_ms", "width_ms"]).aggregate(wanted).sort_by("start_ms").to_pylist()
    return tuple(
        Point(row["start_ms"], row["width_ms"], *(row[f"{name}_{how}"] for name, how in wanted)) for row in rows
    )


def _not_drawn(around: Iterable[set[int]], close: set[int], gone: set[int]) -> Iterator[str]:
    if beyond := sum(not windows <= close for windows in around):
        yield f"sends and latency by the second around {counted(beyond, 'event')}, less grave or too long"
    if lost := sum(not windows.isdisjoint(gone) for windows in around):
        yield f"sends and latency by the second around {counted(lost, 'event')}: the lake does not hold all these sends"
