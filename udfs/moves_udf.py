"""The thin Arrow wrapper round `udfs.moves`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from udfs.moves import broker_skew, imbalance, moves, owners_of
from udfs.strategy import Queue

_MOVES = StructType([StructField("moved", LongType(), False), StructField("fewest", LongType(), False)])
_BALANCE = StructType([StructField(name, LongType(), False) for name in ("imbalance", "broker_skew", "unassigned")])


def moves_of(shares_before: Column, shares: Column, queues: Column, client_ids: Column) -> Column:
    """`moved` and `fewest` of a change; shares as `udfs.allocation_udf` makes them, queues and members after it."""
    # Not that it is: it keeps the optimizer from evaluating it more than once, or where Python is out of reach.
    moves_udf = F.arrow_udf(_moves_of_batch, _MOVES).asNondeterministic()  # type: ignore[attr-defined]
    return moves_udf(shares_before, shares, queues, client_ids)  # type: ignore[no-any-return]


def balance_of(shares: Column, queues: Column, client_ids: Column) -> Column:
    """`imbalance` and `broker_skew` among the members, and `unassigned` queues."""
    balance_udf = F.arrow_udf(_balance_of_batch, _BALANCE).asNondeterministic()  # type: ignore[attr-defined]
    return balance_udf(shares, queues, client_ids)  # type: ignore[no-any-return]


def _moves_of_batch(before: pa.Array, after: pa.Array, queues: pa.Array, client_ids: pa.Array) -> pa.Array:
    columns = (before.to_pylist(), after.to_pylist(), queues.to_pylist(), client_ids.to_pylist())
    rows = []
    for then, now, held, members in zip(*columns, strict=True):
        moved, fewest = moves(_owners(then), _owners(now), map(_queue, held), members)
        rows.append({"moved": moved, "fewest": fewest})
    return pa.array(rows, type=pa.struct([("moved", pa.int64()), ("fewest", pa.int64())]))


def _balance_of_batch(shares: pa.Array, queues: pa.Array, client_ids: pa.Array) -> pa.Array:
    rows = []
    for now, held, members in zip(shares.to_pylist(), queues.to_pylist(), client_ids.to_pylist(), strict=True):
        owners = _owners(now)
        rows.append(
            {
                "imbalance": imbalance(owners, members),
                "broker_skew": broker_skew(owners, members),
                "unassigned": sum(_queue(queue) not in owners for queue in held),
            }
        )
    kinds = [(name, pa.int64()) for name in ("imbalance", "broker_skew", "unassigned")]
    return pa.array(rows, type=pa.struct(kinds))


def _owners(shares: list[dict[str, Any]]) -> dict[Queue, frozenset[str]]:
    return owners_of((share["client_id"], map(_queue, share["queues"])) for share in shares)


def _queue(queue: dict[str, Any]) -> Queue:
    return queue["broker_name"], queue["queue_id"]
