"""A night of 50 brokers and 200 producers with hundreds of thousands of isolations: more than a page can show."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path

from jobs.tables import BROKER_WINDOWS, EVENTS, FINDINGS, ISOLATION_INTERVALS, QUEUE_OWNERSHIP, REBALANCES
from tests.given.lakes import publish, write_rows

NIGHT = dt.date(2026, 3, 2)
START = 1_772_409_600_000  # 00:00 UTC, epoch ms
DAY_MS = 86_400_000
BROKERS = [f"broker-{number:02}" for number in range(50)]
PRODUCERS = [f"10.{number // 250}.{number % 250}.7@{number}#{'x' * 60}" for number in range(200)]
CAUSES = ("LATENCY", "RemotingTimeoutException", "RemotingConnectException", "MQBrokerException", "HIDDEN_RETRY")
ROW = {"event_date": NIGHT, "cluster": "main"}


def write_bad_night(lake: Path, isolations: int) -> None:
    """As many isolations as told, a few brokers and producers with most; every minute a window; restless groups."""
    chance = random.Random(7)
    publish(lake, NIGHT)
    publish(lake, NIGHT, flow="ALLOCATION")
    stretches = []
    for number in range(isolations):
        start_ms = START + chance.randrange(DAY_MS - 600_000)
        end_ms = start_ms + chance.choice((30, 2_000, 30_000, 600_000))
        stretches.append(
            ROW | {
                "client_id": PRODUCERS[int(chance.random() ** 2 * 200)],
                "broker_name": BROKERS[int(chance.random() ** 3 * 50)],
                "producer_group": "PG", "start_ms": start_ms, "end_ms": end_ms, "cause": chance.choice(CAUSES),
                "end_earliest_ms": end_ms, "end_latest_ms": end_ms, "evidence": "LOGGED", "ended_by": "EXPIRED",
                "enforced": number % 7 != 0, "extensions": 1, "opener_latency_ms": 3_000, "client_version": "5.3.3",
            }
        )  # fmt: skip
    write_rows(lake, ISOLATION_INTERVALS, stretches)
    latencies = {"latency_p50_ms": 12, "latency_p95_ms": 1234, "latency_p99_ms": 2345, "latency_max_ms": 30_000}
    windows = [
        ROW | latencies | {"broker_name": broker, "window_start_ms": START + minute * 60_000, "sends": 40_000,
                           "failures": 123, "isolated_ms": chance.randrange(60_000)}
        for broker in BROKERS for minute in range(1440)
    ]  # fmt: skip
    write_rows(lake, BROKER_WINDOWS, windows)
    spans = [START + chance.randrange(DAY_MS - 900_000) for _ in range(400)]
    write_rows(
        lake,
        EVENTS,
        [
            ROW
            | {
                "event_id": f"e{at}",
                "broker_name": BROKERS[at % 50],
                "brokers": [BROKERS[at % 50]],
                "bad_from_ms": at,
                "last_bad_ms": at + 900_000,
                "producers": 200,
                "severity": "WARNING",
            }
            for at in spans
        ],
    )
    found = {"kind": "ALL_ISOLATED", "cause": "ALL_ISOLATED", "severity": "WARNING", "sentence": "words " * 30}
    write_rows(lake, FINDINGS, [ROW | found | {"start_ms": at, "end_ms": at + 1} for at in range(5_000)])
    owned = [
        ROW | {"consumer_group": f"g{number % 40}", "topic": "T" * 40, "broker_name": BROKERS[number % 50],
               "queue_id": number // 50 % 16, "client_id": PRODUCERS[number % 90], "source": "CLIENT_LOG",
               "start_ms": START + number * 800, "end_ms": START + number * 800 + 40_000}
        for number in range(100_000)
    ]  # fmt: skip
    write_rows(lake, QUEUE_OWNERSHIP, owned)
    change = {"topic": "T", "queues": 800, "moved": 3, "trigger": "JOINED", "joined": PRODUCERS[:3], "left": []}
    changes = [
        ROW | change | {"consumer_group": f"g{at % 40}", "changed_at_ms": START + at * 4_000} for at in range(20_000)
    ]
    write_rows(lake, REBALANCES, changes)
