"""Ownership rows against the process-queue tables that were polled inside the consumers every 250 ms.

A poll sees a change up to 250 ms late, on a busy machine later; a log of 4.7.1 rounds to half a second. So each
stretch of disagreement of at most a second counts as agreement: `matched` of `total`, in milliseconds x queues.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TOLERANCE_MS = 1_000
Spans = list[tuple[int, int]]
Subject = tuple[str, str, str, str]


def truth(recording: str) -> tuple[dict[Subject, dict[tuple[str, int], Spans]], dict[tuple[str, str], set[str]]]:
    """(process, group, topic, client) → queue → spans, and the clients of each (process, group)."""
    seen: dict[Subject, list[tuple[int, set[tuple[str, int]]]]] = defaultdict(list)
    clients: dict[tuple[str, str], set[str]] = defaultdict(set)
    with gzip.open(HERE / recording / "truth_ownership.jsonl.gz", "rt", encoding="utf-8") as lines:
        for each in map(json.loads, lines):
            process, group, client = each["process"], each["consumer_group"], each["client_id"]
            queues = {(broker, queue) for broker, queue in [*each["queues"], *each.get("pop_queues", [])]}
            seen[process, group, each["topic"], client].append((each["at_ms"], queues))
            clients[process, group].add(client)
    last = max(at for polls in seen.values() for at, _ in polls)
    found: dict[Subject, dict[tuple[str, int], Spans]] = {}
    for subject, polls in seen.items():
        spans: dict[tuple[str, int], Spans] = defaultdict(list)
        for (at, queues), until in zip(polls, [*(at for at, _ in polls[1:]), last], strict=True):
            for queue in queues:
                spans[queue].append((at, until))
        found[subject] = spans
    return found, clients


def log_score(rows: Iterable[dict[str, Any]], recording: str) -> tuple[int, int]:
    """Matched and total milliseconds x queues of the consumers that are alone in their group in their log."""
    polled, clients = truth(recording)
    logged: dict[Subject, dict[tuple[str, int], Spans]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["source"] == "CLIENT_LOG" and row["client_id"] is not None:
            process = Path(row["process"]).parent.name
            subject = process, row["consumer_group"], row["topic"], row["client_id"]
            logged[subject][row["broker_name"], row["queue_id"]].append((row["valid_from_ms"], row["valid_until_ms"]))
    matched = total = 0
    for subject in {*polled, *logged}:
        if len(clients[subject[0], subject[1]]) == 1:
            ours, theirs = logged.get(subject, {}), polled.get(subject, {})
            for queue in {*ours, *theirs}:
                same, either = _compared(ours.get(queue, []), theirs.get(queue, []))
                matched, total = matched + same, total + either
    return matched, total


def _compared(ours: Spans, theirs: Spans) -> tuple[int, int]:
    edges = sorted({edge for span in [*ours, *theirs] for edge in span})
    pieces: list[tuple[bool, bool, int]] = []
    for start, end in pairwise(edges):
        here, there = (any(a <= start < b for a, b in spans) for spans in (ours, theirs))
        if pieces and pieces[-1][:2] == (here, there):
            pieces[-1] = here, there, pieces[-1][2] + end - start
        else:
            pieces.append((here, there, end - start))
    same = sum(length for a, b, length in pieces if (a and b) or (a != b and length <= TOLERANCE_MS))
    return same, sum(length for a, b, length in pieces if a or b)
