"""Which fault items are there at 24:00, and with what: each case a broker of its own."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from jobs.fault_latency.fault_items.closing_state import closing_state

ITEM = "cluster string, client_id string, producer_group string, process string, enforced boolean, broker_name string"
WRITES = (
    f"{ITEM}, at_ms bigint, next_at_ms bigint, process_ended_at_ms bigint, op string, version string, profile string,"
    " policy string, available_at_ms bigint, earliest_ms bigint, latest_ms bigint, is_reachable boolean, cause string,"
    " evidence string, extensions int"
)
HELD = (
    f"{ITEM}, continues_next_day boolean, cause string, evidence string, opener_latency_ms bigint, extensions int,"
    " removable_ms bigint"
)
OWNER = "cluster string, client_id string, producer_group string, process string"
SENT = f"{OWNER}, last_seq bigint, last_ended_ms bigint"
OPENING = f"{OWNER}, last_seq bigint, last_ended_at_ms bigint"
END_MS = 1_000_000
AT_MS = 500_000
"""Of each write; its window ends between 900 and 1,100 s, best estimate 1,000 s."""
# Until when the fallback may have removed an item that stands, and from when it may be available then.
REMOVABLE: dict[str, tuple[int | None, int]] = {
    "isolated, and stands": (None, 900_000),
    "removable up to its last write": (AT_MS, 900_000),
    "removable after its last write": (AT_MS + 1, AT_MS),
    "removable beyond its earliest end": (900_001, AT_MS),
}
# Broker: op, next write, end of the process; whether an isolation is there, and goes on; whether it is in the state.
CASES: dict[str, tuple[str, int | None, int | None, bool | None, bool]] = {
    "used": ("UPDATE", None, None, None, True),
    "written again": ("UPDATE", 600_000, None, None, False),
    "of a process that ended": ("UPDATE", None, 500_001, None, False),
    "of one that ends at 24:00": ("UPDATE", None, END_MS, None, False),
    "of one that ends later": ("UPDATE", None, END_MS + 1, None, True),
    "carried, and over": ("CARRIED", None, None, False, False),
    "carried, and stands": ("CARRIED", None, None, True, True),
    "isolated, and over": ("UPDATE", None, None, False, True),
    **dict.fromkeys(REMOVABLE, ("UPDATE", None, None, True, True)),
}


def _item(broker: str, process: str = "p") -> tuple[Any, ...]:
    return ("c", "p", "g", process, True, broker)


def test_what_the_next_day_starts_from(spark: SparkSession) -> None:
    own = (
        "5.3.3",
        "P5",
        "P5 with the ladder of g",
        1_000_000,
        900_000,
        1_100_000,
        True,
        "OF-THE-WRITE",
        "OF-THE-WRITE",
        9,
    )
    writes = [
        (*_item(broker), AT_MS, following, ended, op, *own) for broker, (op, following, ended, _, _) in CASES.items()
    ]
    held = [
        (*_item(broker), goes_on, "RemotingTimeoutException", "LOGGED", 3_000, 2, REMOVABLE.get(broker, (None,))[0])
        for broker, (_, _, _, goes_on, _) in CASES.items()
        if goes_on is not None
    ]
    sent = [("c", "p", "g", "p", 7, 400), ("c", "p", "g", "p", 5, 450), ("c", "p", "g", "B", 99, 999_999)]
    opening = [("c", "p", "g", "p", 8, 20), ("c", "p", "g", "p", 6, 30)]
    found = closing_state(
        spark.createDataFrame(writes, WRITES),
        spark.createDataFrame(held, HELD),
        spark.createDataFrame(sent, SENT),
        spark.createDataFrame(opening, OPENING),
        END_MS,
    ).collect()
    assert {row["broker_name"] for row in found} == {broker for broker, case in CASES.items() if case[-1]}
    standing = {broker for broker, case in CASES.items() if case[3]}
    for row in found:
        opened = ("RemotingTimeoutException", "LOGGED", 3_000, 2) if row["broker_name"] in standing else (None,) * 4
        assert (row["cause"], row["evidence"], row["opener_latency_ms"], row["extensions"]) == opened
        assert (row["last_seq"], row["last_ended_at_ms"]) == (8, 450)
        assert (row["client_version"], row["profile"], row["policy"]) == own[:3]
        assert (row["available_at_ms"], row["available_latest_ms"]) == (1_000_000, 1_100_000)
        assert row["available_earliest_ms"] == REMOVABLE.get(row["broker_name"], (None, 900_000))[1]
        assert row["reachable"] is True
