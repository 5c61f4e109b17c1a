"""Three nights of two clusters, drawn from a seed: what a site's lake may look like, with something for every chart."""

from __future__ import annotations

import datetime as dt
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from jobs.tables import TABLES
from tests.given.lakes import EPOCH, LiteralLake, publish

DAYS = tuple(dt.date(2026, 3, day) for day in (3, 4, 5))
CLUSTERS = {"orders": ("broker-a", "broker-b", "broker-c", "broker-d"), "payments": ("broker-a", "pay-1")}
"""Both have a broker-a; a consumer group is in both, too."""
_VERSIONS = {"4.9.8": "P1", "5.1.4": "P4", "5.3.3": "P5"}
_ISOLATION_MS = {"P1": 600_000, "P4": 60_000, "P5": 180_000}
_GROUPS = {
    "checkout": "4.9.8",
    "stock": "5.1.4",
    "mail": "5.3.3",
    "audit": "5.3.3",
    "billing": "4.9.8",
    "refunds": "5.1.4",
}
_NOT_JAVA = {"client_id": "10.1.9.9@cpp", "not_replayed": "NOT_A_JAVA_CLIENT", "enforced": True, "sends": 5_000}
_CAUSES = {"TIMED_OUT": "RemotingTimeoutException", "REFUSED": "RemotingConnectException", "SLOW": "LATENCY"}
_MINUTE_MS, _HOUR_MS, _DAY_MS = 60_000, 3_600_000, 86_400_000
Row = dict[str, Any]


@dataclass(frozen=True)
class _Night:
    """A day of a cluster, and what is drawn of it."""

    day: dt.date
    cluster: str
    chance: random.Random

    @property
    def start_ms(self) -> int:
        return int(dt.datetime.combine(self.day, dt.time(), dt.UTC).timestamp() * 1000)

    @property
    def brokers(self) -> tuple[str, ...]:
        return CLUSTERS[self.cluster]

    @property
    def producers(self) -> list[tuple[str, str, str]]:
        """Client id, group, version."""
        groups = list(_GROUPS.items())[:4] if self.cluster == "orders" else list(_GROUPS.items())[4:]
        return [
            (f"10.1.{n}.{k}@{group}", group, version) for n, (group, version) in enumerate(groups) for k in (1, 2, 3)
        ]


def write_nights(folder: Path) -> None:
    """The lake, without Spark."""
    lake = LiteralLake(folder)
    rows: dict[str, list[Row]] = defaultdict(list)
    for cluster in CLUSTERS:
        publish(folder, *DAYS, cluster=cluster)
        publish(folder, *DAYS, cluster=cluster, flow="ALLOCATION")
        for day in DAYS:
            night = _Night(day, cluster, random.Random(f"{cluster} {day}"))
            for name, row in (*_of_producers(night), *_of_groups(night)):
                rows[name].append({"event_date": day, "cluster": cluster, **row})
    for table in TABLES:
        for day in DAYS:
            lake.add(table.name, day, *(row for row in rows[table.name] if row["event_date"] == day))


def _of_producers(night: _Night) -> Iterator[tuple[str, Row]]:
    chance = night.chance
    troubles: list[tuple[str, str, int, int]] = []
    isolations: list[Row] = []
    for number in range(5):
        broker = night.brokers[int(chance.random() ** 2 * len(night.brokers))]
        kind = chance.choice(list(_CAUSES))
        start_ms = night.start_ms + number * 4 * _HOUR_MS + chance.randrange(3 * _HOUR_MS)
        troubles.append((broker, kind, start_ms, start_ms + chance.randrange(20_000, 400_000)))
    for number, (broker, kind, start_ms, end_ms) in enumerate(troubles):
        event_id = f"{number:06}-{broker}"
        cost = {"lost_sends": 0, "saved_sends": 0, "slow_sends": 0}
        for client_id, group, version in night.producers:
            who = {"client_id": client_id, "producer_group": group, "client_version": version}
            yield from (
                (name, row) for name, row in _calls(night, event_id, (broker, kind, start_ms, end_ms), who, cost)
            )
            opened_ms = start_ms + chance.randrange(3_000)
            length_ms = _ISOLATION_MS[_VERSIONS[version]] // chance.choice((1, 1, 2, 20))
            until_ms = min(end_ms + length_ms, night.start_ms + _DAY_MS)
            isolation = who | {
                "broker_name": broker, "profile": _VERSIONS[version], "policy": _VERSIONS[version],
                "process": client_id,
                "start_ms": opened_ms, "end_ms": until_ms, "end_earliest_ms": until_ms, "end_latest_ms": until_ms,
                "cause": _CAUSES[kind], "evidence": "LOGGED", "opener_latency_ms": 3_000, "extensions": 2,
                "ended_by": "EXPIRED", "enforced": group != "audit",
            }  # fmt: skip
            isolations.append(isolation)
            yield "isolation_intervals", isolation
        hit = len(night.producers)
        brokers = sorted({broker, night.brokers[-1]}) if number == 2 else [broker]
        yield "events", cost | {
            "event_id": event_id, "broker_name": broker if len(brokers) == 1 else None, "brokers": brokers,
            "all_brokers": len(night.brokers),
            "kind": kind, "severity": "CRITICAL" if cost["lost_sends"] >= 10 else "WARNING", "bad_from_ms": start_ms,
            "last_bad_ms": end_ms, "bad_until_ms": end_ms + 40, "failed_attempts": 30 + number, "slow_attempts": 12,
            "attempts": 90, "producers": hit, "hit_producers": hit, "avoiding_producers": hit - 1,
        }  # fmt: skip
        finding = {"broker_name": broker, "event_id": event_id, "start_ms": start_ms, "end_ms": end_ms}
        kinds = (("DEAD_BROKER_MAGNET", "CRITICAL"), ("ALL_ISOLATED", "WARNING"), ("SENT_WHILE_ISOLATED", "INFO"))
        for (kind_found, severity), (client_id, group, _) in zip(kinds, night.producers[::3], strict=False):
            yield "findings", finding | {
                "kind": kind_found, "severity": severity, "cause": "UNEXPLAINED", "client_id": client_id,
                "producer_group": group, "sends": 40, "failures": 12,
                "sentence": f"{client_id} sent 40 attempts to {broker}, 12 of them failed, while it held it isolated",
            }  # fmt: skip
    yield from _windows(night, troubles, isolations)
    for client_id, group, version in night.producers:
        own = [each for each in isolations if each["client_id"] == client_id]
        yield "producer_days", {
            "client_id": client_id, "producer_group": group, "enforced": group != "audit", "client_version": version,
            "switch_assumed": group == "audit", "profile": _VERSIONS[version], "policy": _VERSIONS[version],
            "sends": 20_000, "failures": chance.randrange(20, 200), "isolations": len(own),
            "isolated_ms": sum(each["end_ms"] - each["start_ms"] for each in own),
            "contradictions": chance.randrange(3),
        }  # fmt: skip
    yield "producer_days", _NOT_JAVA | {"producer_group": night.producers[0][1]}
    yield "quarantine", {"reasons": ["LATENCY_MISSING"]}


def _calls(
    night: _Night, event_id: str, trouble: tuple[str, str, int, int], who: Row, cost: dict[str, int]
) -> Iterator[tuple[str, Row]]:
    """Sends that met the trouble, counted."""
    broker, kind, start_ms, end_ms = trouble
    for _ in range(night.chance.randrange(6)):
        at_ms = night.chance.randrange(start_ms, end_ms)
        fate = night.chance.choice(("lost", "saved", "slow")) if kind != "SLOW" else "slow"
        cost[f"{fate}_sends"] += 1
        total_ms = night.chance.randrange(3_000, 9_000)
        yield "send_calls", who | {
            "process": who["client_id"], "topic": "T", "mode": "SYNC", "start_ms": at_ms, "end_ms": at_ms + total_ms,
            "total_ms": total_ms, "attempts": 2 if fate == "saved" else 1, "broker_names": [broker],
            "outcome": _CAUSES[kind] if fate == "lost" else "SEND_OK", "failed": fate == "lost",
            "retried": fate == "saved", "slow": fate == "slow", "enforced": who["producer_group"] != "audit",
            "event_id": event_id,
            "fault_latency": night.chance.choice(("SPARED", "COST", "NO_DIFFERENCE", "NONE_ISOLATED")),
        }  # fmt: skip


def _windows(
    night: _Night, troubles: list[tuple[str, str, int, int]], isolations: list[Row]
) -> Iterator[tuple[str, Row]]:
    for broker in night.brokers:
        held = [each for each in isolations if each["broker_name"] == broker and each["enforced"]]
        for window_ms in range(night.start_ms, night.start_ms + _DAY_MS, _MINUTE_MS):
            until_ms = window_ms + _MINUTE_MS
            is_bad = any(name == broker and start < until_ms and end > window_ms for name, _, start, end in troubles)
            shared = [min(until_ms, each["end_ms"]) - max(window_ms, each["start_ms"]) for each in held]
            p50 = night.chance.randrange(1, 4)
            yield "broker_windows", {
                "broker_name": broker, "window_start_ms": window_ms, "sends": night.chance.randrange(380, 460),
                "failures": night.chance.randrange(5, 40) if is_bad else 0, "producers": len(night.producers),
                "isolating_producers": sum(each > 0 for each in shared),
                "isolated_ms": sum(max(0, each) for each in shared),
                "latency_p50_ms": p50, "latency_p95_ms": p50 * (300 if is_bad else 6),
                "latency_p99_ms": p50 * (900 if is_bad else 15), "latency_max_ms": p50 * (1000 if is_bad else 40),
            }  # fmt: skip


def _of_groups(night: _Night) -> Iterator[tuple[str, Row]]:
    """Two groups with eight queues over two brokers; a member of each leaves and returns, three times or eight."""
    for group, times in (("ledger", 3), (f"{night.cluster}-search", 8)):
        members = [f"10.2.{len(night.cluster)}.{number}@{group}" for number in range(1, 4)]
        changes = sorted(night.start_ms + night.chance.randrange(_DAY_MS - _HOUR_MS) for _ in range(2 * times))
        edges = [night.start_ms, *changes, night.start_ms + _DAY_MS]
        about: Row = {"consumer_group": group}
        for number, (start_ms, end_ms) in enumerate(pairwise(edges)):
            here = members[: 2 + (number % 2 == 0)]
            span = {"start_ms": start_ms, "end_ms": end_ms}
            for broker in night.brokers[:2]:
                yield "group_members", about | span | {"broker_name": broker, "client_ids": here, "members": len(here)}
                for queue_id in range(4):
                    queue = about | span | {"topic": "T", "broker_name": broker, "queue_id": queue_id}
                    owner = here[queue_id % len(here)]
                    yield "queue_allocation", queue | {"client_id": owner, "strategy": "AVG"}
                    yield "queue_ownership", queue | {
                        "client_id": owner, "source": "CLIENT_LOG", "start_ms": start_ms + (4_000 if number else 0),
                    }  # fmt: skip
            if number:
                yield from _change(night, about, start_ms, joins=number % 2 == 0, who=members[-1])
        for strategy, moves in (("AVG", 16 * times), ("AVG_BY_CIRCLE", 20 * times), ("CONSISTENT_HASH", 5 * times)):
            yield "strategy_comparison", about | {
                "topic": "T", "strategy": strategy, "is_own": strategy == "AVG", "rebalances": 2 * times,
                "moves": moves,
            }  # fmt: skip


def _change(night: _Night, about: Row, at_ms: int, *, joins: bool, who: str) -> Iterator[tuple[str, Row]]:
    gap_ms = night.chance.randrange(500, 25_000)
    yield "rebalances", about | {
        "topic": "T", "changed_at_ms": at_ms, "changed_at": EPOCH + dt.timedelta(milliseconds=at_ms),
        "trigger": "JOINED" if joins else "LEFT", "queues": 8, "moved": 5,
        "fewest_moves": 2, "moved_beyond_fewest": 3,
    }  # fmt: skip
    event_id = f"{at_ms % _DAY_MS:08} {about['consumer_group']}"
    yield "group_events", about | {
        "event_id": event_id, "kind": "JOINED" if joins else "KILLED", "start_ms": at_ms, "settled_ms": at_ms + gap_ms,
        "client_ids": [who], "moved": 5, "unowned_queues": 3, "unowned_ms": gap_ms, "doubly_owned_queues": 0,
        "doubly_owned_ms": 0, "misplaced_queues": 2, "misplaced_ms": gap_ms // 2,
        "sentence": f"{who} {'joined' if joins else 'was killed'}; 3 queues had no owner for {gap_ms / 1000:.1f} s",
    }  # fmt: skip
    yield "allocation_findings", about | {
        "topic": "T", "start_ms": at_ms, "end_ms": at_ms + gap_ms, "broker_name": night.brokers[0], "queue_id": 1,
        "kind": "UNASSIGNED", "basis": "OBSERVED", "cause": "REBALANCE_NOT_RUN", "event_id": event_id,
        "sentence": f"queue 1 of {night.brokers[0]} had no owner for {gap_ms / 1000:.1f} s",
    }  # fmt: skip
