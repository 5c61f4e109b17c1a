"""What a night did to servers and applications, as lines of `deeds.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path


class DeedKind(StrEnum):
    """Kinds of deeds; each name says what was done."""

    FREEZE = "FREEZE"
    KILL_BROKER = "KILL_BROKER"
    KILL_ALL_BROKERS = "KILL_ALL_BROKERS"
    SLOW = "SLOW"
    REFUSE_WRITES = "REFUSE_WRITES"
    NAME_SERVER_AWAY = "NAME_SERVER_AWAY"
    NEW_TOPIC = "NEW_TOPIC"
    CONSUMER_JOINS = "CONSUMER_JOINS"
    CONSUMER_KILLED = "CONSUMER_KILLED"
    CONSUMER_STOPS = "CONSUMER_STOPS"
    PRODUCER_STARTS = "PRODUCER_STARTS"
    PRODUCER_KILLED = "PRODUCER_KILLED"
    PRODUCER_STOPS = "PRODUCER_STOPS"


AT_BROKERS = frozenset({
    DeedKind.FREEZE, DeedKind.KILL_BROKER, DeedKind.KILL_ALL_BROKERS, DeedKind.SLOW, DeedKind.REFUSE_WRITES,
})  # fmt: skip
AT_CONSUMERS = frozenset({DeedKind.CONSUMER_JOINS, DeedKind.CONSUMER_KILLED, DeedKind.CONSUMER_STOPS})


@dataclass(frozen=True)
class Deed:
    """One deed.

    Attributes:
        kind: what was done.
        names: brokers, instance names of consumers, applications or topics.
        start_ms: when it was done; for an order to stop, when the order was given.
        end_ms: when it was undone, or the process had ended; `start_ms` where nothing lasts.
    """

    kind: DeedKind
    names: tuple[str, ...]
    start_ms: int
    end_ms: int

    def __str__(self) -> str:
        return f"{self.kind} {' '.join(self.names)} {self.start_ms}–{self.end_ms}"


def write_deeds(file: Path, deeds: Iterable[Deed]) -> None:
    """One JSON object per deed, in order of their start."""
    rows = [asdict(deed) for deed in sorted(deeds, key=lambda deed: deed.start_ms)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def read_deeds(file: Path) -> list[Deed]:
    """The deeds that `write_deeds` wrote."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [Deed(DeedKind(row["kind"]), tuple(row["names"]), row["start_ms"], row["end_ms"]) for row in rows]
