"""The policies of a run as a picture: bad sends avoided against good sends steered away."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jobs.errors import UsageError
from jobs.spark.environment import check_extra
from jobs.text.terminal import duration, safe
from jobs.what_if.summary import PolicyLine, WhatIfSummary

_BEST, _OTHER = "#0072b2", "#767676"  # colour-blind safe, and distinct by shape


def check_picture(file: Path) -> None:
    """Fail early if the picture cannot be written.

    Raises:
        UsageError: the file is not .html, or its folder does not exist.
        PlatformError: plotly or jinja2 is missing.
    """
    if file.suffix != ".html":
        raise UsageError(f"--picture {file} must end in .html")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"--picture {file} is in a folder that does not exist; make it first")
    check_extra("--picture", ("plotly", "jinja2"))


def write_picture(summary: WhatIfSummary, file: Path) -> None:
    """One HTML file that loads and sends nothing; names are text in it, never markup."""
    from jinja2 import Environment  # noqa: PLC0415 - an optional extra
    from plotly import graph_objects  # noqa: PLC0415 - same

    from jobs.answers.closed_page import closed, part  # noqa: PLC0415 - same

    best = sorted((line for line in summary.policies if line.is_best), key=lambda line: line.false_alarms)
    others = [line for line in summary.policies if not line.is_best]
    points = [
        _points(best, "none avoids as many with as few", mode="lines+markers+text", symbol="circle", color=_BEST),
        _points(others, "others", mode="markers", symbol="diamond-open", color=_OTHER),
    ]
    figure = graph_objects.Figure(data=points, layout=_layout(summary))
    page = Environment(autoescape=True).from_string(part("picture.html.j2"))
    drawn = closed("picture.js", json.loads(figure.to_json()))
    file.write_text(page.render(title=f"Faultline what-if {summary.span}", closed=drawn), encoding="utf-8")


def _points(lines: Sequence[PolicyLine], name: str, *, mode: str, symbol: str, color: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": name,
        "mode": mode,
        "x": [line.false_alarms for line in lines],
        "y": [line.hits for line in lines],
        "text": [html.escape(safe(line.policy)) for line in lines],
        "textposition": "top center",
        "marker": {"symbol": symbol, "size": 11, "color": color},
        "line": {"color": color, "shape": "hv", "width": 1},
        "hovertext": [_hover(line) for line in lines],
        "hoverinfo": "text",
    }


def _hover(line: PolicyLine) -> str:
    ladder = ", ".join(
        f"{floor}: {length}" for floor, length in zip(line.latency_max_ms, line.not_available_ms, strict=True)
    )
    lines = [
        line.label,
        f"bad sends avoided {line.hits:,}, missed {line.missed:,}",
        f"good sends steered away {line.false_alarms:,}",
        f"{line.isolations:,} isolations, {duration(line.isolated_ms)}",
        f"{line.profile}; {ladder}" if ladder else "each producer's own version and ladder",
    ]
    return "<br>".join(map(html.escape, lines))


def _layout(summary: WhatIfSummary) -> dict[str, Any]:
    sends = f"{summary.bad_sends:,} bad of {summary.sends:,} sends"
    title = f"{summary.span}: {sends}, {summary.unavoidable:,} beyond every policy"
    half = summary.limits.index(", nor ") + 1
    note = f"{html.escape(summary.limits[:half])}<br>{html.escape(summary.limits[half:].strip())}"
    return {
        "title": {"text": html.escape(title)},
        "template": "plotly_white",
        "xaxis": {"title": {"text": "good sends steered away"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "bad sends avoided"}, "rangemode": "tozero"},
        "legend": {"orientation": "h", "y": 1.06},
        "margin": {"b": 130},
        "annotations": [
            {
                "text": note,
                "showarrow": False,
                "align": "left",
                "xref": "paper",
                "yref": "paper",
                "x": 0,
                "y": -0.14,
                "yanchor": "top",
                "xanchor": "left",
                "font": {"size": 11},
            }
        ],
    }
