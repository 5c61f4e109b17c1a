"""Results of the real Java classes, and ours beside them."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from udfs.pop import pop_allocator
from udfs.strategies import allocator
from udfs.strategy import AllocationError, Strategy

VECTORS = Path(__file__).parent / "allocation_vectors"


def vectors(file: Path) -> Iterator[dict[str, Any]]:
    """One input under one strategy a line, with the result for every client id."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def number(version: str) -> int:
    """`4.9.8` → 40908."""
    major, minor, patch = map(int, version.split("."))
    return major * 10_000 + minor * 100 + patch


def agreement(file: Path) -> tuple[Counter[str], Counter[str], list[str]]:
    """Strategy to results that match, strategy to results, and the first differences in words."""
    matched: Counter[str] = Counter()
    total: Counter[str] = Counter()
    differences: list[str] = []
    for vector in vectors(file):
        made: list[Any] = []
        for result in vector["results"]:
            total[vector["strategy"]] += 1
            try:
                if not made:
                    made.append(_ours(vector))
                got: Any = made[0](result["cid"])
                same = result["exception"] is None and got == _queues(result["queues"])
            except AllocationError as error:
                got = error
                same = _same_exception(error, result["exception"])
            matched[vector["strategy"]] += same
            if not same and len(differences) < 5:
                differences.append(f"{vector['strategy']} {vector['input_id']} {result['cid']!r}: {got} != {result}")
    return matched, total, differences


def _ours(vector: dict[str, Any]) -> Any:
    queues, client_ids = _queues(vector["mq_all"]), vector["cid_all"]
    name, parameters = vector["strategy"], vector["params"]
    if name.startswith("POP:"):
        strategy = Strategy(name.removeprefix("POP:"))
        return pop_allocator(strategy, vector["topic"], queues, client_ids, parameters["popShareQueueNum"])
    rooms = parameters.get("consumeridcs")
    strategy = Strategy(
        name,
        machine_rooms=None if rooms is None else tuple(rooms),
        queues=None if (configured := _queues(parameters.get("messageQueueList"))) is None else tuple(configured),
        virtual_nodes=parameters.get("virtualNodeCnt", 10),
        version=number(vector["version"]),
        charset=parameters.get("charset", "UTF-8"),
    )
    return allocator(strategy, vector["topic"], queues, client_ids)


def _queues(queues: list[list[Any]] | None) -> list[tuple[str, int]] | None:
    return None if queues is None else [(broker_name, queue_id) for broker_name, queue_id in queues]


def _same_exception(error: AllocationError, expected: dict[str, str] | None) -> bool:
    if expected is None or error.java_class != expected["class"]:
        return False
    return error.java_class.endswith("NullPointerException") or error.message == expected["message"]
