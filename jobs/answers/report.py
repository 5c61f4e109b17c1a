"""`faultline report`: one self-contained HTML page that needs no network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from jobs.answers.closed_page import closed, inert_json, part
from jobs.answers.days import not_published_text
from jobs.answers.event_details import event_details
from jobs.answers.events import IN_FULL
from jobs.answers.explain_isolation import Ladders, Released
from jobs.answers.group_figure import group_figure
from jobs.answers.groups import MOST_BELOW, Groups, consumer_groups
from jobs.answers.minutes import Minutes, minutes
from jobs.answers.night import MOST_EVENTS, Night, night
from jobs.answers.published import Published
from jobs.answers.rests_on import rests_on
from jobs.answers.runs import ALLOCATION, FAULT_LATENCY, not_given, unsure_days
from jobs.answers.settings_of_days import other_settings
from jobs.answers.timeline import Row, Timeline, timeline
from jobs.answers.timeline_figure import timeline_figure
from jobs.answers.words import NOTHING, clock_time, percent, safe_cell, sentence, unsure_text
from jobs.errors import UsageError
from jobs.text.owners import NO_OWNERS, owner_of
from jobs.text.terminal import counted, duration, escaped, safe
from jobs.text.whole_file import write_whole

_NONE: Mapping[str, Any] = MappingProxyType({})
_BROKERS_TO_CHOOSE = 8
_LONGEST_NAME = 100
_MOST_COSTS, _MOST_BELOW = 10, 20


def write_report(
    published: Published,
    output: Path | None,
    owners: Mapping[str, str] = NO_OWNERS,
    released: Released = _NONE,
    ladders: Ladders = _NONE,
) -> str:
    """Write the page and return a sentence that says where.

    Args:
        published: the days to report.
        output: the file; None for `faultline-D.html`, or `faultline-D-GROUP.html`, in the working directory.
        owners: group or glob to its owner.
        released: rules of each profile, by its name; isolations of others are not explained.
        ladders: floors and isolations of producers with a ladder of their own, by client id or group.

    Raises:
        UsageError: the file cannot be written.
        LakeError: a table cannot be read.
    """
    group = published.producer_group
    of_group = "" if group is None else f"-{quote(group, safe='')[:_LONGEST_NAME]}"
    file = output or Path(f"faultline-{span_text(published).replace(' ', '-').replace(':', '')}{of_group}.html")
    page = render(published, owners, released, ladders)
    try:
        write_whole(file, page)
    except OSError as error:
        raise UsageError(
            f"--output {file} cannot be written: {error.strerror}; name a file in a folder that takes it"
        ) from error
    return (
        f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB): {span_text(published)}, cluster {safe(published.cluster)}"
    )


def render(
    published: Published,
    owners: Mapping[str, str] = NO_OWNERS,
    released: Released = _NONE,
    ladders: Ladders = _NONE,
) -> str:
    """The page as text; the same lake and arguments, which are those of `write_report`, give the same page.

    Raises:
        LakeError: a table cannot be read.
    """
    on_night, drawn = night(published), timeline(published)
    groups = consumer_groups(published) if published.producer_group is None else Groups((), (), (), (), ())
    windows = minutes(published, _BROKERS_TO_CHOOSE, on_night.events[:MOST_EVENTS])
    figure, views = timeline_figure(drawn, windows, on_night.drawn_events, published.window)
    figures = {
        "timeline": figure,
        "views": views,
        "rows": [_row(row, owners) for row in drawn.rows],
        "groups": [group_figure(ownership, published.window) for ownership in groups.ownership],
    }
    return (
        _environment(several_days=len(published.days) > 1, owners=owners)
        .from_string(part("report.html.j2"))
        .render(
            published=published,
            span=span_text(published),
            night=on_night,
            no_sends=not_given(published, FAULT_LATENCY),
            no_groups=not_given(published, ALLOCATION),
            details=event_details(published, on_night.events[:MOST_EVENTS], released, ladders),
            not_published=not_published_text(published.not_published),
            unsure=unsure_text(unsure_days(published)),
            other_settings=other_settings(published),
            drawn=drawn,
            windows=windows,
            groups=groups,
            kinds=_kinds(on_night),
            choices=_choices(on_night, drawn, groups),
            was=_day_before(on_night, published),
            in_full=IN_FULL,
            rests_on=rests_on(published),
            not_drawn=list(_not_drawn(on_night, drawn, groups, windows)),
            style=Markup(part("report.css") + part("event.css")),  # noqa: S704 - our own file
            closed=closed("report.js", figures),
        )
    )


def span_text(published: Published) -> str:
    """The days, or the time of them that is asked about, UTC.

    >>> import datetime as dt
    >>> from dataclasses import replace
    >>> from jobs.answers.window import Window
    >>> day = Published("lake", "main", (dt.date(2026, 11, 21),), ())
    >>> span_text(day), span_text(replace(day, window=Window(1_795_219_611_042, 1_795_305_600_000)))
    ('2026-11-21', '2026-11-21 00:06:51.042 to 24:00:00')
    """
    window = published.window
    if window is None:
        first, last = published.days[0], published.days[-1]
        return f"{first}" if first == last else f"{first} to {last}"
    since, latest = (clock_time(at, with_day=True) for at in (window.since_ms, window.until_ms - 1))
    until = safe_cell("end_ms", window.until_ms, with_day=since[:10] != latest[:10])
    return f"{since.removesuffix('.000')} to {until.removesuffix('.000')}"


def _row(row: Row, owners: Mapping[str, str]) -> dict[str, Any]:
    """What the page filters a row of the timeline by, and the row that unfolds to it."""
    of = _known(broker=[row.broker_name], group=[row.producer_group], version=[row.client_version])
    words = (row.broker_name, row.producer_group, row.client_version, row.host, row.client_id)
    text = escaped(" ".join(filter(None, (*words, owner_of(row.producer_group, owners)))))
    return {"parent": row.parent, "of": of, "text": text}


def _known(**names: Iterable[str | None]) -> dict[str, list[str]]:
    """Kind to names, as the page shows them; a kind without a known one is left out."""
    known = {kind: [escaped(name) for name in of_kind if name] for kind, of_kind in names.items()}
    return {kind: of_kind for kind, of_kind in known.items() if of_kind}


def _whose(**names: Iterable[str | None]) -> Markup:
    """Attribute of a row of a table: whose it is, by kind of name."""
    return Markup(inert_json(_known(**names)).replace("'", "\\u0027"))  # noqa: S704 - escaped


def _choices(on_night: Night, drawn: Timeline, groups: Groups) -> dict[str, list[str]]:
    """Names to filter the page by."""
    found = [*on_night.drawn_findings, *(finding for event in on_night.drawn_events for finding in event.findings)]
    producer_groups = {
        *(row.producer_group for row in drawn.rows),
        *(row["producer_group"] for row in (*on_night.costs[:_MOST_COSTS], *found)),
    }
    brokers = {
        *(row.broker_name for row in drawn.rows),
        *(finding["broker_name"] for finding in found),
        *(name for event in on_night.drawn_events for name in event.row["brokers"]),
    }
    versions = {
        *(row.client_version for row in drawn.rows),
        *(version for finding in found for version in (finding["client_versions"] or "").split(", ")),
    }
    consumer_groups = {
        *(event["consumer_group"] for event in groups.events),
        *(group.consumer_group for group in groups.groups),
        *(finding.consumer_group for finding in groups.findings),
    }
    return {
        "groups": sorted(filter(None, producer_groups)),
        "consumer_groups": sorted(filter(None, consumer_groups)),
        "brokers": sorted(filter(None, brokers)),
        "versions": sorted(filter(None, versions)),
    }


def _day_before(on_night: Night, published: Published) -> dict[str, Any] | None:
    """Figures of the published day before the only one asked about; None if there is none."""
    if len(published.days) != 1 or len(on_night.days) < 2:
        return None
    day = on_night.days[-2]
    of_groups = {"group_findings", "group_events", "rebalances"}
    figures = {**asdict(day), "isolated_ms": duration(day.isolated_ms)}
    is_known = {name: day.has_groups if name in of_groups else day.has_sends for name in figures}
    return {name: value if is_known[name] else None for name, value in figures.items()} | {"date": f"{day.date}"}


def _kinds(on_night: Night) -> dict[str, dict[str, str | Markup]]:
    """What docs/findings says about each kind (`bin/kinds.py`): those of the night first, the most frequent first."""
    found: dict[str, dict[str, str]] = json.loads(part("kinds.json"))
    order = [*on_night.kinds, *(kind for kind in found if kind not in on_night.kinds)]
    return {
        kind: {"says": found[kind]["says"], "text": Markup(found[kind]["text"])}  # noqa: S704 - our own file
        for kind in order
        if kind in found
    }


def _not_drawn(on_night: Night, drawn: Timeline, groups: Groups, windows: Minutes) -> Iterator[str]:
    yield from (*on_night.not_drawn, *drawn.not_drawn, *windows.not_drawn, *groups.not_drawn)
    if (groups_left := len(on_night.costs) - _MOST_COSTS) > 0:
        yield f"what it cost {counted(groups_left, 'producer group')} that lost fewer sends"
    if windows.brokers > _BROKERS_TO_CHOOSE:
        yield (
            f"sends and latency of {counted(windows.brokers - _BROKERS_TO_CHOOSE, 'broker')} that were isolated less;"
            " they are part of all brokers"
        )


def _environment(*, several_days: bool, owners: Mapping[str, str]) -> Environment:
    """Escape all text that is not ours, and show control characters escaped."""
    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(part),
    )
    made.filters.update(
        at=partial(clock_time, with_day=several_days),
        lasted=duration,
        counted=counted,
        percent=percent,
        sentence=sentence,
        owner=partial(owner_of, owners=owners),
    )
    made.globals.update(
        whose=_whose,
        nothing=NOTHING,
        most_costs=_MOST_COSTS,
        most_below=_MOST_BELOW,
        most_queues=MOST_BELOW,
    )
    return made


def _finalized(value: Any) -> Any:
    if value is None:
        return NOTHING
    if isinstance(value, str) and not isinstance(value, Markup):
        return escaped(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
