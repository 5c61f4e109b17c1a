"""`faultline show`: rows of one table, narrowed by equality, as text, JSON or CSV."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.published import Published
from jobs.answers.questions import QUESTIONS, Question
from jobs.answers.words import safe_cell
from jobs.errors import UsageError
from jobs.tables import QUEUE_ALLOCATION, QUEUE_OWNERSHIP, Table
from jobs.text_parts import grid, safe

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Narrowed:
    """What of a question's rows is asked for.

    Attributes:
        equal: column to the value it has to have; a value is data, whatever it looks like.
        at_ms: only what stands at this instant, epoch ms; None for the whole days.
        limit: most rows to show; 0 for all.
    """

    equal: Mapping[str, object] = field(default_factory=dict)
    at_ms: int | None = None
    limit: int = 100


@dataclass(frozen=True)
class Answer:
    """Rows of a question, in order, and how many there are beyond them."""

    question: str
    published: Published
    rows: tuple[dict[str, Any], ...]
    not_shown: int


def ask(published: Published, name: str, narrowed: Narrowed) -> Answer:
    """Answer a question of `QUESTIONS`.

    Raises:
        UsageError: `at_ms` is given, and the question's rows are moments.
        LakeError: a table cannot be read.
    """
    question = QUESTIONS[name]
    where = _condition(name, question, narrowed)
    order = ("event_date", *question.order)
    if narrowed.limit and question.table is not QUEUE_OWNERSHIP:
        chosen, rows = published.first_rows(question.table, order, narrowed.limit, where)
    else:
        found = _found(published, question.table, where)
        rows = found.num_rows
        chosen = found.sort_by([(column, "ascending") for column in order]).slice(0, narrowed.limit or rows)
    return Answer(name, published, tuple(chosen.to_pylist()), rows - chosen.num_rows)


def as_text(answer: Answer) -> str:
    """The answer for a terminal; what a terminal might act on is shown escaped."""
    question = QUESTIONS[answer.question]
    head = f"{answer.question}, {_span(answer.published)} UTC, cluster {safe(answer.published.cluster)}"
    if not answer.rows:
        return f"{head}: {question.none}"
    days = len(answer.published.days) > 1
    rows = [[safe_cell(name, row[name], with_day=days) for name in question.screen] for row in answer.rows]
    parts = [head, grid(list(question.screen.values()), rows)]
    if answer.not_shown:
        parts.append(f"  {answer.not_shown:,} more are not shown; narrow it, or give --limit 0 for all")
    return "\n".join(parts)


def as_json(answer: Answer) -> str:
    """The answer as one JSON object: `rows` with every column, and `not_shown`."""
    whole = {
        "question": answer.question,
        "cluster": answer.published.cluster,
        "days": answer.published.days,
        "rows": answer.rows,
        "not_shown": answer.not_shown,
    }
    return json.dumps(whole, indent=1, default=_plain)


def as_csv(answer: Answer) -> str:
    """The answer as CSV with every column; a cell that a spreadsheet would run gets a quote in front."""
    question = QUESTIONS[answer.question]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = list(answer.rows[0]) if answer.rows else question.table.schema.fieldNames()
    writer.writerow(names)
    writer.writerows([_csv_cell(row[name]) for name in names] for row in answer.rows)
    return text.getvalue().rstrip("\n")


def _condition(name: str, question: Question, narrowed: Narrowed) -> pc.Expression | None:
    conditions = [pc.field(column) == pc.scalar(value) for column, value in narrowed.equal.items()]
    if narrowed.at_ms is not None:
        if question.stretch is None:
            raise UsageError(f"--at does not go with {name}, whose rows are moments; leave it out")
        start, end = question.stretch
        at = pc.scalar(narrowed.at_ms)
        conditions += [pc.field(start) <= at, pc.field(end) > at]
    return _all(conditions)


def _all(conditions: Iterable[pc.Expression]) -> pc.Expression | None:
    together = None
    for condition in conditions:
        together = condition if together is None else together & condition
    return together


def _found(published: Published, table: Table, where: pc.Expression | None) -> pa.Table:
    if table is QUEUE_OWNERSHIP:
        return _owners(published, where)
    return published.rows(table, table.schema.fieldNames(), where)


def _owners(published: Published, where: pc.Expression | None) -> pa.Table:
    """Who held a queue, and with source STRATEGY who should have; equal columns."""
    columns = QUEUE_OWNERSHIP.schema.fieldNames()
    held = published.rows(QUEUE_OWNERSHIP, columns, where)
    shared = [column for column in columns if column in QUEUE_ALLOCATION.schema.fieldNames()]
    should = published.rows(QUEUE_ALLOCATION, shared)
    should = should.append_column("source", pa.array(["STRATEGY"] * should.num_rows, pa.string()))
    if where is not None:
        should = should.filter(where)
    return pa.concat_tables([held, should], promote_options="default")


def _span(published: Published) -> str:
    first, last = published.days[0], published.days[-1]
    return f"{first}" if first == last else f"{first} to {last}"


def _plain(value: object) -> object:
    if isinstance(value, dt.date | dt.datetime):
        return value.isoformat()
    raise TypeError(type(value).__name__)


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
    return safe(f"'{text}" if text.startswith(_FORMULA_STARTS) else text)
