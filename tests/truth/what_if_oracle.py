"""The client's rules as plain loops: what a policy would have done with the sends of one producer process.

Written from `LatencyFaultToleranceImpl` and `MQFaultStrategy` alone; it shares no code with what it checks. Sync and
one-way sends only: one write each, at the end of the send.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

REMOTING = ("RemotingTimeoutException", "RemotingConnectException")
ANSWERS = ("SEND_OK", "FLUSH_DISK_TIMEOUT", "SENT")


@dataclass(frozen=True)
class Send:
    broker: str
    started_ms: int
    ended_ms: int
    latency_ms: int
    outcome: str
    by_caller: bool = False


@dataclass(frozen=True)
class Client:
    """A client's arrays, and its rules by version."""

    floors: tuple[int, ...]
    isolations: tuple[int, ...]
    constant: int
    keeps_latest: bool
    reachable_counts: bool
    not_exist_isolates: bool

    def duration(self, latency: int) -> int:
        for place in range(len(self.floors) - 1, -1, -1):
            if latency >= self.floors[place]:
                return self.isolations[place]
        return 0


@dataclass
class Item:
    """A fault item that remembers when it was available."""

    start: int = 0
    reachable: bool = True
    history: list[tuple[int, int, bool]] = field(default_factory=list)

    def write(self, client: Client, at: int, isolation: int, *, reachable: bool) -> None:
        if not client.keeps_latest or (isolation > 0 and at + isolation > self.start):
            self.start = at + isolation
        self.reachable = reachable
        self.history.append((at, self.start, reachable or not client.reachable_counts))

    def stretches(self, until: int) -> list[tuple[int, int]]:
        """When it was not available, before `until`."""
        found: list[tuple[int, int]] = []
        since: int | None = None
        end = 0
        for at, start, reachable in self.history:
            if since is not None and end <= at:
                found.append((since, end))
                since = None
            end = start if reachable else until
            if since is None and end > at:
                since = at
            elif since is not None and end <= at:
                found.append((since, at))
                since = None
        if since is not None:
            found.append((since, min(end, until)))
        return [(first, last) for first, last in found if last > first]


def written(client: Client, send: Send) -> tuple[int, bool] | None:
    """Isolation and reachable flag that the send writes; None = it writes nothing. The detector is off."""
    if send.by_caller:
        return None
    if send.outcome in REMOTING:
        return client.duration(client.constant), True
    if send.outcome == "MQBrokerException":
        return client.duration(client.constant), False
    if send.outcome == "MQClientException" and client.not_exist_isolates:
        return client.duration(client.constant), True
    if send.outcome in ANSWERS or send.outcome == "MQClientException":
        return client.duration(send.latency_ms), True
    return None


def isolations(client: Client, sends: Sequence[Send], until: int) -> dict[str, list[tuple[int, int]]]:
    items: dict[str, Item] = defaultdict(Item)
    for send in sorted(sends, key=lambda each: each.ended_ms):  # stable: the log's order settles equal times
        write = written(client, send)
        if write is not None:
            isolation, reachable = write
            items[send.broker].write(client, send.ended_ms, isolation, reachable=reachable)
    return {broker: item.stretches(until) for broker, item in items.items()}


def is_bad(send: Send, slow_ms: int) -> bool:
    return send.outcome not in ANSWERS or (send.outcome != "SENT" and send.latency_ms >= slow_ms)


def steered(client: Client, sends: Sequence[Send], day_start: int, until: int) -> list[bool]:
    """For each send: would the client have chosen another broker?"""
    held = isolations(client, sends, until)
    brokers = {send.broker for send in sends if not send.by_caller}

    def isolated(broker: str, at: int) -> bool:
        return any(first < at < last for first, last in held.get(broker, []))

    found = []
    for send in sends:
        at = max(send.started_ms, day_start)
        choice = not send.by_caller and isolated(send.broker, at)
        found.append(choice and not all(isolated(broker, at) for broker in brokers))
    return found


def outcome(
    client: Client, others: Sequence[Client], sends: Sequence[Send], day_start: int, until: int, slow_ms: int
) -> dict[str, dict[str, int]]:
    """Broker to the figures of `policy_outcomes` for one producer process."""
    own = steered(client, sends, day_start, until)
    by_any = [any(each) for each in zip(*(steered(other, sends, day_start, until) for other in others), strict=True)]
    held = isolations(client, sends, until)
    rows = {}
    for broker in {send.broker for send in sends if not send.by_caller}:
        mine = [place for place, send in enumerate(sends) if send.broker == broker and not send.by_caller]
        bad = [place for place in mine if is_bad(sends[place], slow_ms)]
        rows[broker] = {
            "sends": len(mine),
            "bad_sends": len(bad),
            "isolations": len(held.get(broker, [])),
            "isolated_ms": sum(last - first for first, last in held.get(broker, [])),
            "steered": sum(own[place] for place in mine),
            "hits": sum(own[place] for place in bad),
            "unavoidable": sum(not by_any[place] for place in bad),
        }
    return rows
