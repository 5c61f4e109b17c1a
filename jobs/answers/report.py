"""`faultline report`: one HTML page that holds everything it needs and asks no network."""

from __future__ import annotations

import base64
import hashlib
import json
from contextlib import suppress
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from jobs.answers.group_figure import group_figure
from jobs.answers.groups import Groups, consumer_groups
from jobs.answers.minutes import minutes
from jobs.answers.night import Night, night
from jobs.answers.published import Published
from jobs.answers.timeline import Timeline, timeline
from jobs.answers.timeline_figure import timeline_figure
from jobs.answers.words import NOTHING, clock_time, counted, percent, unsure_text
from jobs.errors import UsageError
from jobs.text_parts import duration, escaped, safe

_BROKERS_TO_CHOOSE = 8
_UNSAFE_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def write_report(published: Published, output: Path | None) -> str:
    """Write the page and say where.

    Args:
        published: the days to report.
        output: the file; None for `faultline-D.html` in the working directory.

    Raises:
        UsageError: the file cannot be written.
        LakeError: a table cannot be read.
    """
    file = output or Path(f"faultline-{span_name(published)}.html")
    page, unfinished = render(published), file.parent / f".{file.name}.unfinished"
    try:
        unfinished.write_text(page, encoding="utf-8")
        unfinished.replace(file)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise UsageError(
            f"--output {file} cannot be written: {error.strerror}; name a file in a folder that takes it"
        ) from error
    return (
        f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB): {span_name(published)}, cluster {safe(published.cluster)}"
    )


def render(published: Published) -> str:
    """The page as text; the same lake gives the same page.

    Raises:
        LakeError: a table cannot be read.
    """
    told, drawn, groups = night(published), timeline(published), consumer_groups(published)
    windows = minutes(published, _BROKERS_TO_CHOOSE)
    figure, views = timeline_figure(drawn, windows, told.incidents)
    figures = {"timeline": figure, "views": views, "groups": [group_figure(each) for each in groups.ownership]}
    plotly, script = get_plotlyjs(), _part("report.js")
    return (
        _environment(several_days=len(published.days) > 1)
        .from_string(_part("report.html.j2"))
        .render(
            published=published,
            span=span_name(published),
            night=told,
            unsure=unsure_text(published.unsure) if published.unsure else None,
            drawn=drawn,
            windows=windows,
            groups=groups,
            not_drawn=_not_drawn(told, drawn, groups, windows.brokers),
            style=Markup(_part("report.css")),  # noqa: S704 - our own file
            plotly=Markup(plotly),  # noqa: S704 - the library's own file
            script=Markup(script),  # noqa: S704 - our own file
            data=Markup(inert_json(figures)),  # noqa: S704 - escaped for this place
            policy=_policy(plotly, script),
        )
    )


def inert_json(value: Any) -> str:
    r"""JSON that may stand inside a script element: nothing in it can end the element.

    >>> inert_json({"a": "</script>&\u2028"})
    '{"a":"\\u003c/script\\u003e\\u0026\\u2028"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character, harmless in _UNSAFE_IN_SCRIPT.items():
        text = text.replace(character, harmless)
    return text


def span_name(published: Published) -> str:
    """The days as a name.

    >>> import datetime as dt
    >>> span_name(Published("lake", "main", (dt.date(2026, 11, 21),), ()))
    '2026-11-21'
    """
    first, last = published.days[0], published.days[-1]
    return f"{first}" if first == last else f"{first}-to-{last}"


def _policy(*scripts: str) -> str:
    """A Content-Security-Policy under which only these scripts run and nothing is loaded from anywhere."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:;"
        " base-uri 'none'; form-action 'none'"
    )


def _not_drawn(told: Night, drawn: Timeline, groups: Groups, brokers: int) -> list[str]:
    found = [*told.not_drawn, *drawn.not_drawn, *groups.not_drawn]
    if brokers > _BROKERS_TO_CHOOSE:
        found.append(
            f"sends and latency of {counted(brokers - _BROKERS_TO_CHOOSE, 'broker')} that were isolated less;"
            " they are part of all brokers"
        )
    return found


def _environment(*, several_days: bool) -> Environment:
    """Escapes whatever is not ours, and shows control characters instead of passing them on."""
    made = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_finalized, trim_blocks=True, lstrip_blocks=True
    )
    made.filters.update(
        at=partial(clock_time, with_day=several_days), lasted=duration, counted=counted, percent=percent
    )
    made.globals.update(nothing=NOTHING)
    return made


def _finalized(value: Any) -> Any:
    if value is None:
        return NOTHING
    if isinstance(value, str) and not isinstance(value, Markup):
        return escaped(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value


def _part(name: str) -> str:
    return files("jobs.answers").joinpath("page", name).read_text(encoding="utf-8")
