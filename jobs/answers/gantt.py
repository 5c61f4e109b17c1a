"""Intervals as bars of a Plotly figure: merged when there are too many, side by side when they overlap."""

from __future__ import annotations

import html
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from jobs.answers.words import clock_time
from jobs.text.terminal import duration, escaped, shortened

_PIXELS = 1600
_THICKNESS = 0.76
_FEW, _FEW_OF_MANY, _MANY = 4, 1, 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Bar:
    """One bar.

    Attributes:
        row: which row of the figure, from the top.
        kind: what its colour says.
        hollow: drawn as an outline.
        start_ms: left end, epoch ms.
        end_ms: right end, epoch ms.
        source: the row of the table that it shows; the first one if several are merged.
        rows: number of rows of the table that it shows.
        whole: the bar that it is a piece of; None = it is whole.
    """

    row: int
    kind: str
    hollow: bool
    start_ms: int
    end_ms: int
    source: Mapping[str, Any]
    rows: int = 1
    whole: Bar | None = None


def merged(bars: Iterable[Bar], most: int, blur: str | None = None) -> list[Bar]:
    """At most about `most` bars: if there are more, bars of one row that nearly touch become one.

    The gap that is bridged begins at a pixel of the whole figure and grows until few enough are left, so a figure
    with no more bars than that keeps each of them.

    Args:
        bars: one for each row of a table.
        most: how many bars there may be.
        blur: None joins only bars of the same kind. A name also joins bars of different kinds that are shorter than the
            gap, into one of this kind: it shows where a row changes hands all the time.
    """
    left = list(bars)
    if len(left) <= most:
        return left
    first, last = min(bar.start_ms for bar in left), max(bar.end_ms for bar in left)
    gap_ms = max(1, (last - first) // _PIXELS)
    while len(left) > most and gap_ms <= 2 * (last - first):
        left = _bridged(left, gap_ms, blur)
        gap_ms += gap_ms // 2 + 1
    return left


def _bridged(bars: Iterable[Bar], gap_ms: int, blur: str | None) -> list[Bar]:
    """Join neighbours with at most `gap_ms` between them."""

    def kept_apart(bar: Bar) -> tuple[int, str, bool]:
        if blur is None:
            return bar.row, bar.kind, bar.hollow
        is_short = bar.kind == blur or bar.end_ms - bar.start_ms <= gap_ms
        return (bar.row, blur, False) if is_short else (bar.row, bar.kind, bar.hollow)

    found: list[Bar] = []
    for bar in sorted(bars, key=lambda bar: (kept_apart(bar), bar.start_ms, bar.end_ms)):
        before = found[-1] if found else None
        if before is not None and kept_apart(before) == kept_apart(bar) and bar.start_ms - before.end_ms <= gap_ms:
            kind = bar.kind if blur is None or before.kind == bar.kind else blur
            found[-1] = replace(before, kind=kind, end_ms=max(before.end_ms, bar.end_ms), rows=before.rows + bar.rows)
        else:
            found.append(bar)
    return found


def lanes(bars: Iterable[Bar]) -> dict[Bar, tuple[int, int]]:
    """The bars, cut where the number of bars beside them changes: piece to its lane and the number of lanes there.

    A bar that is alone, or has no length, has its row to itself. More than a few at once share a power of two of lanes,
    so that they are not cut at every edge of each other; of very many bars, more than one at once do.
    """
    in_order = sorted(bars, key=lambda bar: (bar.row, bar.start_ms, bar.end_ms))
    few = _FEW if len(in_order) <= _MANY else _FEW_OF_MANY
    found = {bar: (0, 1) for bar in in_order if bar.start_ms == bar.end_ms}
    for _, of_row in groupby((bar for bar in in_order if bar not in found), key=lambda bar: bar.row):
        found.update(_pieces(list(of_row), few))
    return found


def _pieces(bars: Sequence[Bar], few: int) -> Iterator[tuple[Bar, tuple[int, int]]]:
    """Pieces of the bars of one row, which begin one after the other."""
    left, side_by_side = deque(bars), list[Bar | None]()
    since: dict[Bar, tuple[int, tuple[int, int]]] = {}
    for at_ms in sorted({edge for bar in bars for edge in (bar.start_ms, bar.end_ms)}):
        side_by_side = [bar if bar is not None and bar.end_ms > at_ms else None for bar in side_by_side]
        while left and left[0].start_ms == at_ms:
            lane = side_by_side.index(None) if None in side_by_side else len(side_by_side)
            side_by_side[lane : lane + 1] = [left.popleft()]
        there = [bar for bar in side_by_side if bar is not None]
        if len(there) <= few:
            side_by_side = [*there]
        count = len(there) if len(there) <= few else 1 << (len(side_by_side) - 1).bit_length()
        places = {bar: (lane, count) for lane, bar in enumerate(side_by_side) if bar is not None}
        for bar, (start_ms, place) in [*since.items()]:
            if places.get(bar) != place:
                del since[bar]
                is_whole = (start_ms, at_ms) == (bar.start_ms, bar.end_ms)
                yield bar if is_whole else replace(bar, start_ms=start_ms, end_ms=at_ms, whole=bar), place
        for bar, place in places.items():
            since.setdefault(bar, (at_ms, place))


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
        name: for the legend; Plotly's markup, see `named`.
        bars: what to draw.
        places: middle and thickness of each bar, in rows.
        hover: what a bar, and each piece of it, says; Plotly's markup, see `named`.
        marker: Plotly's `marker`.
        more: further attributes of the trace.
    """
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "base": [bar.start_ms for bar in bars],
        "x": [bar.end_ms - bar.start_ms for bar in bars],
        "y": list(places[0]),
        "width": list(places[1]),
        "hovertext": [hover(bar.whole or bar) for bar in bars],
        "hoverinfo": "text",
        "marker": dict(marker),
        **more,
    }


def in_lanes(bars: Sequence[Bar], lane_of: Mapping[Bar, tuple[int, int]]) -> tuple[list[float], list[float]]:
    """Middle and thickness of bars that share their rows."""
    places = [(bar.row - _THICKNESS / 2, *lane_of[bar]) for bar in bars]
    middles = [top + (lane + 0.5) * _THICKNESS / count for top, lane, count in places]
    return middles, [_THICKNESS / count for *_, count in places]


def markup(text: str) -> str:
    r"""Text escaped for Plotly, which reads some tags as markup.

    >>> markup("<b>a</b> & \u202eb")
    '&lt;b&gt;a&lt;/b&gt; &amp; \\u202eb'
    """
    return html.escape(escaped(text), quote=False)


def named(name: str, most: int = 80) -> str:
    """A name escaped for Plotly; a very long one loses its middle."""
    return markup(shortened(escaped(name), most))


def interval_words(start_ms: int, end_ms: int) -> str:
    """Start, end and length; the end has a day only if it differs.

    >>> interval_words(1_795_219_611_042, 1_795_219_612_242)
    '2026-11-21 00:06:51.042 – 00:06:52.242 UTC, 1.2 s'
    """
    start, end = clock_time(start_ms, with_day=True), clock_time(end_ms, with_day=True)
    until = end[11:] if end[:10] == start[:10] else end
    return f"{start} – {until} UTC, {duration(end_ms - start_ms)}"
