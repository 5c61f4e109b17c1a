"""Stretches as bars of a Plotly figure: merged when there are too many, side by side when they overlap."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jobs.answers.words import clock_time
from jobs.text_parts import duration, safe

_PIXELS = 1600
_THICKNESS = 0.76


@dataclass(frozen=True, slots=True, eq=False)
class Bar:
    """One bar.

    Attributes:
        row: which row of the figure, from the top.
        kind: what its colour says.
        hollow: drawn as an outline.
        start_ms: left end, epoch ms.
        end_ms: right end, epoch ms.
        source: the row of the table that it stands for; of merged ones, the first.
        rows: rows of the table that it stands for.
    """

    row: int
    kind: str
    hollow: bool
    start_ms: int
    end_ms: int
    source: Mapping[str, Any]
    rows: int = 1


def merged(bars: Iterable[Bar], most: int) -> list[Bar]:
    """At most about `most` bars: if there are more, bars of one row and kind that nearly touch become one.

    The gap that is bridged begins at a pixel of the whole figure and doubles until few enough are left, so a figure
    with no more bars than that keeps each of them.
    """
    left = sorted(bars, key=lambda bar: (bar.row, bar.kind, bar.hollow, bar.start_ms, bar.end_ms))
    if len(left) <= most:
        return left
    first, last = min(bar.start_ms for bar in left), max(bar.end_ms for bar in left)
    gap = max(1, (last - first) // _PIXELS)
    while len(left) > most and gap <= 2 * (last - first):
        left = _bridged(left, gap)
        gap *= 2
    return left


def _bridged(bars: Sequence[Bar], gap_ms: int) -> list[Bar]:
    found: list[Bar] = []
    for bar in bars:
        before = found[-1] if found else None
        if (
            before is not None
            and (before.row, before.kind, before.hollow) == (bar.row, bar.kind, bar.hollow)
            and bar.start_ms - before.end_ms <= gap_ms
        ):
            found[-1] = replace(before, end_ms=max(before.end_ms, bar.end_ms), rows=before.rows + bar.rows)
        else:
            found.append(bar)
    return found


def lanes(bars: Iterable[Bar]) -> dict[Bar, tuple[int, int]]:
    """Bar to its lane within its row and how many lanes the row has; more than one where bars overlap."""
    places: dict[int, list[int]] = {}
    lane_of: list[tuple[Bar, int]] = []
    for bar in sorted(bars, key=lambda bar: (bar.row, bar.start_ms, bar.end_ms)):
        ends = places.setdefault(bar.row, [])
        free = next((place for place, end_ms in enumerate(ends) if end_ms <= bar.start_ms), len(ends))
        ends[free : free + 1] = [bar.end_ms]
        lane_of.append((bar, free))
    return {bar: (lane, len(places[bar.row])) for bar, lane in lane_of}


def bar_trace(
    name: str,
    bars: Sequence[Bar],
    places: tuple[Sequence[float], Sequence[float]],
    hover: Callable[[Bar], str],
    marker: Mapping[str, Any],
    **more: Any,
) -> dict[str, Any]:
    """A Plotly trace of horizontal bars over an axis of time.

    Args:
        name: for the legend; text, not markup.
        bars: what to draw.
        places: middle and thickness of each bar, in rows.
        hover: what a bar says; Plotly's markup, see `markup`.
        marker: Plotly's `marker`.
        more: further attributes of the trace.
    """
    return {
        "type": "bar",
        "orientation": "h",
        "name": markup(name),
        "base": [bar.start_ms for bar in bars],
        "x": [bar.end_ms - bar.start_ms for bar in bars],
        "y": list(places[0]),
        "width": list(places[1]),
        "hovertext": [hover(bar) for bar in bars],
        "hoverinfo": "text",
        "marker": dict(marker),
        **more,
    }


def in_lanes(bars: Sequence[Bar], lane_of: Mapping[Bar, tuple[int, int]]) -> tuple[list[float], list[float]]:
    """Middle and thickness of bars that share their rows."""
    y, thickness = [], []
    for bar in bars:
        lane, count = lane_of[bar]
        thickness.append(_THICKNESS / count)
        y.append(bar.row - _THICKNESS / 2 + (lane + 0.5) * _THICKNESS / count)
    return y, thickness


def markup(text: str) -> str:
    r"""Text that Plotly shows as it is: it takes some tags for markup, so none is left.

    >>> markup("<b>a</b> & \u202eb")
    '&lt;b&gt;a&lt;/b&gt; &amp; \\u202eb'
    """
    return html.escape(safe(text), quote=False)


def shortened(text: str, most: int) -> str:
    """Text with its middle left out when it is longer than `most` characters.

    >>> shortened("127.0.0.1@producer", 11)
    '127.0…ducer'
    """
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def stretch_words(start_ms: int, end_ms: int) -> str:
    """From, until and how long.

    >>> stretch_words(1_795_219_611_042, 1_795_219_612_242)
    '00:06:51.042 – 00:06:52.242 UTC, 1.2 s'
    """
    until = clock_time(end_ms)
    return f"{clock_time(start_ms)} – {until} UTC, {duration(end_ms - start_ms)}"
