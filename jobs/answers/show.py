"""`faultline show`: rows of one table, narrowed by equality, as text, JSON or CSV."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.causes import OUTCOME_CLASSES
from jobs.answers.lists import holding
from jobs.answers.names import as_listed, check_known
from jobs.answers.published import Published, arrow_type
from jobs.answers.question import Question
from jobs.answers.questions import QUESTIONS, STRATEGY
from jobs.answers.runs import NOT_GIVEN, not_given
from jobs.answers.words import clock_time, safe_cell
from jobs.errors import UsageError
from jobs.tables import QUEUE_ALLOCATION, QUEUE_OWNERSHIP, Table
from jobs.text.terminal import escaped, grid, safe

_LISTS = ("broker_names",)
"""Columns of lists, which hold the value that a row is narrowed by."""
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Narrowed:
    """Filters of a question's rows.

    Attributes:
        equal: column to the value it has to have; a value is data, whatever it looks like.
        at_ms: only rows valid at this instant, epoch ms; None for the whole days.
        since_ms: only rows that end later or begin then; None for the whole days.
        until_ms: only rows that begin earlier; None for the whole days.
        limit: most rows to show; 0 for all.
    """

    equal: Mapping[str, object] = field(default_factory=dict)
    at_ms: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    limit: int = 100


@dataclass(frozen=True)
class Answer:
    """Rows of a question, in order.

    Attributes:
        question: its name.
        published: the days.
        rows: the first ones.
        not_shown: how many there are beyond them.
        narrowed: what they were narrowed by.
        not_given: a sentence when some of the days, or all, have no input that could answer; None otherwise.
    """

    question: str
    published: Published
    rows: tuple[dict[str, Any], ...]
    not_shown: int
    narrowed: Narrowed = field(default_factory=Narrowed)
    not_given: str | None = None


def ask(published: Published, name: str, narrowed: Narrowed) -> Answer:
    """Answer a question of `QUESTIONS`.

    Raises:
        UsageError: `at_ms` is given, and the question's rows are moments; or a name or word that is not known.
        LakeError: a table cannot be read.
    """
    question = QUESTIONS[name]
    table, narrowed = question.table, replace(narrowed, equal=as_listed(question, narrowed.equal))
    if table is QUEUE_OWNERSHIP:
        rows, found = _owners(published, name, narrowed)
    else:
        rows, found = _found(published, name, table, narrowed)
    if not found:
        check_known(published, question, narrowed.equal)
    missing = not_given(published, question.flow)
    return Answer(name, published, tuple(rows.to_pylist()), found - rows.num_rows, narrowed, missing)


def as_text(answer: Answer) -> str:
    """The answer for a terminal; what a terminal might act on is shown escaped."""
    question = QUESTIONS[answer.question]
    head = f"{answer.question}, {_when(answer)} UTC, cluster {safe(answer.published.cluster)}"
    if not answer.rows:
        return f"{head}: {_nothing(question, answer)}"
    days = len(answer.published.days) > 1
    rows = [[safe_cell(name, row[name], with_day=days) for name in question.screen] for row in answer.rows]
    parts = [head, grid(list(question.screen.values()), rows)]
    if answer.not_shown:
        parts.append(f"  {answer.not_shown:,} more are not shown; narrow it, or give --limit 0 for all")
    if answer.not_given:
        parts.append(f"  {answer.not_given}")
    return "\n".join(parts)


def as_json(answer: Answer) -> str:
    """The answer as one JSON object: `rows` with every column, `not_shown` and `not_given`."""
    whole = {
        "question": answer.question,
        "cluster": answer.published.cluster,
        "days": answer.published.days,
        "rows": answer.rows,
        "not_shown": answer.not_shown,
        "not_given": answer.not_given,
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
    conditions = [_equal(column, value) for column, value in narrowed.equal.items() if column not in _LISTS]
    start, end = (pc.field(column) for column in question.bounds)
    if narrowed.at_ms is not None:
        if question.interval is None:
            raise UsageError(f"--at does not go with {name}, whose rows are moments; give --since and --until")
        conditions += [start <= pc.scalar(narrowed.at_ms), end > pc.scalar(narrowed.at_ms)]
    if narrowed.since_ms is not None:
        since = pc.scalar(narrowed.since_ms)
        conditions.append((end > since) | (start >= since))  # some intervals have no length
    if narrowed.until_ms is not None:
        conditions.append(start < pc.scalar(narrowed.until_ms))
    return _all(conditions)


def _equal(column: str, value: object) -> pc.Expression:
    """Equality; with a class of outcomes that of one of them."""
    field = pc.field(column)
    if column != "outcome" or value not in OUTCOME_CLASSES:
        return field == pc.scalar(value)
    of_class = OUTCOME_CLASSES[f"{value}"]
    return (
        field.isin(of_class) if of_class else ~field.isin([each for some in OUTCOME_CLASSES.values() for each in some])
    )


def _all(conditions: Iterable[pc.Expression]) -> pc.Expression | None:
    together = None
    for condition in conditions:
        together = condition if together is None else together & condition
    return together


def _found(published: Published, name: str, table: Table, narrowed: Narrowed) -> tuple[pa.Table, int]:
    """The rows of the table to show, in order, and how many there are in all."""
    question = QUESTIONS[name]
    columns = table.schema.fieldNames()
    where = _condition(name, question, narrowed)
    order = [column for column in ("event_date", *question.order) if column in columns]
    lists = {column: value for column, value in narrowed.equal.items() if column in _LISTS}

    def with_value(rows: pa.Table) -> pa.Table:
        for column, value in lists.items():
            rows = holding(rows, column, value)
        return rows

    if narrowed.limit:
        return published.first_rows(table, order, narrowed.limit, where, with_value)
    rows = with_value(published.rows(table, columns, where))
    return _in_order(rows, order), rows.num_rows


def _owners(published: Published, name: str, narrowed: Narrowed) -> tuple[pa.Table, int]:
    """Rows as of `_found`: owners of queues, and with source STRATEGY those who should be; equal columns."""
    source = narrowed.equal.get("source")
    columns = pa.schema([(each.name, arrow_type(each.dataType)) for each in QUEUE_OWNERSHIP.columns])
    rows, found = columns.empty_table(), 0
    if source != STRATEGY:
        rows, found = _found(published, name, QUEUE_OWNERSHIP, narrowed)
    if source in {None, STRATEGY}:
        others = {column: value for column, value in narrowed.equal.items() if column != "source"}
        should, more = _found(published, name, QUEUE_ALLOCATION, replace(narrowed, equal=others))
        should = should.select([column for column in rows.column_names if column in should.column_names])
        should = should.append_column("source", pa.array([STRATEGY] * should.num_rows, pa.string()))
        rows, found = pa.concat_tables([rows, should], promote_options="default"), found + more
    return _in_order(rows, ("event_date", *QUESTIONS[name].order)).slice(0, narrowed.limit or None), found


def _in_order(rows: pa.Table, order: Sequence[str]) -> pa.Table:
    return rows.sort_by([(column, "ascending") for column in order])


def _nothing(question: Question, answer: Answer) -> str:
    """What an answer without rows says: nothing is only nothing where there was something to look at."""
    if answer.not_given in {None, NOT_GIVEN[question.flow]}:
        return answer.not_given or question.none
    return f"{question.none}; {answer.not_given}"


def _when(answer: Answer) -> str:
    """The days, or what of them was asked about."""
    first, last = answer.published.days[0], answer.published.days[-1]
    narrowed, several = answer.narrowed, first != last
    if narrowed.at_ms is not None:
        return clock_time(narrowed.at_ms, with_day=True)
    if narrowed.since_ms is None and narrowed.until_ms is None:
        return f"{first} to {last}" if several else f"{first}"
    since = "00:00" if narrowed.since_ms is None else clock_time(narrowed.since_ms, with_day=several)
    until = "24:00" if narrowed.until_ms is None else safe_cell("end_ms", narrowed.until_ms, with_day=several)
    if not several:
        return f"{first} {since} to {until}"
    return f"{first if narrowed.since_ms is None else since} to {last if narrowed.until_ms is None else until}"


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
    return escaped(f"'{text}" if text.startswith(_FORMULA_STARTS) else text)
