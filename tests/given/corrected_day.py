"""What a lake says, without how it came about; and the log that most of these tests publish."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import deltalake

from jobs.settings.load import load_settings
from jobs.tables import RUN_LOG, TABLES
from tests.given.site import D1, D2, Line, at, send
from tests.given.snapshot_site import route

LENIENT = load_settings([], ["max_bad_fraction=0.5"], {})

# A time-out at the end of the first day isolates broker-a into the second: a correction of the first changes both.
_REST = [
    send(at(D1, "06:00:00"), seq=1),
    send(at(D1, "12:00:03"), 3_000, "RemotingTimeoutException", broker_name="broker-ıİ", seq=2),
    send(at(D1, "12:00:05"), broker_name="broker-b", client_id="p2", order_key="k", queue_id=1, seq=3),
    send(at(D1, "12:00:06"), 700, broker_name="broker-c", client_id="p2", order_key="k", queue_id=2, seq=4),
    {"client_id": "p3"},
    send(at(D2, "00:00:03"), 3_000, "MQBrokerException", broker_name="broker-b", client_version="4.9.8", seq=5),
    send(at(D2, "00:00:20"), seq=6),
]
FIRST: list[Line] = [*_REST, send(at(D1, "23:59:58"), 3_000, "RemotingTimeoutException", seq=7)]
# Ended after the attempt with seq 2: a clock step, so that findings change too. One more bad line, one more move of
# an order key, one more plain send, routes, and a recorded update: a correction changes every table.
CORRECTED: list[Line] = [
    *_REST,
    send(at(D1, "18:00:03"), 3_000, "RemotingTimeoutException", seq=1),
    send(at(D1, "12:00:07"), broker_name="broker-b", client_id="p2", order_key="k", queue_id=1, seq=8),
    send(at(D1, "07:00:00"), client_id="p5", seq=9),
    {"client_id": "p4"},
]
_QUEUES: dict[str, Any] = {"broker-a": 4, "broker-ıİ": 4, "broker-b": 4, "broker-c": 4}
CORRECTED_ROUTES = [route(at(D1, "06:00:00"), **_QUEUES)]
CORRECTED_UPDATES: list[Line] = [
    {
        "client_id": "p6", "producer_group": "PG", "broker_name": "broker-a", "op": "UPDATE", "seq": 1,
        "at_ms": at(D1, "07:00:00"), "current_latency_ms": 5, "not_available_ms": 0, "available_at_ms": 0,
    }
]  # fmt: skip
"""Of a producer that sends nothing."""


def content(lake: Path, *, but: str = "") -> dict[str, list[str]]:
    """Each table but the run log, and but the one named: its rows, sorted, without run id and folder of the input."""
    return said_by({name: deltalake.DeltaTable(str(lake / name)) for name in _tables(lake) if name != but})


def said_by(tables: Mapping[str, deltalake.DeltaTable]) -> dict[str, list[str]]:
    """Each table's rows, sorted, without run id and folder of the input.

    Some table has rows: to compare nothing with nothing shows nothing.
    """
    found = {
        name: sorted(
            json.dumps({name: _plain(name, value) for name, value in row.items() if name != "run_id"}, default=str)
            for row in table.to_pyarrow_table().to_pylist()
        )
        for name, table in tables.items()
    }
    assert any(found.values()), "there is no row to compare"
    return found


def by_day(content: dict[str, list[str]]) -> dict[tuple[str, str], list[str]]:
    """The rows of each table and day."""
    found: dict[tuple[str, str], list[str]] = {}
    for table, rows in content.items():
        for row in rows:
            found.setdefault((table, json.loads(row)["event_date"]), []).append(row)
    return found


def _plain(name: str, value: object) -> object:
    return Path(str(value)).name if name == "file" else value


def versions(lake: Path, *, may_be_new: bool = False) -> dict[str, int]:
    """Each table but the run log: its Delta version; none only where the lake may be new."""
    found = {name: deltalake.DeltaTable(str(lake / name)).version() for name in _tables(lake)}
    assert found or may_be_new, f"{lake} holds no table"
    return found


def _tables(lake: Path) -> list[str]:
    return [table.name for table in TABLES if table is not RUN_LOG and (lake / table.name).is_dir()]
