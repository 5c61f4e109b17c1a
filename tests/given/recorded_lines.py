"""Lines as the recorder writes them: attempts and updates of one process of a producer, numbered together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.given.site import send

Line = Mapping[str, object]


def change(op: str, at_ms: int, seq: int, broker: str = "broker-a", **other: object) -> dict[str, object]:
    """One recorded line of producer p1, in process 1@1."""
    nothing = dict.fromkeys(("current_latency_ms", "not_available_ms", "reachable", "available_at_ms"))
    return {
        "client_id": "p1", "producer_group": "PG", "process_id": "1@1", "cluster": None, "broker_name": broker,
        "op": op, "at_ms": at_ms, "thread": "t", "seq": seq, **nothing, **other,
    }  # fmt: skip


def update(
    at_ms: int, seq: int, isolates_ms: int = 0, latency_ms: int = 5, broker: str = "broker-a", **other: object
) -> dict[str, object]:
    """A recorded `updateFaultItem` that the client made a millisecond before it returned."""
    values = {"current_latency_ms": latency_ms, "not_available_ms": isolates_ms, "available_at_ms": 0}
    if isolates_ms:
        values["available_at_ms"] = at_ms - 1 + isolates_ms
    return change("UPDATE", at_ms, seq, broker, **values | other)


def attempt(at_ms: int, seq: int, outcome: str = "SEND_OK", latency_ms: int = 5, **other: object) -> dict[str, Any]:
    """One attempt of producer p1, in process 1@1."""
    return dict(send(at_ms, latency_ms, outcome, **{"process_id": "1@1", "seq": seq, "thread": "t"} | other))


def of(producer: str, *lines: Line, version: str = "5.3.3") -> list[dict[str, object]]:
    """The same lines of another producer; of attempts the version too."""
    return [
        {**line, "client_id": producer, **({"client_version": version} if "outcome" in line else {})} for line in lines
    ]
