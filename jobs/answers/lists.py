"""Rows by a value in a column of lists, which Arrow's filters cannot express."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def holding(rows: pa.Table, column: str, value: object) -> pa.Table:
    """The rows whose list holds the value, in order.

    >>> rows = pa.table({"brokers": [["a", "b"], [], None, ["b", "b"], ["c"]], "row": [1, 2, 3, 4, 5]})
    >>> holding(rows, "brokers", "b")["row"].to_pylist()
    [1, 4]
    """
    lists = rows[column].combine_chunks()
    is_value = pc.equal(pc.list_flatten(lists), pa.scalar(value, lists.type.value_type))
    return rows.take(pc.unique(pc.list_parent_indices(lists).filter(is_value)))
