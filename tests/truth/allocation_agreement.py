"""Published allocations beside what the consumers really held, sample by sample."""

from __future__ import annotations

import bisect
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import deltalake

RECORDINGS = Path(__file__).parent / "consumers"
EVERY_MS = 5_000
_POLL_MS = 1_000
_SETTLES_MS = 8_000
"""A change shows in a capture within one round of the recorder, 4.5 s: a sample so near before one is not quiet."""

Queues = frozenset[tuple[str, int]]


@dataclass
class Agreement:
    """Samples of one recording, by group."""

    matched: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    not_determinable: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Consumer:
    process: str
    name: str
    client_id: str
    group: str
    topic: str


def agreement(recording: Path, lake: Path, quiet_ms: int) -> Agreement:
    """Each consumer and topic every five seconds, wherever members and route were unchanged for `quiet_ms`."""
    found = Agreement()
    allocations, edges, causes = (
        _by_subject(lake, "queue_allocation"),
        _edges(lake),
        troubles(lake),
    )
    for consumer, held in _held(recording):
        subject = (consumer.group, consumer.topic)
        changes = sorted(edges[consumer.group] | edges[consumer.topic])
        for at in range(held[0][0] // EVERY_MS * EVERY_MS + EVERY_MS, held[-1][0], EVERY_MS):
            place = bisect.bisect_right(changes, at)
            since = at - changes[place - 1] if place else 0
            until = changes[place] - at if place < len(changes) else _SETTLES_MS
            if since < quiet_ms or until < _SETTLES_MS:
                continue
            owned = held[bisect.bisect_right(held, at, key=lambda change: change[0]) - 1][1]
            rows = [row for row in allocations[subject] if row["start_ms"] <= at < row["end_ms"]]
            if not rows:
                found.not_determinable[consumer.group] += 1
                continue
            views: dict[str | None, set[tuple[str, int]]] = defaultdict(set)
            for row in rows:
                views[row["view_broker_name"]].update(
                    {(row["broker_name"], row["queue_id"])} if row["client_id"] == consumer.client_id else ()
                )
            expected = [frozenset(each) for each in views.values()]
            if owned in expected:
                found.matched[consumer.group] += 1
            elif cause := _cause(causes[subject], at, owned, expected):
                found.explained[consumer.group] += 1
                found.causes[cause] += 1
            else:
                found.unexplained.append(f"{at} {consumer}: {sorted(owned)} instead of {sorted(expected[0])}")
    return found


def _held(recording: Path) -> Iterator[tuple[_Consumer, list[tuple[int, Queues]]]]:
    """Each consumer's process-queue table over its life: changes, and a last entry for its end."""
    ends, last = _ends(recording)
    changes: dict[_Consumer, list[tuple[int, Queues]]] = defaultdict(list)
    with gzip.open(recording / "truth_ownership.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            key = (row["process"], row["consumer"], row["client_id"], row["consumer_group"], row["topic"])
            changes[_Consumer(*key)].append((row["at_ms"], frozenset((name, number) for name, number in row["queues"])))
    for consumer, held in changes.items():
        held.sort(key=lambda change: change[0])
        stops = [at for at in (*ends[consumer.name], *ends[consumer.process]) if at > held[0][0]]
        yield consumer, [*held, (min([*stops, last]), frozenset())]


def _ends(recording: Path) -> tuple[dict[str, list[int]], int]:
    ends: dict[str, list[int]] = defaultdict(list)
    last = 0
    for line in (recording / "actions.jsonl").read_text(encoding="utf-8").splitlines():
        action: dict[str, Any] = json.loads(line)
        last = action["at_ms"]
        if action["action"] == "consumer_stop":
            ends[action["consumer_key"]].append(last)
        if action["action"] == "jvm_sigkill":
            ends[action["jvm"]].append(last)
    return ends, last


def _rows(lake: Path, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = deltalake.DeltaTable(str(lake / table)).to_pyarrow_table().to_pylist()
    return rows


def _by_subject(lake: Path, table: str) -> dict[tuple[str, str | None], list[dict[str, Any]]]:
    by_subject: dict[tuple[str, str | None], list[dict[str, Any]]] = defaultdict(list)
    for row in _rows(lake, table):
        by_subject[row["consumer_group"], row["topic"]].append(row)
    return by_subject


def troubles(lake: Path) -> dict[tuple[str, str | None], list[dict[str, Any]]]:
    """Findings, and what events of the groups say of their queues."""
    found = _by_subject(lake, "allocation_findings")
    for event in _rows(lake, "group_events"):
        for queue in event["queues"]:
            found[event["consumer_group"], queue["topic"]].append({**queue, "basis": "OBSERVED"})
    return found


def _edges(lake: Path) -> dict[str, set[int]]:
    """When the members of each group, or the queues of each topic, changed."""
    edges: dict[str, set[int]] = defaultdict(set)
    for row in _rows(lake, "group_members"):
        edges[row["consumer_group"]].add(row["start_ms"])
    for row in _rows(lake, "topic_queues"):
        edges[row["topic"]].update((row["start_ms"], row["end_ms"]))
    return edges


def _cause(findings: list[dict[str, Any]], at: int, owned: Queues, expected: Iterable[Queues]) -> str | None:
    """The published cause of a difference in one of these queues at about this time; polls see changes late."""
    differing = frozenset.union(*(owned ^ each for each in expected))
    for row in findings:
        if (
            row["basis"] == "OBSERVED"
            and row["cause"] != "UNEXPLAINED"
            and (row["broker_name"], row["queue_id"]) in differing
            and row["start_ms"] - _POLL_MS <= at <= row["end_ms"] + _POLL_MS
        ):
            return str(row["cause"])
    return None
