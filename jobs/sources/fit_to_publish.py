"""Whether staged lines may be published."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.errors import (
    InputMissingError,
    ReconciliationError,
    SettingValueError,
    TooManyBadLinesError,
)
from jobs.settings.model import Settings
from jobs.settings.send_fields import FIELD_KINDS, problem_of
from jobs.sources.dispositions import QUARANTINED
from jobs.sources.json_lines import PLACE
from jobs.sources.line_faults import reasons_of
from jobs.sources.rejected import write_rejected
from jobs.sources.staged import Counts, Staged
from jobs.tables.day import Day
from jobs.text.terminal import UNDER_EACH

_MOST_CLUSTERS, _MOST_REASONS, _MOST_DAYS = 200, 5, 5


def check_fit_to_publish(
    staged: Staged, days: list[Day], settings: Settings, *, needed: Sequence[str], allow_empty: bool
) -> None:
    """Fail when the lines must not be published.

    Args:
        staged: the lines.
        days: the days to publish.
        settings: all settings.
        needed: inputs that the flow cannot do without.
        allow_empty: publish such a day anyway.

    Raises:
        SettingValueError: the lines have implausibly many clusters.
        TooManyBadLinesError: more than `max_bad_fraction` of the lines are bad.
        InputMissingError: no good line of a needed input on a requested day, unless `allow_empty`.
        ReconciliationError: the counts do not add up.
    """
    clusters = staged.clusters()
    if len(clusters) > _MOST_CLUSTERS:
        raise SettingValueError(
            f"the lines name {len(clusters)} clusters, such as {clusters[0]!r} and {clusters[-1]!r}: a run publishes"
            f" {_MOST_CLUSTERS} at most; correct the field cluster, or map it to the column with the cluster's name"
        )
    for day in days:
        counts = staged.counts(day)
        if not counts.add_up:
            raise ReconciliationError(f"counts of {day.date} do not add up: {counts}; run again and report it")
        if counts.rows_quarantined > counts.rows_read * settings.max_bad_fraction:
            raise TooManyBadLinesError(_too_many(staged, counts, settings, write_rejected(staged, day, settings.lake)))
    for date in sorted({day.date for day in days}):
        for kind in needed:
            published = sum(staged.rows_published(kind, day) for day in days if day.date == date)
            if not published and not allow_empty:
                raise InputMissingError(_no_line(staged, kind, date))


def reason_text(reason: str, lines: int, example: str | None) -> str:
    """A reason with its number of lines, an example and the allowed values.

    >>> reason_text("mode_unknown", 3, "mode=sync"), reason_text("not_json", 1, None)
    ('mode_unknown 3: mode=sync is not one of SYNC, ASYNC, ONEWAY', 'not_json 1')
    >>> reason_text("outcome_unknown", 2, "outcome=OK")
    'outcome_unknown 2: outcome=OK is not an outcome (nearest: SEND_OK)'
    """
    if not example:
        return f"{reason} {lines}"
    name, _, value = example.partition("=")
    problem = problem_of(name, value) if name in FIELD_KINDS and value else None
    what, _, near = (problem or "").partition("; ")
    return f"{reason} {lines}: {example}{f' {what}' if what else ''}{f' ({near})' if near else ''}"


def _no_line(staged: Staged, kind: str, date: dt.date) -> str:
    lines = [
        (day, count)
        for source in staged.inputs
        if source.name == kind
        for (_, _, day), count in source.line_counts.items()
    ]
    others = Counter[dt.date]()
    for day, count in lines:
        if day and day != date:
            others[day] += count
    elsewhere = ", ".join(f"{day} ({count} lines)" for day, count in sorted(others.items())[:_MOST_DAYS])
    return (
        f"no good line of {date} in {sum(count for _, count in lines)} lines of {kind};"
        f" they hold {elsewhere or 'no line of another day'}; give another --date, or --allow-empty"
    )


def _too_many(staged: Staged, counts: Counts, settings: Settings, rejected: str | None) -> str:
    is_bad = F.col("disposition") == QUARANTINED
    faults, has_several = F.array_compact("faults"), F.size(reasons_of("faults")) > 1
    bad = [
        source.lines.where(is_bad).select(
            F.struct(F.lit(source.name), *PLACE).alias("of"),
            has_several.alias("several"),
            F.explode(faults).alias("fault"),
        )
        for source in staged.inputs
    ]
    reasons = (
        reduce(DataFrame.unionByName, bad)
        .groupBy("fault.reason")
        .agg(
            F.count_distinct("of").alias("lines"),
            F.min("fault.detail").alias("example"),
            F.bool_or("several").alias("several"),
        )
    )
    first = reasons.orderBy(F.desc("lines"), "reason").limit(_MOST_REASONS).collect()
    worst = ", ".join(reason_text(row["reason"], row["lines"], row["example"]) for row in first)
    worst += f"; {UNDER_EACH}" if any(row["several"] for row in first) else ""
    return (
        f"{counts.rows_quarantined} of {counts.rows_read} lines are bad ({worst}), more than max_bad_fraction"
        f" {settings.max_bad_fraction}; nothing of this flow was published;"
        f" correct the log or raise --set max_bad_fraction=…{f'; bad lines are in {rejected}' if rejected else ''}"
    )
