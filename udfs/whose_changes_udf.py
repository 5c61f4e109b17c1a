"""The thin Arrow wrapper round `udfs.whose_changes`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType

from udfs.strategy import Queue
from udfs.whose_changes import Line, whose_changes


def clients_of(lines: Column, held_before: Column) -> Column:
    """The client of each of `lines`, an array as long; null where it is not known.

    Args:
        lines: of one group and topic in one process's log, in its order: array of `event`, `broker_name`, `queue_id`,
            `client_id`, `allocated` (array of `broker_name`, `queue_id`), `at_ms`, others are not looked at.
        held_before: array of `client_id`, `broker_name`, `queue_id`; null = nothing.
    """
    # Not that it is: it keeps the optimizer from evaluating it more than once, or where Python is out of reach.
    whose_udf = F.arrow_udf(_clients_of_batch, ArrayType(StringType())).asNondeterministic()  # type: ignore[attr-defined]
    return whose_udf(lines, held_before)  # type: ignore[no-any-return]


def _clients_of_batch(lines: pa.Array, held_before: pa.Array) -> pa.Array:
    rows = []
    for said, stood in zip(lines.to_pylist(), held_before.to_pylist(), strict=True):
        held: dict[str, list[Queue]] = {}
        for each in stood or []:
            held.setdefault(each["client_id"], []).append(_queue(each))
        rows.append(whose_changes(map(_line, said), held))
    return pa.array(rows, type=pa.list_(pa.string()))


def _line(said: dict[str, Any]) -> Line:
    queues = said["allocated"] or ([] if said["broker_name"] is None else [said])
    return Line(said["event"], tuple(map(_queue, queues)), said["client_id"], said["at_ms"])


def _queue(of: dict[str, Any]) -> Queue:
    return of["broker_name"], of["queue_id"]
