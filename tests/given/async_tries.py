"""The lines of async sends of which the recorder's agent wrote one per try, put together again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

Line = Mapping[str, Any]
Call = tuple[str, str]


def sends_of_tries(sends: Iterable[Line]) -> list[list[Line]]:
    """The tries of each async send, first to last."""
    by_send: dict[tuple[object, ...], list[Line]] = {}
    for row in sends:
        if row["mode"] == "ASYNC":
            key = (row["client_id"], row["producer_group"], row["process_id"], row["invoke_id"])
            by_send.setdefault(key, []).append(row)
    return [sorted(tries, key=lambda row: int(row["attempt"])) for tries in by_send.values()]


def calls(rows: Iterable[Line]) -> Counter[Call]:
    """How often which client sent asynchronously to which address, by lines of either hand."""
    return Counter((row["client_id"], row["broker_addr"]) for row in rows if row.get("mode", "ASYNC") == "ASYNC")


def check_tries(tries: list[Line]) -> None:
    """What holds of the tries of one send whatever became of it."""
    assert [row["attempt"] for row in tries] == list(range(1, len(tries) + 1))
    assert {row["one_line_per"] for row in tries} == {"TRY"}
    shared = ("topic", "queue_id", "queue_chosen_by", "order_key", "client_version")
    assert len({tuple(row[name] for name in shared) for row in tries}) == 1
    assert "previous_broker_name" not in tries[0]
    assert [row["previous_broker_name"] for row in tries[1:]] == [row["broker_name"] for row in tries[:-1]]
    assert all(row["submitted_at_ms"] is None for row in tries[1:])
    for row in tries:
        assert row["latency_ms"] == row["ended_at_ms"] - row["started_at_ms"] >= 0
        assert row["result_broker_name"] in (None, row["broker_name"])
    for row, following in pairwise(tries):
        assert row["outcome"] not in ("SEND_OK", "MQBrokerException")
        assert row["seq"] < following["seq"]
        assert row["ended_at_ms"] <= following["started_at_ms"]
