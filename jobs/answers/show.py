"""`faultline show`: rows of one table, narrowed by equality and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.answers.arrow_type import arrow_type
from jobs.answers.causes import OUTCOME_CLASSES
from jobs.answers.lists import holding
from jobs.answers.names import as_listed, check_known
from jobs.answers.published import Published
from jobs.answers.question import Question
from jobs.answers.questions import QUESTIONS, STRATEGY
from jobs.answers.runs import not_given
from jobs.answers.window import lasts_beyond
from jobs.errors import UsageError
from jobs.tables import QUEUE_ALLOCATION, QUEUE_OWNERSHIP, Table
from jobs.text.owners import NO_OWNERS, owner_of

_GROUPS = ("producer_group", "consumer_group")
_LISTS = ("broker_names", "brokers")
"""Columns of lists, of which a question narrows by one at most; a row matches if its list has the value."""


@dataclass(frozen=True)
class Narrowed:
    """Filters of a question's rows.

    Attributes:
        equal: column to the value that it must have; a value is always data, never syntax.
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
        not_shown: how many more there are.
        narrowed: what they were narrowed by.
        not_given: a sentence when some of the days, or all, have no input that could answer; None otherwise.
        has_owners: settings name owners, and each row has its group's as `owner`, None where it has none.
    """

    question: str
    published: Published
    rows: tuple[dict[str, Any], ...]
    not_shown: int
    narrowed: Narrowed = field(default_factory=Narrowed)
    not_given: str | None = None
    has_owners: bool = False


def ask(published: Published, name: str, narrowed: Narrowed, owners: Mapping[str, str] = NO_OWNERS) -> Answer:
    """Answer a question of `QUESTIONS`.

    Args:
        published: the days.
        name: of the question.
        narrowed: which rows.
        owners: group or glob to its owner; joined to rows of a group, where there are any.

    Raises:
        UsageError: `at_ms` with a question whose rows are moments, or an unknown name or word.
        LakeError: a table cannot be read.
    """
    question = QUESTIONS[name]
    table, narrowed = question.table, replace(narrowed, equal=as_listed(question, narrowed.equal))
    rows, found = (
        _owners(published, name, narrowed) if table is QUEUE_OWNERSHIP else _found(published, name, table, narrowed)
    )
    if not found:
        check_known(published, question, narrowed.equal)
    missing = not_given(published, question.flow)
    shown, group = rows.to_pylist(), next((column for column in _GROUPS if column in rows.column_names), None)
    has_owners = bool(owners) and group is not None
    if has_owners:
        shown = [{**row, "owner": owner_of(row[group], owners)} for row in shown]
    return Answer(name, published, tuple(shown), found - rows.num_rows, narrowed, missing, has_owners)


def _condition(name: str, question: Question, narrowed: Narrowed) -> pc.Expression | None:
    conditions = [_equal(column, value) for column, value in narrowed.equal.items() if column not in _LISTS]
    start, end = map(pc.field, question.bounds)
    if narrowed.at_ms is not None:
        if question.interval is None:
            raise UsageError(f"--at does not go with {name}, whose rows are moments; give --since and --until")
        conditions += [start <= pc.scalar(narrowed.at_ms), end > pc.scalar(narrowed.at_ms)]
    if narrowed.since_ms is not None:
        conditions.append(lasts_beyond(start, end, narrowed.since_ms))
    if narrowed.until_ms is not None:
        conditions.append(start < narrowed.until_ms)
    return reduce(and_, conditions) if conditions else None


def _equal(column: str, value: object) -> pc.Expression:
    """Equality; for a class of outcomes, any of its outcomes."""
    field = pc.field(column)
    if column != "outcome" or value not in OUTCOME_CLASSES:
        return field == pc.scalar(value)
    of_class = OUTCOME_CLASSES[f"{value}"]
    return (
        field.isin(of_class)
        if of_class
        else ~field.isin([outcome for outcomes in OUTCOME_CLASSES.values() for outcome in outcomes])
    )


def _found(published: Published, name: str, table: Table, narrowed: Narrowed) -> tuple[pa.Table, int]:
    """The rows of the table to show, in order, and how many there are in all."""
    question = QUESTIONS[name]
    columns = table.schema.fieldNames()
    where = _condition(name, question, narrowed)
    order = [column for column in ("event_date", *question.order) if column in columns]
    listed = next((equal for equal in narrowed.equal.items() if equal[0] in _LISTS), None)

    def with_value(rows: pa.Table) -> pa.Table:
        return holding(rows, *listed) if listed else rows

    if narrowed.limit:
        return published.first_rows(table, order, narrowed.limit, where, with_value)
    rows = with_value(published.rows(table, columns, where))
    return _in_order(rows, order), rows.num_rows


def _owners(published: Published, name: str, narrowed: Narrowed) -> tuple[pa.Table, int]:
    """Rows as `_found` returns them: owners of queues and, with source STRATEGY, computed owners; equal columns."""
    source = narrowed.equal.get("source")
    columns = pa.schema([(column.name, arrow_type(column.dataType)) for column in QUEUE_OWNERSHIP.columns])
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
