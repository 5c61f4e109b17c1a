"""An answer of `faultline show` as text, JSON or CSV."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Mapping
from typing import Any

from jobs.answers.causes import cause_words
from jobs.answers.days import days_text
from jobs.answers.producers import Producer, host_of, versions_of, with_names
from jobs.answers.question import Question
from jobs.answers.questions import QUESTIONS, STRATEGY
from jobs.answers.runs import NOT_GIVEN
from jobs.answers.show import Answer
from jobs.answers.words import clock_time, safe_cell
from jobs.tables import FINDINGS
from jobs.text.terminal import counted, escaped, grid, safe

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def as_text(answer: Answer) -> str:
    """The answer for a terminal; control characters are escaped."""
    question = QUESTIONS[answer.question]
    head = f"{answer.question}, {_when(answer)} UTC, cluster {safe(answer.published.cluster)}"
    if not answer.rows:
        return f"{head}: {_nothing(question, answer)}"
    start, end = question.bounds
    days = len(answer.published.days) > 1
    screen = {name: head for name, head in question.screen.items() if answer.has_owners or name != "owner"}
    versions = versions_of(answer.published) if question.table is FINDINGS else None
    rows = [_on_screen(row, versions) for row in answer.rows]
    cells = [[safe_cell(name, row[name], with_day=days) for name in screen] for row in rows]
    parts = [head, grid(list(screen.values()), cells)]
    if answer.not_shown:
        parts.append(f"  {answer.not_shown:,} more are not shown; narrow it, or give --limit 0 for all")
    lengthless = sum(row[start] == row[end] for row in answer.rows) if question.no_length else 0
    if lengthless:
        parts.append(f"  {counted(lengthless, 'row')} without length: {question.no_length}")
    if answer.not_given:
        parts.append(f"  {answer.not_given}")
    return "\n".join(parts)


def as_json(answer: Answer) -> str:
    """The answer as one JSON object: `rows` with every column, `not_published`, `not_shown` and `not_given`."""
    whole = {
        "question": answer.question,
        "cluster": answer.published.cluster,
        "days": answer.published.days,
        "not_published": [{"from": first, "to": last} for first, last in answer.published.not_published],
        "rows": answer.rows,
        "not_shown": answer.not_shown,
        "not_given": answer.not_given,
    }
    return json.dumps(whole, indent=1, default=lambda day: day.isoformat())


def as_csv(answer: Answer) -> str:
    """The answer as CSV with every column; a cell that a spreadsheet would run as a formula gets a leading quote."""
    question = QUESTIONS[answer.question]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    without_rows = [*question.table.schema.fieldNames(), *(["owner"] if answer.has_owners else [])]
    names = list(answer.rows[0]) if answer.rows else without_rows
    writer.writerow(names)
    writer.writerows([_csv_cell(row[name]) for name in names] for row in answer.rows)
    return text.getvalue().rstrip("\n")


def _on_screen(row: Mapping[str, Any], versions: Mapping[Producer, str] | None) -> dict[str, Any]:
    """A row with what the screen makes of it: host, cause, who held a queue or should have, a finding's sentence."""
    client_id, should = row.get("client_id"), row.get("source") == STRATEGY
    made = {
        "producer_group": row.get("producer_group") or None,
        "host": host_of(client_id),
        "held_by": None if should else client_id,
        "should_be_held_by": (client_id or "nobody") if should else None,
        "cause": cause_words(row.get("cause")),
    }
    return {**row, **made} | ({} if versions is None else {"sentence": with_names(row, versions)})


def _nothing(question: Question, answer: Answer) -> str:
    """The text of an answer without rows; it says so if there was no input to look at."""
    if answer.not_given in {None, NOT_GIVEN[question.flow]}:
        return answer.not_given or question.none
    return f"{question.none}; {answer.not_given}"


def _when(answer: Answer) -> str:
    """The published days, or the time that was asked about, which may reach beyond them."""
    narrowed, published = answer.narrowed, answer.published
    if narrowed.at_ms is not None:
        return clock_time(narrowed.at_ms, with_day=True)
    if narrowed.since_ms is None and narrowed.until_ms is None:
        return days_text(published.days)
    days = (*published.days, *(day for gap in published.not_published for day in gap))
    first = f"{min(days)}" if narrowed.since_ms is None else clock_time(narrowed.since_ms, with_day=True)[:10]
    last = f"{max(days)}" if narrowed.until_ms is None else clock_time(narrowed.until_ms - 1, with_day=True)[:10]
    several = first != last
    since = "00:00" if narrowed.since_ms is None else clock_time(narrowed.since_ms, with_day=several)
    until = "24:00" if narrowed.until_ms is None else safe_cell("end_ms", narrowed.until_ms, with_day=several)
    if not several:
        return f"{first} {since} to {until}"
    return f"{first if narrowed.since_ms is None else since} to {last if narrowed.until_ms is None else until}"


def _csv_cell(value: object) -> object:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case dt.datetime() | dt.date():
            return value.isoformat()
        case list():
            text = "; ".join(map(str, value))
        case str():
            text = value
        case _:
            return value
    return escaped(f"'{text}" if text.startswith(_FORMULA_STARTS) else text)
