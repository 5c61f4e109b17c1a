"""The results that clients computed themselves (`rebalanced result changed`) beside the published allocation."""

from __future__ import annotations

import datetime as dt
import gzip
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import deltalake
from allocation_agreement import troubles

_LINE = re.compile(
    r"^(\S+ \S{8})([,.])(\d{3}) .*rebalanced result changed\. .*group=([^,]*), topic=([^,]*), clientId=(.*?),"
    r" (?:mqAllSize=(\d+), cidAllSize=(\d+),.*rebalanceResultSet=|assignmentSet=)(.*)$"
)
_QUEUE = re.compile(r"brokerName=([^,\]]*), queueId=(-?\d+)\]")
_CAPTURE_MS = 10_000
"""Two rounds of the recorder: a change is published at the capture that shows it, which may come after the line."""


@dataclass
class ResultsAgreement:
    """Lines of one recording."""

    matched: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        """All lines of groups whose allocation can be determined."""
        return self.matched + sum(self.explained.values()) + len(self.unexplained)


def results_agreement(recording: Path, lake: Path) -> ResultsAgreement:
    """Each line's queues beside those of its client in any view around its time.

    A result that rests on an older route, or on members that no capture shows, has the finding or event that says so.
    """
    allocations = _rows(lake, "queue_allocation")
    causes, members = troubles(lake), _rows(lake, "group_members")
    found = ResultsAgreement()
    for log in sorted((recording / "client_logs").rglob("*.gz")):
        with gzip.open(log, "rt", encoding="utf-8", errors="replace") as lines:
            for told in filter(None, map(_LINE.match, lines)):
                at, group, topic, client = _at_ms(told), told[4], told[5], told[6]
                queues = {(name, int(number)) for name, number in _QUEUE.findall(told[9])}
                rows = [
                    row
                    for row in allocations[group, topic]
                    if row["start_ms"] - _CAPTURE_MS <= at <= row["end_ms"] + _CAPTURE_MS
                ]
                if not rows:
                    continue  # not determinable, or no capture about this time
                shares: dict[Any, set[tuple[str, int]]] = defaultdict(set)
                for row in rows:
                    shares[row["view_broker_name"], row["start_ms"]].update(
                        {(row["broker_name"], row["queue_id"])} if row["client_id"] == client else ()
                    )
                if queues in shares.values():
                    found.matched += 1
                elif told[7] and int(told[7]) not in _queues(rows):
                    found.explained["queues that no capture shows"] += 1
                elif told[8] and int(told[8]) not in _sizes(members[group, None], at):
                    found.explained["members that no capture shows"] += 1
                elif cause := _cause(causes[group, topic] + causes[group, None], at):
                    found.explained[cause] += 1
                else:
                    found.unexplained.append(f"{at} {log.parent.name} {group} {topic} {client}: {sorted(queues)}")
    return found


def _at_ms(told: re.Match[str]) -> int:
    local = dt.datetime.strptime(told[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=dt.UTC)
    shanghai_ms = 28_800_000 if told[2] == "." else 0
    return int(local.timestamp() * 1_000) + int(told[3]) - shanghai_ms


def _queues(rows: list[dict[str, Any]]) -> set[int]:
    """How many queues the topic has in each stretch."""
    queues: dict[int, set[tuple[str, int]]] = defaultdict(set)
    for row in rows:
        if row["in_route"]:
            queues[row["start_ms"]].add((row["broker_name"], row["queue_id"]))
    return {len(each) for each in queues.values()}


def _sizes(members: list[dict[str, Any]], at: int) -> set[int]:
    """How many members the captures around a time show."""
    return {
        len(row["client_ids"]) for row in members if row["start_ms"] - _CAPTURE_MS <= at <= row["end_ms"] + _CAPTURE_MS
    }


def _cause(findings: list[dict[str, Any]], at: int) -> str | None:
    for row in findings:
        if (
            row["cause"] != "UNEXPLAINED"
            and row["kind"] in ("AGAINST_STRATEGY", "DOUBLY_OWNED", "UNASSIGNED", "VIEWS_DIFFER")
            and row["start_ms"] - _CAPTURE_MS <= at <= row["end_ms"] + _CAPTURE_MS
        ):
            return str(row["kind"] if row["cause"] == "NONE_NEEDED" else row["cause"])
    return None


def _rows(lake: Path, table: str) -> dict[tuple[str, str | None], list[dict[str, Any]]]:
    by_subject: dict[tuple[str, str | None], list[dict[str, Any]]] = defaultdict(list)
    for row in deltalake.DeltaTable(str(lake / table)).to_pyarrow_table().to_pylist():
        by_subject[row["consumer_group"], row.get("topic")].append(row)
    return by_subject
