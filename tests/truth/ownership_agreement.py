"""Ownership from client logs beside the process-queue tables that were polled inside the consumers every 250 ms.

A poll sees a change up to 250 ms late, on a busy machine later; a log of 4.7.1 rounds to half a second. So a
stretch of disagreement of at most a second counts as agreement: `matched` of `total`, in milliseconds x queues.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import deltalake

TOLERANCE_MS = 1_000
_LAST_LINE_MS = 10_000
"""A live client's log pauses no longer: so much may lie between its last line and its kill."""

Spans = list[tuple[int, int]]
Queue = tuple[str, int]
Subject = tuple[str, str, str, str]
"""Process, group, topic, client."""


@dataclass
class OwnershipAgreement:
    """Milliseconds x queues of one recording."""

    matched: int = 0
    total: int = 0
    killed: int = 0  # between the last line of a killed process and its kill: no line tells of it
    unexplained: list[str] = field(default_factory=list)


def ownership_agreement(recording: Path, lake: Path) -> OwnershipAgreement:
    """Of all consumers."""
    polled = _polled(recording)
    logged = _logged(lake)
    kills = _kills(recording)
    found = OwnershipAgreement()
    for subject in sorted({*polled, *logged}):
        ours, theirs = logged.get(subject, {}), polled.get(subject, {})
        for queue in {*ours, *theirs}:
            for start, end, here, there in _compared(ours.get(queue, []), theirs.get(queue, [])):
                found.total += end - start
                if here == there or end - start <= TOLERANCE_MS:
                    found.matched += end - start
                elif there and any(0 <= kill - start <= _LAST_LINE_MS for kill in kills[subject[0]]):
                    found.killed += end - start
                else:
                    found.unexplained.append(f"{subject} {queue} {start}-{end}: log {here}, polled {there}")
    return found


def _polled(recording: Path) -> dict[Subject, dict[Queue, Spans]]:
    seen: dict[Subject, list[tuple[int, set[Queue]]]] = defaultdict(list)
    with gzip.open(recording / "truth_ownership.jsonl.gz", "rt", encoding="utf-8") as lines:
        for each in map(json.loads, lines):
            process, group, client = each["process"], each["consumer_group"], each["client_id"]
            queues = {(broker, number) for broker, number in [*each["queues"], *each.get("pop_queues", [])]}
            seen[process, group, each["topic"], client].append((each["at_ms"], queues))
    last = max(at for polls in seen.values() for at, _ in polls)
    found: dict[Subject, dict[Queue, Spans]] = {}
    for subject, polls in seen.items():
        spans: dict[Queue, Spans] = defaultdict(list)
        for (at, queues), until in zip(polls, [*(at for at, _ in polls[1:]), last], strict=True):
            for queue in queues:
                spans[queue].append((at, until))
        found[subject] = spans
    return found


def _logged(lake: Path) -> dict[Subject, dict[Queue, Spans]]:
    rows: list[dict[str, Any]] = deltalake.DeltaTable(str(lake / "queue_ownership")).to_pyarrow_table().to_pylist()
    logged: dict[Subject, dict[Queue, Spans]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["source"] == "CLIENT_LOG":
            subject = Path(row["process"]).parent.name, row["consumer_group"], row["topic"], row["client_id"]
            logged[subject][row["broker_name"], row["queue_id"]].append((row["start_ms"], row["end_ms"]))
    return logged


def _kills(recording: Path) -> dict[str, list[int]]:
    kills: dict[str, list[int]] = defaultdict(list)
    for line in (recording / "actions.jsonl").read_text(encoding="utf-8").splitlines():
        action: dict[str, Any] = json.loads(line)
        if action["action"] == "jvm_sigkill":
            kills[action["jvm"]].append(action["at_ms"])
    return kills


def _compared(ours: Spans, theirs: Spans) -> list[tuple[int, int, bool, bool]]:
    """Stretches in which either holds the queue: from, until, by the log, by the polls."""
    edges = sorted({edge for span in [*ours, *theirs] for edge in span})
    pieces: list[tuple[int, int, bool, bool]] = []
    for start, end in pairwise(edges):
        here, there = (any(a <= start < b for a, b in spans) for spans in (ours, theirs))
        if pieces and pieces[-1][2:] == (here, there):
            pieces[-1] = pieces[-1][0], end, here, there
        else:
            pieces.append((start, end, here, there))
    return [piece for piece in pieces if piece[2] or piece[3]]
