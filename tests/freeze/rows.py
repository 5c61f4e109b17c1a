"""Rows in a form that two programs can be compared by: no order of rows or columns, no place, nothing of one run."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]


def in_order(table: pa.Table) -> pa.Table:
    """Columns by name, rows by all of them: equal tables become equal, whatever their order was."""
    table = table.select(sorted(table.column_names)).combine_chunks()
    # What cannot be sorted by, such as a list, is sorted by as text.
    sortable = pa.table(
        {
            name: column
            if not pa.types.is_nested(column.type)
            else pa.array(map(_as_text, column.to_pylist()), pa.string())
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )
    place = "row that it is"
    order = sortable.append_column(place, pa.array(range(table.num_rows), pa.int64()))
    if not table.num_columns:
        return table
    return table.take(order.sort_by([(name, "ascending") for name in table.column_names])[place]).combine_chunks()


def rows_of(table: pa.Table) -> Iterator[Row]:
    """Each row as a tuple that can be counted."""
    columns = [map(_countable, column.to_pylist()) for column in table.columns]
    return zip(*columns, strict=True)


def schema_of(table: pa.Table) -> dict[str, str]:
    """Column to its type and whether it may be null."""
    return {each.name: f"{each.type}{'' if each.nullable else ' not null'}" for each in table.schema}


def without_places(table: pa.Table, places: dict[str, str]) -> pa.Table:
    """Text columns with each folder in `places` replaced by its name there."""
    for number in range(table.num_columns):
        column = table.column(number)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            told = [None if text is None else placeless(text, places) for text in column.to_pylist()]
            table = table.set_column(number, table.schema.field(number), pa.array(told, column.type))
    return table


def placeless(text: str, places: dict[str, str]) -> str:
    """The text with each folder in `places` replaced by its name there, the longest first.

    >>> placeless("cannot read /a/b/c and /a/d", {"/a": "<a>", "/a/b": "<b>"})
    'cannot read <b>/c and <a>/d'
    """
    for place in sorted(places, key=len, reverse=True):
        text = text.replace(place, places[place])
    return text


def numbered(number: int, noun: str) -> str:
    """Number and noun.

    >>> numbered(1, "row"), numbered(1_200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _countable(value: Any) -> Any:
    """The value itself; lists as tuples, structs as their text, and NaN as one that equals itself.

    >>> _countable([1, [2]]), _countable(float("nan"))
    ((1, (2,)), 'NaN')
    """
    if isinstance(value, list):
        return tuple(_countable(each) for each in value)
    if isinstance(value, dict):
        return _as_text(value)
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _as_text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, default=_text_of, sort_keys=True)


def _text_of(value: Any) -> str:
    return value.isoformat() if isinstance(value, dt.date) else str(value)
