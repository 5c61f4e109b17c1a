"""Rows of the published table `sends`, and stories of two days from which each policy's figures follow by hand."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.tables import SENDS
from tests.given.site import D1, D2, START, at

Row = dict[str, Any]


def sent(day: dt.date, started_ms: int, ended_ms: int, outcome: str = "SEND_OK", **other: object) -> Row:
    """A published row: producer p1 on 5.3.3, switch off."""
    base: Row = dict.fromkeys(SENDS.schema.fieldNames()) | {
        "event_date": day, "cluster": "main", "client_id": "p1", "producer_group": "PG", "topic": "T",
        "broker_name": "a", "client_version": "5.3.3", "mode": "SYNC", "attempt": 1, "started_at_ms": started_ms,
        "ended_at_ms": ended_ms, "ended_at": dt.datetime(2026, 3, 1, tzinfo=dt.UTC), "outcome": outcome,
        "latency_ms": ended_ms - started_ms, "fault_latency_enabled": False,
    }  # fmt: skip
    return base | other


def frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    """The rows as the table has them, each with a `seq` in the order in which they ended, and a hash of its own."""
    in_order = sorted(rows, key=lambda row: int(row["ended_at_ms"]))
    numbered = [row | {"seq": place, "row_hash": place} for place, row in enumerate(in_order)]
    table = pa.Table.from_pylist(numbered, to_arrow_schema(SENDS.schema, timezone="UTC"))
    # As files are, no literal rows of the plan, which Spark evaluates while it plans.
    return spark.createDataFrame(table, SENDS.schema).localCheckpoint()


NOON = at(D1, "12:00:00.000")


def story(**where: str) -> list[Row]:
    """Milliseconds from noon. Under `short` a is isolated [0, 1500) and b [700, 1700); both, so none, [700, 1500)."""

    def one(started: int, ended: int, went: str = "SEND_OK", broker: str = "a", **other: object) -> Row:
        more = {**where, "broker_name": f"{where['topic']}-{broker}", **other}
        return sent(D1, NOON + started, NOON + ended, went, **more)

    return [
        one(-200, 0),  # slow enough to isolate, not to be bad
        one(100, 110),  # a false alarm; last write wins: it ends the isolation
        one(300, 500, "RemotingTimeoutException"),  # a hit under `short`; until 1500
        one(600, 605, broker="b"),
        one(695, 700, "RemotingConnectException", broker="b"),  # nothing would have avoided it; until 1700
        one(800, 810),  # every broker isolated: it goes to a all the same; last write wins: ends a's isolation
        one(1_550, 1_560),  # a is available again
        one(1_600, 1_610, broker="b"),  # a false alarm; last write wins: ends b's isolation
        one(1_000, 1_600, "RemotingTimeoutException", queue_chosen_by="CALLER"),  # no write, nothing to steer
        one(1_650, 1_660, client_id="p2", client_version=None),  # cannot be replayed
        one(1_650, 1_660, client_id="p3", client_language="GO"),  # nor this one
    ]


def midnight() -> list[Row]:
    """Sends around 24:00 of the first day."""
    eve, day, who = START[D2] - 400, START[D2], {"client_id": "p4", "broker_name": "m-a"}
    return [
        sent(D1, eve - 300, eve, **who),  # isolates a until 600 after midnight
        sent(D1, eve - 20, eve - 10, **(who | {"broker_name": "m-b"})),
        sent(D2, day - 50, day + 10, **who),  # under way at midnight: chosen at 00:00, inside
        sent(D2, day + 500, day + 1_100, **who),  # inside, and bad; isolates again until 2100
        sent(D2, day + 800, day + 810, **(who | {"broker_name": "m-b"})),
    ]


ROWS = [*story(topic="T"), *story(topic="ROUTED", client_id="p5"), *midnight()]
