"""Rows of a table by key, in sums."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa


def summed(rows: pa.Table, keys: str | Sequence[str], sums: Sequence[str] = (), count: str | None = None) -> pa.Table:
    """A row per key, in no order: as `count` the number of rows, and the sum of each column under its own name.

    >>> rows = pa.table({"broker": ["a", "b", "a"], "sends": [1, 2, 3], "lost": [0, 1, 0]})
    >>> summed(rows, "broker", ["sends"], "rows").sort_by("broker").to_pylist()
    [{'broker': 'a', 'rows': 2, 'sends': 4}, {'broker': 'b', 'rows': 1, 'sends': 2}]
    """
    found = rows.group_by(keys).aggregate([([], "count_all"), *((name, "sum") for name in sums)])
    named = found.rename_columns({f"{name}_sum": name for name in sums})
    return named.rename_columns({"count_all": count}) if count else named.drop_columns("count_all")
