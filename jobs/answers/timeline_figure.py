"""The picture of a night: sends, latency and isolations over one axis of time, as a Plotly figure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from jobs.answers.causes import CLASSES, OTHER
from jobs.answers.events import Event
from jobs.answers.gantt import Bar, bar_trace, in_lanes, interval_words, lanes, named
from jobs.answers.minutes import Minutes
from jobs.answers.producers import group_name
from jobs.answers.rates_figure import rate_traces
from jobs.answers.timeline import Row, Timeline, isolation_hover
from jobs.answers.window import Window
from jobs.text.terminal import counted, duration

_SENDS_PX, _LATENCY_PX, _ROW_PX, _GAP_PX, _AXIS_PX, _LEGEND_PX = 110, 150, 17, 22, 46, 34
_LABEL = 30
_EVENT, _GREY, _CLEAR = "#7a828e", "#808080", "rgba(0,0,0,0)"
_BELOW = {"xaxis": "x2", "yaxis": "y", "legend": "legend2"}

Figure = dict[str, Any]


def timeline_figure(
    drawn: Timeline, windows: Minutes, events: Sequence[Event], within: Window | None = None
) -> tuple[Figure, list[list[dict[str, Any]]]]:
    """The figure, and the data of its first five traces for all brokers and for each of the worst.

    The figure is Plotly's JSON: `data`, `layout`, and `height` in pixels. Colours of text and lines are left to the
    page, which knows whether it is light or dark. It shows `within` at first, else all there is.
    """
    views = list(map(rate_traces, (windows.all_brokers, *windows.of_broker.values())))
    traces = [*views[0], *_event_trace(drawn, events), *_isolation_traces(drawn)]
    gantt_px = max(2, len(drawn.rows)) * _ROW_PX
    height = _LEGEND_PX + _SENDS_PX + _GAP_PX + _LATENCY_PX + _AXIS_PX + _LEGEND_PX + gantt_px + _AXIS_PX
    span = _range(drawn, windows) if within is None else [within.since_ms, within.until_ms]
    return {"data": traces, "layout": _layout(drawn, events, span, height, gantt_px), "height": height}, views


def _isolation_traces(drawn: Timeline) -> list[dict[str, Any]]:
    """One for each kind, switch, and whether the bars are of one producer or of a row that unfolds."""
    lane_of = lanes(drawn.bars)
    traces: list[dict[str, Any]] = []
    others = sorted({bar.kind for bar in drawn.bars} - CLASSES.keys(), key=lambda kind: (kind == OTHER, kind))
    for kind, hollow, meta in product((*CLASSES, *others), (False, True), ("isolation", "together")):
        of_one = meta == "isolation"
        bars = [bar for bar in lane_of if (bar.kind, bar.hollow, "client_id" in bar.source) == (kind, hollow, of_one)]
        if bars:
            colour = CLASSES.get(kind, _GREY)
            marker = {"color": _CLEAR if hollow else colour, "line": {"color": colour, "width": 1}}
            is_first = all(trace["legendgroup"] != kind for trace in traces)
            more = {**_BELOW, "legendgroup": kind, "meta": meta, "showlegend": is_first}
            traces.append(bar_trace(named(kind), bars, in_lanes(bars, lane_of), isolation_hover, marker, **more))
    return traces


def _event_trace(drawn: Timeline, events: Sequence[Event]) -> list[dict[str, Any]]:
    """A thin bar on the heading of each of its brokers; its band over the producers is a shape."""
    bars = [
        Bar(rows[0], "event", False, event.row["bad_from_ms"], event.row["last_bad_ms"], {"event": event})
        for event, rows in _rows_of(drawn, events)
    ]
    places = [bar.row for bar in bars], [0.5] * len(bars)
    marker = {"color": _EVENT, "line": {"color": _EVENT, "width": 1}}
    return [bar_trace("event", bars, places, _event_hover, marker, **_BELOW, meta="event")] if bars else []


def _rows_of(drawn: Timeline, events: Sequence[Event]) -> list[tuple[Event, tuple[int, int]]]:
    """Each event with first and last row of each of its brokers that is drawn."""
    return [(event, rows) for event in events for broker in event.row["brokers"] if (rows := drawn.rows_of(broker))]


def _event_hover(bar: Bar) -> str:
    event: Event = bar.source["event"]
    row = event.row
    return (
        f"<b>event at {named(event.where)}: {event.what}</b><br>{interval_words(bar.start_ms, bar.end_ms)}<br>"
        f"{event.answered}<br>hit {row['hit_producers']:,} of {counted(row['producers'], 'producer')},"
        f" avoided by {row['avoiding_producers']:,}<br>"
        f"sends: {row['lost_sends']:,} lost, {row['saved_sends']:,} saved by a retry, {row['slow_sends']:,} slow"
    )


def _layout(
    drawn: Timeline,
    events: Sequence[Event],
    span: list[int],
    height: int,
    gantt_px: int,
) -> dict[str, Any]:
    plot_px = height - _LEGEND_PX - _AXIS_PX
    sends = [1 - _SENDS_PX / plot_px, 1.0]
    latency_top = sends[0] - _GAP_PX / plot_px
    latency = [latency_top - _LATENCY_PX / plot_px, latency_top]
    time_axis = {"type": "date", "range": span, "tickformatstops": TICKS}
    return {
        "barmode": "overlay",
        "bargap": 0,
        "hovermode": "closest",
        "dragmode": "zoom",
        "margin": {"l": 215, "r": 16, "t": _LEGEND_PX, "b": _AXIS_PX},
        "legend": {**LEGEND, "y": 1},
        "legend2": {**LEGEND, "y": gantt_px / plot_px},
        "xaxis": {**time_axis, "anchor": "y3", "domain": [0, 1]},
        "xaxis2": {**time_axis, "anchor": "y", "matches": "x", "title": {"text": "time, UTC"}},
        "yaxis": {
            "domain": [0, gantt_px / plot_px],
            "range": [len(drawn.rows) - 0.4, -0.6],
            "tickvals": list(range(len(drawn.rows))),
            "ticktext": [_label(row, None if row.parent is None else drawn.rows[row.parent]) for row in drawn.rows],
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
        },
        "yaxis2": {
            "domain": sends,
            "title": {"text": "sends<br>per second"},
            "fixedrange": True,
            "rangemode": "tozero",
        },
        "yaxis3": {
            "domain": latency,
            "title": {"text": "latency, ms"},
            "type": "log",
            "dtick": 1,
            "fixedrange": True,
        },
        "shapes": [*_bands(drawn, events), *_rules(drawn)],
    }


LEGEND = {"orientation": "h", "x": 0, "xanchor": "left", "yanchor": "bottom", "traceorder": "normal"}
TICKS = [
    {"dtickrange": [None, 1000], "value": "%H:%M:%S.%L"},
    {"dtickrange": [1000, 60_000], "value": "%H:%M:%S"},
    {"dtickrange": [60_000, 86_400_000], "value": "%H:%M"},
    {"dtickrange": [86_400_000, None], "value": "%Y-%m-%d"},
]


def _range(drawn: Timeline, windows: Minutes) -> list[int]:
    """From the first to the last send or start of an isolation; a double click shows the ends of long ones beyond."""
    points = [point for point in windows.all_brokers if point.sends]
    starts = [*(bar.start_ms for bar in drawn.bars), *(point.start_ms for point in points[:1])]
    ends = [point.start_ms + point.width_ms for point in points[-1:]] or [bar.end_ms for bar in drawn.bars]
    if not starts:
        return [0, 86_400_000]
    first, last = min(starts), max(*starts, *ends)
    pad = (last - first) // 60
    return [first - pad, last + pad]


def _bands(drawn: Timeline, events: Sequence[Event]) -> list[dict[str, Any]]:
    return [
        {
            "type": "rect",
            "xref": "x2",
            "yref": "y",
            "x0": event.row["bad_from_ms"],
            "x1": event.row["last_bad_ms"],
            "y0": rows[0] - 0.5,
            "y1": rows[1] + 0.5,
            "fillcolor": "rgba(122,130,142,0.28)",
            "line": {"width": 0},
            "layer": "below",
        }
        for event, rows in _rows_of(drawn, events)
    ]


def _rules(drawn: Timeline) -> list[dict[str, Any]]:
    """A line above each broker's heading."""
    return [
        {
            "type": "line",
            "xref": "paper",
            "yref": "y",
            "x0": 0,
            "x1": 1,
            "y0": place - 0.5,
            "y1": place - 0.5,
            "line": {"width": 1, "color": "rgba(128,128,128,0.6)"},
            "layer": "below",
        }
        for place, row in enumerate(drawn.rows)
        if row.parent is None
    ]


def _label(row: Row, above: Row | None) -> str:
    """A broker and how long it was isolated, else what the row adds to the one that unfolds to it."""
    if above is None:
        return f"<b>{named(row.broker_name, _LABEL // 2)}</b> {duration(row.isolated_ms)}"
    group, many = group_name(row.producer_group), "" if row.client_id else f" ({row.producers:,})"
    if row.host is None:
        return named(f"{group} {row.client_version or 'version unknown'}{many}", _LABEL)
    where = (row.client_id or row.host) if above.host else f"{row.host}{many}"
    return named(f"{group} {where}" if above.parent is None else where, _LABEL)
