"""Sends, failures and latency over time, as five traces of a Plotly figure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from jobs.answers.minutes import Point

_LOWEST_MS = 0.4  # for 0 on an axis of logarithms; rounded it is 0 again
_SERIES = (
    ("latency_p99_ms", "p99", "#cc79a7"),
    ("latency_p95_ms", "p95", "#e69f00"),
    ("latency_p50_ms", "p50", "#56b4e9"),
)


def rate_traces(points: Sequence[Point]) -> list[dict[str, Any]]:
    """Sends and failures per second, and three percentiles; each as wide as its point.

    A percentile with the same `x` as the first one has none: `report.js` gives it that one, so that pages stay small.
    """
    failed = [point for point in points if point.failures]
    first, *others = (_percentile(points, *series) for series in _SERIES)
    for trace in others:
        if trace["x"] == first["x"]:
            del trace["x"]
    return [
        _rate("sends", "#8a94a6", points, [point.sends for point in points]),
        _rate("failed", "#d55e00", failed, [point.failures for point in failed]),
        first,
        *others,
    ]


def _rate(name: str, colour: str, points: Sequence[Point], counts: Sequence[int]) -> dict[str, Any]:
    per_second = (count * 1_000 / point.width_ms for point, count in zip(points, counts, strict=True))
    return {
        "type": "bar",
        "name": name,
        "x": [point.start_ms for point in points],
        "y": [float(f"{rate:.4g}") for rate in per_second],
        "width": [point.width_ms for point in points],
        "customdata": [[count, point.width_ms // 1_000] for point, count in zip(points, counts, strict=True)],
        "offset": 0,
        "yaxis": "y2",
        "xaxis": "x",
        "hovertemplate": f"%{{x|%H:%M:%S}} UTC<br>{name}: %{{customdata[0]:,}} in %{{customdata[1]}} s<extra></extra>",
        "marker": {"color": colour, "line": {"width": 0}},
    }


def _percentile(points: Sequence[Point], column: str, name: str, colour: str) -> dict[str, Any]:
    """Steps as wide as the windows, with a gap where there is no window."""
    steps: list[tuple[int, int | None]] = []
    known = [(point, value) for point in points if (value := getattr(point, column)) is not None]
    for (point, value), after in zip_longest(known, known[1:]):
        steps.append((point.start_ms, value))
        end_ms = point.start_ms + point.width_ms
        if after is None or after[0].start_ms > end_ms:
            steps += [(end_ms, value), (end_ms, None)]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [at_ms for at_ms, _ in steps],
        "y": [None if value is None else max(value, _LOWEST_MS) for _, value in steps],
        "line": {"shape": "hv", "color": colour, "width": 2},
        "yaxis": "y3",
        "xaxis": "x",
        "hovertemplate": f"%{{x|%H:%M:%S}} UTC<br>{name} %{{y:,.0f}} ms<extra></extra>",
    }
