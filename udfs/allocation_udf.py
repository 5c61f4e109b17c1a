"""The thin Arrow wrapper round the allocation strategies; the rules are in `udfs.strategies` and `udfs.pop`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType

from udfs.shares import EVERYONE, shares_of_group
from udfs.strategy import Queue

_QUEUES = ArrayType(
    StructType([StructField("broker_name", StringType(), False), StructField("queue_id", IntegerType(), False)]), False
)
SHARES = ArrayType(
    StructType(
        [
            StructField("client_id", StringType(), False),
            StructField("outcome", StringType(), False),
            StructField("message", StringType(), True),
            StructField("queues", _QUEUES, False),
        ]
    ),
    False,
)


def _shares_of_batch(strategies: pa.Array, topics: pa.Array, queues: pa.Array, client_ids: pa.Array) -> pa.Array:
    columns = (strategies.to_pylist(), topics.to_pylist(), queues.to_pylist(), client_ids.to_pylist())
    rows = [
        plain_shares(json.loads(text), topic, [(of["broker_name"], of["queue_id"]) for of in of_topic], ids)
        if None not in (text, topic, of_topic, ids)
        else None
        for text, topic, of_topic, ids in zip(*columns, strict=True)
    ]
    return pa.array(rows, type=_ARROW_SHARES)


def allocated_of_batch(strategies: pa.Array, topics: pa.Array, client_ids: pa.Array, queues: pa.Array) -> pa.Array:
    """For SQL's `allocate`: as `plain_shares`, and a strategy may also be a bare name, or one for everyone."""
    specs = pa.array([None if text is None else _for_everyone(text) for text in strategies.to_pylist()], pa.string())
    return _shares_of_batch(specs, topics, queues, client_ids)


def _for_everyone(strategy: str) -> str:
    """The strategies of a group, from a name, one strategy or a mapping.

    >>> _for_everyone("AVG")
    '{"*": {"name": "AVG"}}'
    >>> _for_everyone('{"name": "CONSISTENT_HASH", "virtual_nodes": 20}')
    '{"*": {"name": "CONSISTENT_HASH", "virtual_nodes": 20}}'
    >>> _for_everyone('{"*": {"name": "AVG"}, "x": {"name": "CONFIG"}}')
    '{"*": {"name": "AVG"}, "x": {"name": "CONFIG"}}'
    """
    given = json.loads(strategy) if strategy.lstrip().startswith("{") else {"name": strategy}
    is_one = not all(isinstance(value, dict) for value in given.values())
    return json.dumps({EVERYONE: given} if is_one else given)


_ARROW_SHARES = pa.list_(
    pa.struct(
        [
            ("client_id", pa.string()),
            ("outcome", pa.string()),
            ("message", pa.string()),
            ("queues", pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())]))),
        ]
    )
)


def plain_shares(
    strategies: Mapping[str, Mapping[str, Any]], topic: str, queues: Sequence[Queue], client_ids: Sequence[str]
) -> list[dict[str, Any]]:
    """`udfs.shares.shares_of_group`, as rows.

    >>> plain_shares({"*": {"name": "CONFIG"}}, "T", [("a", 0)], ["x"])
    [{'client_id': 'x', 'outcome': 'EMPTY', 'message': None, 'queues': []}]
    """
    return [
        {
            "client_id": share.client_id,
            "outcome": share.outcome,
            "message": share.message,
            "queues": [{"broker_name": broker_name, "queue_id": queue_id} for broker_name, queue_id in share.queues],
        }
        for share in shares_of_group(strategies, topic, queues, client_ids)
    ]
