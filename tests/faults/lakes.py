"""What a lake says, without how it came about; and the log that most of these tests publish."""

from __future__ import annotations

import json
from pathlib import Path

import deltalake

from jobs.settings import load_settings
from jobs.tables import RUN_LOG, TABLES
from tests.site import D1, D2, Line, at, send

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
# Ended after the attempt with seq 2: a clock step, so that findings change too.
CORRECTED: list[Line] = [*_REST, send(at(D1, "18:00:03"), 3_000, "RemotingTimeoutException", seq=1)]


def content(lake: Path) -> dict[str, list[str]]:
    """Each table but the run log: its rows, sorted, without run id and folder of the input."""
    return {
        table.name: sorted(
            json.dumps({name: _plain(name, value) for name, value in row.items() if name != "run_id"}, default=str)
            for row in deltalake.DeltaTable(str(lake / table.name)).to_pyarrow_table().to_pylist()
        )
        for table in TABLES
        if table is not RUN_LOG and (lake / table.name).is_dir()
    }


def _plain(name: str, value: object) -> object:
    return Path(str(value)).name if name == "file" else value


def versions(lake: Path) -> dict[str, int]:
    """Each table but the run log: its Delta version."""
    return {
        table.name: deltalake.DeltaTable(str(lake / table.name)).version()
        for table in TABLES
        if table is not RUN_LOG and (lake / table.name).is_dir()
    }
