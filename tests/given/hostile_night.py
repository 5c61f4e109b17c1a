"""A small night with names that would like to be markup, script or a spreadsheet's formula."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

from jobs.tables import (
    ALLOCATION_FINDINGS,
    BROKER_WINDOWS,
    EVENTS,
    FINDINGS,
    ISOLATION_INTERVALS,
    QUEUE_OWNERSHIP,
    REBALANCES,
    SEND_CALLS,
)
from tests.given.lakes import publish, write_rows

BEFORE, NIGHT = dt.date(2026, 3, 1), dt.date(2026, 3, 2)
START = 1_772_409_600_000  # 00:00 UTC of NIGHT, epoch ms

SCRIPT = "</script><script>window.owned=1</script>"
IMAGE = "<img src=x onerror=window.owned=1>"
LINK = '<a href="javascript:window.owned=1">click</a>'
BOLD = "<b>bold</b>&lt;i&gt;"
QUOTES = "\"'`;--\n\u202eRTL\x1b[31m"
TEMPLATE = "{{ 7*7 }}%{x}${7*7}"
HOSTILE = (SCRIPT, IMAGE, LINK, BOLD, QUOTES, TEMPLATE)


def isolation(client_id: str, broker: str, from_ms: int, until_ms: int, **other: object) -> dict[str, Any]:
    return {
        "event_date": NIGHT, "cluster": "main", "client_id": client_id, "producer_group": "PG", "process": "A",
        "client_version": "5.3.3", "broker_name": broker, "start_ms": START + from_ms, "end_ms": START + until_ms,
        "end_earliest_ms": START + until_ms, "end_latest_ms": START + until_ms, "cause": "LATENCY",
        "evidence": "LOGGED", "opener_latency_ms": 600, "ended_by": "EXPIRED", "enforced": True, "profile": "P5",
        "policy": "P5", **other,
    }  # fmt: skip


ISOLATIONS = [
    isolation("p1", "broker-a", 5_000, 35_000),
    isolation("p1", "broker-a", 50_000, 50_002),
    isolation("p2", "broker-a", 6_000, 16_000, cause="RemotingTimeoutException", opener_latency_ms=3000, extensions=2),
    isolation("p3", "broker-a", 7_000, 12_000, enforced=False),
    isolation("p4", "broker-a", 8_000, 8_000),  # no length: only the band says isolated
    *(isolation(name, "broker-b", 10_000, 20_000, cause=name, evidence=name) for name in HOSTILE),
    *(isolation("p1", name, 10_000, 20_000, ended_by=name, producer_group=name) for name in HOSTILE),
]
DRAWN = [each for each in ISOLATIONS if each["end_ms"] > each["start_ms"]]


def window(minute: int, broker: str = "broker-a", **other: object) -> dict[str, Any]:
    start_ms = START + minute * 60_000
    return {"event_date": NIGHT, "cluster": "main", "broker_name": broker, "window_start_ms": start_ms, **other}


def event(number: int, broker: str, **other: object) -> dict[str, Any]:
    """Bad for ten seconds from second 6 on, and avoided by two of three producers until second 35."""
    return {
        "event_date": NIGHT, "cluster": "main", "event_id": f"event-{number}", "broker_name": broker,
        "brokers": [broker], "kind": "TIMED_OUT", "severity": "WARNING", "bad_from_ms": START + 6_000,
        "last_bad_ms": START + 15_990, "bad_until_ms": START + 16_000, "producers": 3, "avoiding_producers": 2,
        "avoided_from_ms": START + 6_000, "avoided_until_ms": START + 35_000, "avoided_after_ms": 19_000, **other,
    }  # fmt: skip


def owned(queue_id: int, client_id: str, from_s: int, until_s: int, **other: object) -> dict[str, Any]:
    return {
        "event_date": NIGHT, "cluster": "main", "consumer_group": "g", "topic": "T", "broker_name": "broker-a",
        "queue_id": queue_id, "client_id": client_id, "source": "CLIENT_LOG", "process": "log",
        "start_ms": START + from_s * 1000, "end_ms": START + until_s * 1000, **other,
    }  # fmt: skip


OWNED = [
    owned(0, "c1", 0, 60),
    owned(0, "c2", 30, 90),  # both for half a minute
    owned(1, SCRIPT, 0, 90),
    owned(2, "c2", 0, 20),
    owned(0, LINK, 0, 90, consumer_group=IMAGE, topic=BOLD, broker_name=SCRIPT),
]


def write_night(lake: Path) -> None:
    """The night, and one night before it."""
    publish(lake, BEFORE, NIGHT)
    publish(lake, NIGHT, flow="ALLOCATION")
    write_rows(lake, ISOLATION_INTERVALS, ISOLATIONS)
    quiet: dict[str, Any] = {"sends": 900, "failures": 0, "latency_p50_ms": 1, "latency_p95_ms": 3, "latency_p99_ms": 5}
    write_rows(
        lake,
        BROKER_WINDOWS,
        [
            window(0, **quiet | {"failures": 45, "latency_p99_ms": 3001}, isolated_ms=40_000),
            window(1, **quiet | {"latency_p50_ms": 0}),
            window(5, **quiet),
            *(window(0, name, sends=10, isolated_ms=10_000) for name in HOSTILE),
            {**window(-1_000, sends=500), "event_date": BEFORE},
        ],
    )
    write_rows(lake, EVENTS, [event(number, name) for number, name in enumerate(("broker-a", *HOSTILE))])
    found = {"event_date": NIGHT, "cluster": "main", "start_ms": START, "end_ms": START + 1}
    lost = {**found, "event_id": "event-0", "attempts": 1, "failed": True}
    names = ("client_id", "producer_group", "client_version", "topic", "outcome")
    calls = [{**lost, **dict.fromkeys(names, each), "broker_names": [each]} for each in HOSTILE]
    write_rows(lake, SEND_CALLS, calls)
    finding = {"kind": "ALL_ISOLATED", "cause": "ALL_ISOLATED", "severity": "WARNING"}
    sentences = ["calm words", *HOSTILE]
    write_rows(lake, FINDINGS, [{**found, **finding, "sentence": each, "client_id": each} for each in sentences])
    follows = {**found, **finding, "producer_group": "PG", "event_id": "event-1", "severity": "CRITICAL"}
    write_rows(lake, FINDINGS, [{**follows, "sentence": IMAGE, "client_id": IMAGE}])
    fault = {"consumer_group": "g", "kind": "UNASSIGNED", "cause": "UNEXPLAINED", "basis": "OBSERVED"}
    rows = [{**found, **fault, "topic": "T", "broker_name": "broker-a", "queue_id": 2, "sentence": IMAGE}]
    write_rows(lake, ALLOCATION_FINDINGS, [*rows, {**rows[0], "consumer_group": IMAGE}])
    write_rows(lake, QUEUE_OWNERSHIP, OWNED)
    change = {"event_date": NIGHT, "cluster": "main", "topic": "T", "trigger": "JOINED", "queues": 3}
    moves = {"joined": ["c2", SCRIPT], "left": [], "moved": 2, "fewest_moves": 1, "moved_beyond_fewest": 1}
    write_rows(lake, REBALANCES, [{**change, **moves, "consumer_group": "g", "changed_at_ms": START + 30_000}])
