"""The facts of a group as Arrow brings them, in as many batches as it likes."""

from __future__ import annotations

import pyarrow as pa

from jobs.allocation.group.observed_clients import ObservedClient
from jobs.allocation.group_days import _facts


def test_what_is_facts_comes_from_every_batch() -> None:
    batches = (pa.RecordBatch.from_pylist([{"logged": {"client_id": each, "strategy": "AVG"}}]) for each in "xy")
    assert _facts(batches).logged == [ObservedClient("x", "AVG"), ObservedClient("y", "AVG")]
