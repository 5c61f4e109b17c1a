"""Seeded snapshots of a site of any size, as the canonical lines of docs/snapshots.md.

All brokers report the same members at the same instant, so every replay of a snapshot gives the same answer. Changes
fall on a grid that does not depend on the number of captures: more captures only add unchanged ones.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

DAY = dt.date(2026, 3, 1)
CONSISTENT_HASH = "CONSISTENT_HASH"
_START_MS = 1_772_323_200_000  # 00:00 UTC of DAY
_GRID = 120  # points of the period at which something may change
_CONNECTION_EVERY_MS = 60_000  # the long answer, with the topics; the member list comes every time
_CAPTURES_A_FILE = 240


@dataclass(frozen=True)
class Size:
    """Size of a site, number of captures and changes.

    Attributes:
        name: name of the size in the table of figures.
        groups: number of groups, one topic each; every tenth allocates by CONSISTENT_HASH, the others by AVG.
        topics: number of topics; groups take them in turn.
        queues: queues per topic, spread over the brokers.
        consumers: consumers per group.
        brokers: number of brokers; all are asked about every group.
        captures: snapshots of the whole site; a multiple of the grid.
        every_ms: time between captures.
        changes: consumers per group that leave or join, alternately.
    """

    name: str
    groups: int = 10
    topics: int = 10
    queues: int = 64
    consumers: int = 20
    brokers: int = 2
    captures: int = _GRID
    every_ms: int = 5_000
    changes: int = 3

    @property
    def units(self) -> int:
        """Snapshot × group × topic."""
        return self.captures * self.groups

    @property
    def lines(self) -> int:
        """Number of lines of all inputs."""
        return self.captures * (self.groups * self.brokers + self.topics)

    def group(self, number: int) -> str:
        """Name of a group."""
        return f"CG_{number:04}"

    def topic_of(self, group: int) -> str:
        """The topic that the group consumes."""
        return f"topic-{group % self.topics:04}"

    def strategies(self) -> str:
        """The settings file with the groups' strategies."""
        named = (self.group(number) for number in range(1, self.groups, 10))
        return "".join(f'[groups."{name}"]\nstrategy = "{CONSISTENT_HASH}"\n\n' for name in named)


def write_snapshots(size: Size, folder: Path, seed: int = 4) -> None:
    """`consumers/*.jsonl`, `routes/*.jsonl` and `strategies.toml` below the folder, always the same for one seed."""
    for name in ("consumers", "routes"):
        (folder / name).mkdir(parents=True)
    (folder / "strategies.toml").write_text(size.strategies(), encoding="utf-8")
    groups = [_Group(size, number, random.Random(f"{seed}-group-{number}")) for number in range(size.groups)]
    topics = [_Topic(size, number, random.Random(f"{seed}-topic-{number}")) for number in range(size.topics)]
    for first in range(0, size.captures, _CAPTURES_A_FILE):
        captures = range(first, min(first + _CAPTURES_A_FILE, size.captures))
        with (folder / "consumers" / f"{first:06}.jsonl").open("w", encoding="utf-8") as file:
            for capture in captures:
                _write(file, size, capture, (line for group in groups for line in group.answers(capture)))
        with (folder / "routes" / f"{first:06}.jsonl").open("w", encoding="utf-8") as file:
            for capture in captures:
                _write(file, size, capture, (topic.answer(capture) for topic in topics))


def _write(file: TextIO, size: Size, capture: int, fragments: Iterator[str]) -> None:
    head = f'{{"captured_at_ms": {_START_MS + capture * size.every_ms}, '
    file.writelines(f"{head}{fragment}\n" for fragment in fragments)


class _Group:
    """One consumer group; its answers are encoded again only when its members change."""

    def __init__(self, size: Size, number: int, chance: random.Random) -> None:
        self._size, self._number, self._chance = size, number, chance
        self._members = [self._client() for _ in range(size.consumers)]
        self._changes = _instants(size, size.changes, chance)
        self._left = False
        self._encode()

    def answers(self, capture: int) -> list[str]:
        """Answers of all brokers at that capture; call this in order of captures."""
        if capture in self._changes:
            if self._left:
                self._members.append(self._client())
            else:
                self._members.remove(self._chance.choice(self._members))
            self._left = not self._left
            self._encode()
        at_ms = capture * self._size.every_ms
        is_long = at_ms // _CONNECTION_EVERY_MS != (at_ms - self._size.every_ms) // _CONNECTION_EVERY_MS
        return self._long if is_long else self._short

    def _client(self) -> str:
        octets = ".".join(str(self._chance.randrange(1, 255)) for _ in range(3))
        return f"10.{octets}@{self._chance.randrange(2, 65_536)}#{self._chance.randrange(10**14, 10**15)}"

    def _encode(self) -> None:
        topic = self._size.topic_of(self._number)
        connection = {
            "connectionSet": [
                {"clientId": client_id, "language": "JAVA", "version": 479} for client_id in self._members
            ],
            "messageModel": "CLUSTERING",
            "subscriptionTable": {topic: {"topic": topic}},
        }
        self._short = self._lines({"client_ids": self._members})
        self._long = self._lines({"client_ids": None, "body": json.dumps(connection)})

    def _lines(self, told: Mapping[str, Any]) -> list[str]:
        group = self._size.group(self._number)
        return [
            _fragment({"consumer_group": group, "broker_name": name, "broker_addr": f"{name}:10911", "code": 0, **told})
            for name in _brokers(self._size)
        ]


class _Topic:
    """One topic; every fourth gets more queues on each broker once."""

    def __init__(self, size: Size, number: int, chance: random.Random) -> None:
        self._name = f"topic-{number:04}"
        self._grows = min(_instants(size, 1, chance)) if number % 4 == 0 else size.captures
        self._before = self._encode(size, size.queues)
        self._after = self._encode(size, size.queues + 4 * size.brokers)

    def answer(self, capture: int) -> str:
        """Answer of the name server at that capture."""
        return self._before if capture < self._grows else self._after

    def _encode(self, size: Size, queues: int) -> str:
        names = _brokers(size)
        of_each = queues // size.brokers
        route = {
            "brokerDatas": [
                {"brokerAddrs": {"0": f"{name}:10911"}, "brokerName": name, "cluster": "C"} for name in names
            ],
            "queueDatas": [
                {"brokerName": name, "perm": 6, "readQueueNums": of_each, "writeQueueNums": of_each} for name in names
            ],
        }
        return _fragment({"topic": self._name, "code": 0, "body": json.dumps(route)})


def _brokers(size: Size) -> list[str]:
    return [f"broker-{number:02}" for number in range(size.brokers)]


def _instants(size: Size, count: int, chance: random.Random) -> frozenset[int]:
    """Captures at which something changes, never the first."""
    return frozenset(place * (size.captures // _GRID) for place in chance.sample(range(1, _GRID), count))


def _fragment(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields)[1:]
