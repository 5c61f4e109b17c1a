"""Names and words that narrow a question: an unknown one is an error, never an answer without rows."""

from __future__ import annotations

from collections.abc import Mapping

from jobs.answers.published import Published
from jobs.answers.question import Question
from jobs.answers.runs import Flow, not_given
from jobs.errors import UsageError
from jobs.tables import SENDS, TABLES, Table
from jobs.text.nearest import did_you_mean
from jobs.text.terminal import safe

_MOST_NAMED = 12
_NAMED = {
    "broker_name": ("broker", "broker_name"),
    "broker_names": ("broker", "broker_name"),
    "brokers": ("broker", "broker_name"),
    "client_id": ("producer", "client_id"),
    "producer_group": ("producer group", "producer_group"),
    "consumer_group": ("consumer group", "consumer_group"),
    "topic": ("topic", "topic"),
}
"""Column to what its values are, and the column of other tables with the same values."""


def as_listed(question: Question, equal: Mapping[str, object]) -> dict[str, object]:
    """The values, with words of closed lists in the list's letter case.

    Raises:
        UsageError: a word that the closed list of its column lacks.
    """
    listed: dict[str, object] = {}
    for column, value in equal.items():
        words = {word.casefold(): word for word in question.words.get(column, ())}
        listed[column] = words.get(f"{value}".casefold(), value)
        if column in question.closed and listed[column] not in words.values():
            option = next(option for option, name in question.narrowed_by.items() if name == column)
            text = safe(f"{value}")
            raise UsageError(
                f"--{option} '{text}' is none of {', '.join(words.values())}{did_you_mean(text, words.values())}"
            )
    return listed


def check_known(published: Published, question: Question, equal: Mapping[str, object]) -> None:
    """Refuse a name that occurs nowhere in the requested days; for a question whose answer has no row.

    Raises:
        UsageError: there is such a name; lists the nearest, and the known ones.
        LakeError: a table cannot be read.
    """
    for column, value in equal.items():
        noun, name = _NAMED.get(column, (column, column))
        if column in _NAMED:
            tables, known = _tables_of(name), set[str]()
        elif column in question.words and column not in question.closed:
            tables, known = [question.table], {*question.words[column]}
        else:
            continue
        for table in tables:
            if value not in known:
                known |= published.values(table, name)
        if value not in known:
            raise UsageError(_unknown(published, noun, f"{value}", sorted(known), question.flow))


def _unknown(published: Published, noun: str, name: str, known: list[str], flow: Flow) -> str:
    """The error for a name that no table of the flow has, with the known ones."""
    text, first, last = safe(name), published.days[0], published.days[-1]
    days = f"{first}" if first == last else f"{first} to {last}"
    there = _named(known) or f"none: {not_given(published, flow) or 'the tables name none'}"
    return (
        f"no {noun} '{text}' in {days} of cluster '{safe(published.cluster)}'"
        f"{did_you_mean(text, known)}; there is {there}"
    )


def _tables_of(column: str) -> list[Table]:
    """Tables with the column, the largest last; a client id is a producer's only if the row has a producer group."""
    needed = {column, "producer_group"} if column == "client_id" else {column}
    return sorted(
        (table for table in TABLES if needed <= {*table.schema.fieldNames()}), key=lambda table: table is SENDS
    )


def _named(known: list[str]) -> str:
    shown = ", ".join(f"'{safe(name)}'" for name in known[:_MOST_NAMED])
    return shown if len(known) <= _MOST_NAMED else f"{shown} and {len(known) - _MOST_NAMED:,} more"
