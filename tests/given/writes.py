"""Writes of one fault item, as the replay takes them: updates, removals, and what midnight carried over."""

from __future__ import annotations

from typing import Any

from jobs.fault_latency.fault_items.replay import CARRIED, REMOVE, UPDATE

WRITES = (
    "case string, cluster string, client_id string, producer_group string, process string, enforced boolean,"
    " broker_name string, at_ms bigint, step int, current_latency_ms bigint, reachable boolean, cause string,"
    " evidence string, seq bigint, started_at_ms bigint, invoke_id bigint, attempt int, row_hash bigint, policy string,"
    " profile string, version string, detector boolean, process_ended_at_ms bigint, op string, not_available_ms bigint,"
    " carried_until_ms bigint, carried_earliest_ms bigint, carried_latest_ms bigint, carried_extensions int"
)
COLUMNS = [column.split()[0] for column in WRITES.split(", ")]
Write = dict[str, Any]


def write(at_ms: int, not_available_ms: int = 0, **other: object) -> Write:
    """One update of an item: failing when it isolates. `seq` follows the time unless told."""
    base: Write = dict.fromkeys(COLUMNS) | {
        "cluster": "c", "client_id": "p", "producer_group": "g", "process": "p", "enforced": True, "at_ms": at_ms,
        "step": 4, "current_latency_ms": not_available_ms, "reachable": True, "cause": "LATENCY", "evidence": "LOGGED",
        "seq": at_ms, "row_hash": at_ms, "detector": False, "op": UPDATE, "not_available_ms": not_available_ms,
        "carried_extensions": 0,
    }  # fmt: skip
    return base | other


def recorded(at_ms: int, until_ms: int, **other: object) -> Write:
    """What the client recorded of the item as its update left it."""
    return write(at_ms, max(until_ms - at_ms, 0), carried_until_ms=until_ms, evidence="RECORDED", **other)


def remove(at_ms: int) -> Write:
    """The item is taken out of the table."""
    return write(at_ms, op=REMOVE, reachable=None)


def carried(until_ms: int, **other: object) -> Write:
    """What the day before hands over."""
    last = {"op": CARRIED, "seq": -1, "step": 0, "carried_until_ms": until_ms, "carried_earliest_ms": until_ms,
            "carried_latest_ms": until_ms}  # fmt: skip
    return write(0, 0, **(last | other))
