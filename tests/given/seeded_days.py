"""Made-up days of send attempts, drawn from a seed: the same seed gives the same bytes.

    write_seeded_sends(folder, seed=1, days=(D1, D2, D3), clusters=("east", "west"))

puts `sends/`, `routes/` and `settings.toml` below the folder. Producers pick queues as a simple client does: round
robin, away from brokers that failed or were slow, on a ladder of their own version. So the days hold isolations,
events and findings, over midnight too. On purpose they also hold what makes a replay hard: processes that start
again (with a process_id, and with a fall of seq alone), async sends with their submit times and hidden retries, ends
within one millisecond, callers that choose the queue, order keys, one-way sends, brokers told by address alone, the
switch off or not logged, lines without seq or version, exact duplicates, lines of other days, and bad lines.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.given.seeded_producers import (
    ADDRESSES,
    BROKERS,
    QUEUES,
    Line,
    Producer,
    attempts_of,
    made_up_producers,
    outages_within,
)

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
SPANS_MS = ((0, 420_000), (11 * HOUR_MS, 11 * HOUR_MS + 600_000), (DAY_MS - 480_000, DAY_MS))
"""When producers send, from midnight on: dense minutes in the morning, at noon and up to midnight."""


def write_seeded_sends(folder: Path, seed: int, days: Sequence[dt.date], clusters: Sequence[str] = ("main",)) -> None:
    """`sends/` (a file a day and cluster, every second one gzipped), `routes/` and `settings.toml` below the folder."""
    for number, cluster in enumerate(clusters):
        chance = random.Random(f"{seed} {cluster}")
        producers = made_up_producers(chance, cluster)
        named = {} if number == 0 else {"cluster": cluster}  # the first is the setting's own
        for nth, day in enumerate(days):
            lines = [named | line for line in seeded_sends(chance, day, producers)]
            texts = [json.dumps(line) for line in lines]
            texts = _with_repeats(chance, texts) + (bad_lines(lines[chance.randrange(len(lines))]) if nth < 2 else [])
            packed = ".gz" if (nth + number) % 2 else ""
            write_text(folder / "sends" / cluster / f"sends-{day}.jsonl{packed}", texts)
        write_text(
            folder / "routes" / f"routes-{cluster}.jsonl",
            [json.dumps(named | line) for line in seeded_routes(chance, days)],
        )
    (folder / "settings.toml").write_text(settings_text(clusters[0]), encoding="utf-8")


def write_text(file: Path, lines: Iterable[str]) -> None:
    """Lines of text, gzipped by the file's name; the same lines give the same bytes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(f"{line}\n" for line in lines).encode()
    file.write_bytes(gzip.compress(content, mtime=0) if file.name.endswith(".gz") else content)


def start_of(day: dt.date) -> int:
    """00:00 UTC, epoch ms.

    >>> start_of(dt.date(2026, 3, 1))
    1772323200000
    """
    return (day - dt.date(1970, 1, 1)).days * DAY_MS


def seeded_sends(chance: random.Random, day: dt.date, producers: Sequence[Producer]) -> list[Line]:
    """The day's attempts in the order in which they ended, each producer going on from where the day before left it."""
    start_ms = start_of(day)
    lines: list[Line] = []
    for first, last in SPANS_MS:
        outages = outages_within(chance, start_ms + first, start_ms + last)
        for producer in producers:
            if producer.restarts and chance.random() < 0.6:
                producer.starts_anew(chance.randrange(9))
            at_ms = start_ms + first + chance.randrange(producer.every_ms)
            while at_ms < start_ms + last:
                attempts = list(attempts_of(chance, producer, at_ms, outages))
                lines += attempts
                busy_ms = attempts[-1]["ended_at_ms"] - at_ms if producer.mode == "SYNC" else 0
                # Now and then two sends of two threads end within one millisecond.
                at_ms += max(busy_ms, 0 if chance.random() < 0.08 else chance.randrange(producer.every_ms))
    return sorted(lines, key=lambda line: line["ended_at_ms"])


def seeded_routes(chance: random.Random, days: Sequence[dt.date]) -> Iterator[Line]:
    """What the name server answered: once an hour and topic, with queues that change and brokers that leave."""
    for day in days:
        for hour in range(0, 24, 2):
            for topic, queues in QUEUES.items():
                gone = {"broker-d"} if chance.random() < 0.15 else set()
                number = queues + (chance.random() < 0.2)
                brokers = [name for name in BROKERS if name not in gone]
                addresses = [
                    {"brokerName": name, "cluster": "C", "brokerAddrs": {"0": ADDRESSES[name]}} for name in brokers
                ]
                datas = [
                    {"brokerName": name, "perm": 6, "readQueueNums": number, "writeQueueNums": number}
                    for name in brokers
                ]
                body = json.dumps({"brokerDatas": addresses, "queueDatas": datas})
                failed = chance.random() < 0.05
                yield {
                    "captured_at_ms": start_of(day) + hour * HOUR_MS + chance.randrange(60_000),
                    "topic": topic,
                    "code": None if failed else 0,
                    "body": None if failed else body,
                }


def _with_repeats(chance: random.Random, texts: list[str]) -> list[str]:
    """The lines with a few exact duplicates, some far from the first."""
    again = [text for text in texts if chance.random() < 0.004]
    return [*texts, *again]


def bad_lines(good: Line) -> list[str]:
    """The line as it cannot be used, a few of each kind, and on two other days."""
    changes: list[Line] = [
        {"client_id": ""}, {"latency_ms": None}, {"latency_ms": -3}, {"outcome": None}, {"outcome": "Perhaps"},
        {"mode": "BATCH"}, {"broker_name": None, "broker_addr": None, "outcome": "SEND_OK"},
        {"ended_at_ms": 17, "started_at_ms": 12},
        {"queue_id": "two"}, {"broker_name": "broker\u0007a"}, {"queue_chosen_by": "NOBODY"},
        {"ended_at_ms": good["ended_at_ms"] + 9 * DAY_MS}, {"ended_at_ms": good["ended_at_ms"] - 9 * DAY_MS},
    ]  # fmt: skip
    return [*(json.dumps(good | change) for change in changes), '{"client_id": "cut', "[1, 2]", "", "no JSON at all"]


def settings_text(cluster: str) -> str:
    """What the site of these producers would write."""
    return f"""\
cluster = "{cluster}"
max_bad_fraction = 0.05

[producers."PG_custom-498"]
latency_max_ms = [3, 6, 12, 25, 550, 2000]
not_available_ms = [0, 0, 50, 300, 4000, 20000]

[producers."PG_unknown"]
client_version = "4.3.0"
queue_chosen_by = "CLIENT"
"""
