"""Owners of a consumer group's queues over time, below what its rebalances moved, as a Plotly figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobs.answers.gantt import Bar, bar_trace, in_lanes, lanes, named
from jobs.answers.groups import NOBODY, SEVERAL, Ownership, owner_hover, rebalance_hover
from jobs.answers.timeline_figure import LEGEND, TICKS, Figure
from jobs.answers.window import Window

_CHURN_PX, _ROW_PX, _AXIS_PX, _LEGEND_PX = 90, 17, 46, 34
_LABEL = 28
_MOST_NAMED = 24
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b5a400")
_PATTERNS = ("", "/", "x", ".")
_NOBODY_MARKER = {
    "color": "rgba(128,128,128,0.15)",
    "line": {"color": "#808080", "width": 1},
    "pattern": {"shape": "\\", "fgcolor": "#808080", "size": 6},
}
_SEVERAL_MARKER = {"color": "#808080", "line": {"color": "#808080", "width": 1}}


def group_figure(ownership: Ownership, within: Window | None = None) -> Figure:
    """Plotly's JSON: `data`, `layout`, and `height` in pixels; colours of text and lines are left to the page."""
    owners = sorted({bar.kind for bar in ownership.bars if not _is_special(bar)})
    span = _range(ownership) if within is None else [within.since_ms, within.until_ms]
    gantt_px = max(2, len(ownership.queues)) * _ROW_PX
    owners_px = _LEGEND_PX * (1 + min(len(owners), _MOST_NAMED) // 5)
    height = _LEGEND_PX + _CHURN_PX + _AXIS_PX + owners_px + gantt_px + _AXIS_PX
    traces = [*_churn(ownership, span), *_owner_traces(ownership, owners)]
    return {"data": traces, "layout": _layout(ownership, span, height, gantt_px), "height": height}


def _is_special(bar: Bar) -> bool:
    """Whether nobody or several in turn owned it; a client may have such a name, but is neither hollow nor joined."""
    return (bar.kind == NOBODY and bar.hollow) or (bar.kind == SEVERAL and bar.rows > 1)


def _owner_traces(ownership: Ownership, owners: Sequence[str]) -> list[dict[str, Any]]:
    lane_of = lanes(ownership.bars)
    kinds = [
        *((owner, _marker(number), False) for number, owner in enumerate(owners)),
        (NOBODY, _NOBODY_MARKER, True),
        (SEVERAL, _SEVERAL_MARKER, True),
    ]
    traces = []
    for kind, marker, is_special in kinds:
        bars = [bar for bar in lane_of if bar.kind == kind and _is_special(bar) == is_special]
        if bars:
            in_legend = is_special or len(owners) <= _MOST_NAMED
            more = {"xaxis": "x2", "yaxis": "y", "meta": "owner", "legend": "legend2", "showlegend": in_legend}
            traces.append(bar_trace(named(kind, _LABEL), bars, in_lanes(bars, lane_of), owner_hover, marker, **more))
    return traces


def _marker(number: int) -> dict[str, Any]:
    """Colour by colour, then the same ones hatched."""
    colour = _COLOURS[number % len(_COLOURS)]
    shape = _PATTERNS[number // len(_COLOURS) % len(_PATTERNS)]
    pattern = {"shape": shape, "bgcolor": colour, "fgcolor": "#ffffff", "fgopacity": 0.8, "size": 6}
    return {"color": colour, "line": {"color": "rgba(128,128,128,0.7)", "width": 1}} | (
        {"pattern": pattern} if shape else {}
    )


def _churn(ownership: Ownership, span: list[int]) -> list[dict[str, Any]]:
    """Two bars for each rebalance: queues moved, and in front of it queues that had to move."""
    width = max(1, (span[1] - span[0]) // 220)
    at = [change["changed_at_ms"] for change in ownership.rebalances]
    hover = [rebalance_hover(change) for change in ownership.rebalances]
    return [
        {
            "type": "bar",
            "name": name,
            "x": at,
            "y": [change[column] for change in ownership.rebalances],
            "width": width,
            **({"hovertext": hover, "hoverinfo": "text"} if column == "moved" else {"hoverinfo": "skip"}),
            "xaxis": "x",
            "yaxis": "y2",
            "meta": "rebalance",
            "marker": {"color": colour, "line": {"color": colour, "width": 1}},
        }
        for column, name, colour in (("moved", "queues moved", "#e69f00"), ("fewest_moves", "needed", "#0072b2"))
    ]


def _range(ownership: Ownership) -> list[int]:
    first = min(bar.start_ms for bar in ownership.bars)
    last = max(bar.end_ms for bar in ownership.bars)
    pad = max(1, (last - first) // 100)
    return [first - pad, last + pad]


def _layout(ownership: Ownership, span: list[int], height: int, gantt_px: int) -> dict[str, Any]:
    plot_px = height - _LEGEND_PX - _AXIS_PX
    time_axis = {"type": "date", "range": span, "tickformatstops": TICKS}
    labels = [f"{topic} {broker}:{queue}" for topic, broker, queue in ownership.queues]
    return {
        "barmode": "overlay",
        "hovermode": "closest",
        "margin": {"l": 215, "r": 16, "t": _LEGEND_PX, "b": _AXIS_PX},
        "legend": {**LEGEND, "y": 1},
        "legend2": {**LEGEND, "y": gantt_px / plot_px},
        "xaxis": {**time_axis, "anchor": "y2"},
        "xaxis2": {**time_axis, "anchor": "y", "matches": "x", "title": {"text": "time, UTC"}},
        "yaxis": {
            "domain": [0, gantt_px / plot_px],
            "range": [len(labels) - 0.4, -0.6],
            "tickvals": list(range(len(labels))),
            "ticktext": [named(label, _LABEL) for label in labels],
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
        },
        "yaxis2": {
            "domain": [1 - _CHURN_PX / plot_px, 1.0],
            "title": {"text": "queues<br>moved"},
            "rangemode": "tozero",
            "dtick": max(1, max((change["moved"] for change in ownership.rebalances), default=1) // 4),
            "fixedrange": True,
        },
    }
