"""Producers of made-up days: how each is set up, how it picks brokers, and what its attempts come to."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Line = dict[str, Any]

BROKERS = ("broker-a", "broker-b", "broker-c", "broker-d")
ADDRESSES = {name: f"10.9.0.{number}:10911" for number, name in enumerate(BROKERS, 1)}
QUEUES = {"orders": 4, "audit": 2}
_OLD = ((50, 0), (100, 0), (550, 30_000), (1_000, 60_000), (2_000, 120_000), (3_000, 180_000), (15_000, 600_000))
_NEW = ((50, 0), (100, 0), (550, 2_000), (1_800, 5_000), (3_000, 6_000), (5_000, 10_000), (15_000, 30_000))
_FAILURES = (
    ("RemotingTimeoutException", 3_000, None, "wait response on the channel <{address}> timeout, 3000(ms)"),
    ("RemotingConnectException", 2, None, "connect to {address} failed"),
    ("RemotingSendRequestException", 40, None, "send request to <{address}> failed"),
    ("MQBrokerException", 3, 2, "CODE: 2  DESC: [TIMEOUT_CLEAN_QUEUE]broker busy BROKER: {address}"),
    ("MQBrokerException", 1, 16, "CODE: 16  DESC: sending message is forbidden BROKER: {address}"),
    ("MQClientException", 5, None, "The broker[{name}] not exist"),
    ("RemotingTooMuchRequestException", 4, None, "sendDefaultImpl call timeout"),
)
_UNHURT = ("FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE")


@dataclass(frozen=True)
class Outage:
    """A broker that does not answer well for a while; `how` is `slow` or the place of a failure in the list."""

    broker: str
    start_ms: int
    end_ms: int
    how: int | str


@dataclass
class Producer:
    """One producer: what it is, and what it knows at this moment of its simulated life."""

    client_id: str
    version: str | None
    mode: str
    fields: Line
    topics: tuple[str, ...] = ("orders",)
    language: str = "JAVA"
    logs_seq: bool = True
    logs_address_alone: bool = False
    restarts: str = ""
    keys: int = 0
    every_ms: int = 7_000
    turn: int = 0
    seq: int = 0
    invoke_id: int = 0
    starts: int = 1
    isolated_until_ms: dict[str, int] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """Its producer group."""
        return f"PG_{self.client_id.rpartition('@')[2]}"

    @property
    def ladder(self) -> tuple[tuple[int, int], ...]:
        """Latency to isolation of its release."""
        return _NEW if (self.version or "").startswith(("5.1.4", "5.2", "5.3", "5.5")) else _OLD

    def next_broker(self, at_ms: int) -> str:
        """The next broker in turn that is not isolated, else just the next one."""
        self.turn += 1
        turns = [BROKERS[(self.turn + step) % len(BROKERS)] for step in range(len(BROKERS))]
        return next((name for name in turns if self.isolated_until_ms.get(name, 0) <= at_ms), turns[0])

    def starts_anew(self, turn: int) -> None:
        """Its next process knows nothing and counts from the beginning."""
        self.starts += 1
        self.seq, self.turn, self.isolated_until_ms = 0, turn, {}

    def learns(self, broker: str, at_ms: int, latency_ms: int) -> None:
        """An answer's latency moves the broker's fault item."""
        earned = max((isolation for floor, isolation in self.ladder if latency_ms >= floor), default=0)
        until = at_ms + earned
        old = self.isolated_until_ms.get(broker, 0)
        self.isolated_until_ms[broker] = until if self.ladder is _OLD else max(old, until if earned else 0)


def made_up_producers(chance: random.Random, cluster: str) -> list[Producer]:
    """A dozen, each with something of its own."""
    on, off = {"fault_latency_enabled": True}, {"fault_latency_enabled": False}
    kinds: list[tuple[str, str | None, str, Line, dict[str, Any]]] = [
        ("sync-471", "4.7.1", "SYNC", on, {"topics": ("orders", "audit"), "restarts": "id"}),
        ("sync-498", "4.9.8", "SYNC", on, {"restarts": "seq"}),
        ("async-498", "4.9.8", "ASYNC", on, {"every_ms": 4_000}),
        ("sync-513", "5.1.3", "SYNC", on, {"logs_seq": False}),
        ("detector-514", "5.1.4", "SYNC", on | {"detector_enabled": True}, {"topics": ("orders", "audit")}),
        ("stuck-514", "5.1.4", "ASYNC", on | {"detector_enabled": False}, {}),
        ("sync-533", "5.3.3", "SYNC", on, {"every_ms": 3_500, "restarts": "id"}),
        ("async-533", "5.3.3", "ASYNC", on, {"every_ms": 4_000}),
        ("oneway-533", "5.3.3", "ONEWAY", on, {"topics": ("audit",)}),
        ("keyed-533", "5.3.3", "SYNC", on | {"queue_chosen_by": "CALLER"}, {"keys": 12}),
        ("custom-498", "V4_9_8", "SYNC", on, {"logs_address_alone": True}),
        ("off-533", "5.3.3", "SYNC", off, {"topics": ("audit",)}),
        ("silent-471", "4.7.1", "SYNC", {}, {}),
        ("unknown", None, "SYNC", on, {"every_ms": 20_000}),
        ("go", "2.1.2", "SYNC", on, {"language": "GO", "every_ms": 20_000}),
    ]
    return [
        Producer(f"10.1.{len(cluster)}.{number}@{name}", version, mode, fields, turn=chance.randrange(9), **more)
        for number, (name, version, mode, fields, more) in enumerate(kinds)
    ]


def outages_within(chance: random.Random, start_ms: int, end_ms: int) -> list[Outage]:
    """Brokers that fail within the stretch, some up to its very end; now and then all of them."""
    outages = []
    for _ in range(3):
        first = chance.randrange(start_ms, end_ms - 60_000)
        last = end_ms if chance.random() < 0.3 else min(end_ms, first + chance.randrange(5_000, 150_000))
        how = "slow" if chance.random() < 0.35 else chance.randrange(len(_FAILURES))
        brokers = BROKERS if chance.random() < 0.1 else (chance.choice(BROKERS),)
        outages += [Outage(name, first, last, how) for name in brokers]
    return outages


def attempts_of(chance: random.Random, producer: Producer, at_ms: int, outages: Sequence[Outage]) -> Iterator[Line]:
    """One send of a caller: its attempts, up to three of a sync one."""
    producer.invoke_id += 1
    topic = chance.choice(producer.topics)
    key = f"order-{chance.randrange(producer.keys)}" if producer.keys and chance.random() < 0.9 else None
    for attempt in (1, 2, 3) if producer.mode == "SYNC" and not producer.keys else (1,):
        broker = producer.next_broker(at_ms)
        queue_id = chance.randrange(QUEUES[topic])
        if key is not None and chance.random() < 0.85:
            number = sum(key.encode())
            broker, queue_id = BROKERS[number % len(BROKERS)], number % QUEUES[topic]
        outage = next(
            (each for each in outages if each.broker == broker and each.start_ms <= at_ms < each.end_ms), None
        )
        answer = _answer(chance, producer, broker, outage)
        producer.seq += chance.choice((1, 1, 1, 2))
        ended_at_ms = at_ms + answer["latency_ms"]
        line = {
            "client_id": producer.client_id, "producer_group": producer.group, "topic": topic,
            "client_version": producer.version, "client_language": producer.language,
            "broker_name": None if producer.logs_address_alone else broker, "broker_addr": ADDRESSES[broker],
            "queue_id": queue_id, "mode": producer.mode, "invoke_id": producer.invoke_id, "attempt": attempt,
            "started_at_ms": at_ms, "ended_at_ms": ended_at_ms, "seq": producer.seq if producer.logs_seq else None,
            "thread": f"send-{chance.randrange(3)}",
        }  # fmt: skip
        if producer.restarts == "id":
            line["process_id"] = f"{4000 + producer.starts}@{producer.client_id}"
        if producer.mode == "ASYNC":
            line["submitted_at_ms"] = at_ms + chance.choice((0, 0, 1, 2, 14))
        if key is not None:
            line["order_key"] = key
        yield line | producer.fields | answer
        failed = answer["outcome"].endswith("Exception")
        producer.learns(broker, ended_at_ms, 30_000 if failed else answer["latency_ms"])
        if not failed:
            return
        at_ms = ended_at_ms


def _answer(chance: random.Random, producer: Producer, broker: str, outage: Outage | None) -> Line:
    """Latency, outcome and what comes with it."""
    latency_ms = int(chance.lognormvariate(1.5, 0.9))
    if outage is None or producer.mode == "ONEWAY":
        outcome = "SENT" if producer.mode == "ONEWAY" else "SEND_OK"
        if producer.mode == "SYNC" and chance.random() < 0.01:
            outcome = chance.choice(_UNHURT)
        return {"latency_ms": latency_ms, "outcome": outcome, "result_broker_name": broker}
    if isinstance(outage.how, str):
        return {"latency_ms": chance.randrange(400, 4_000), "outcome": "SEND_OK", "result_broker_name": broker}
    outcome, usual_ms, code, text = _FAILURES[outage.how]
    other = chance.choice(BROKERS)
    if producer.mode == "ASYNC" and other != broker and chance.random() < 0.5:  # the client tried again by itself
        if chance.random() < 0.6:
            return {"latency_ms": usual_ms + latency_ms, "outcome": "SEND_OK", "result_broker_name": other}
        text = text.replace("{address}", ADDRESSES[other])
    return {
        "latency_ms": usual_ms + latency_ms % 7,
        "outcome": outcome,
        "response_code": code,
        "error": text.format(address=ADDRESSES[broker], name=broker),
        "cause": "RemotingConnectException" if outcome == "MQClientException" else None,
    }
