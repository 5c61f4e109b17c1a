"""What was really done to the brokers, and what the clients really did, to hold the findings against."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from typing import Any

from agreement import RECORDINGS

_BEGINS = ("SIGSTOP", "SIGKILL")
_ENDS = ("SIGCONT", "START")
_NO_TIME_MS = 50

Rows = list[dict[str, Any]]
Span = tuple[str, int, int]
"""Broker, from, until: epoch ms."""


def outages(run: str) -> list[Span]:
    """When a broker was frozen or dead."""
    since: dict[str, int] = {}
    found = []
    for line in (RECORDINGS / run / "faults.jsonl").read_text(encoding="utf-8").splitlines():
        fault = json.loads(line)
        if fault.get("fault") in _BEGINS:
            since[fault["broker"]] = fault["at_ms"]
        elif fault.get("fault") in _ENDS:
            found.append((fault["broker"], since.pop(fault["broker"]), fault["at_ms"]))
    assert not since
    return found


def is_out(spans: Iterable[Span], broker: str, at_ms: int, *, slack_ms: int = 0) -> bool:
    """Whether the broker was out at the instant, or up to `slack_ms` before."""
    return any(name == broker and start <= at_ms <= end + slack_ms for name, start, end in spans)


def true_updates(run: str) -> Iterator[dict[str, Any]]:
    """Every recorded updateFaultItem and remove."""
    with gzip.open(RECORDINGS / run / "truth_updates.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def out_of_time_isolations(run: str, enabled: set[str]) -> Rows:
    """Recorded isolations by sync attempts, not the first of their send, that ended within 50 ms for want of time."""
    with gzip.open(RECORDINGS / run / "sends.jsonl.gz", "rt", encoding="utf-8") as lines:
        sends = {send["seq"]: send for send in map(json.loads, lines)}
    found = []
    for row in true_updates(run):
        send = sends.get(row.get("attempt_seq"), {})
        if (
            row["op"] == "update"
            and row["client_id"] in enabled
            and (row["not_available_ms"] or 0) > 0
            and send.get("outcome") in {"RemotingTimeoutException", "RemotingTooMuchRequestException"}
            and send["attempt"] > 1
            and send["latency_ms"] <= _NO_TIME_MS
        ):
            found.append(row)
    return found


def lies_in(row: dict[str, Any], findings: Rows) -> bool:
    """Whether a finding of the same producer and broker covers the update."""
    return any(
        each["client_id"] == row["client_id"]
        and each["broker_name"] == row["broker_name"]
        and each["start_ms"] - _NO_TIME_MS <= row["updated_at_ms"] <= each["end_ms"] + _NO_TIME_MS
        for each in findings
    )
