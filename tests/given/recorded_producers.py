"""Producers whose clients recorded their own fault items: each is a case of its own, by its client id."""

from __future__ import annotations

from tests.given.recorded_lines import Line, attempt, change, of, update
from tests.given.site import D1, D2, at

FAILED = "RemotingTimeoutException"
NOON = at(D1, "12:00:00")
SENDS = [
    # Its own ladder isolates for 7 s where the released one gives nothing, and for nothing where that gives 2 s.
    *of("own-ladder", attempt(NOON, 1), attempt(NOON + 20_000, 3, latency_ms=700), attempt(NOON + 30_000, 5)),
    # The update with number 4 was lost, that of a failure; the next line of the item is number 6.
    *of("torn", attempt(NOON, 1), attempt(NOON + 1_000, 3, FAILED), attempt(NOON + 5_000, 5), version="4.9.8"),
    *of("never-known-again", attempt(NOON, 1), attempt(NOON + 1_000, 3, FAILED), version="4.9.8"),
    # Lost is the only update of the other broker.
    *of(
        "never-recorded",
        attempt(NOON, 1),
        attempt(NOON + 1_000, 3, FAILED, broker_name="broker-b"),
        attempt(NOON + 5_000, 5),
        version="4.9.8",
    ),
    *of("gated", attempt(NOON, 1), version="5.1.4"),
    *of("dropped", attempt(NOON, 1, "MQBrokerException")),
    *of("removed", attempt(NOON, 1, "MQBrokerException"), version="4.9.8"),
    # Of two failures near the update the one before it is its, to the same broker.
    *of(
        "causes",
        attempt(NOON, 1, "RemotingSendRequestException", broker_name="broker-b"),
        attempt(NOON + 1, 2, FAILED),
        attempt(NOON + 400, 4, "MQBrokerException"),
    ),
    *of("hidden", attempt(NOON, 1)),
    *of("hidden-after-a-failure", attempt(NOON, 1, FAILED), attempt(NOON + 1_001, 3)),
    *of("off", attempt(NOON, 1, FAILED, fault_latency_enabled=False)),
    *of("without-record", attempt(NOON, 1, FAILED)),
    # Two threads: what has the later number is what the item became, though its clock was read before.
    *of("two-threads", attempt(NOON, 1), attempt(NOON, 2), version="4.9.8"),
    *of("over-midnight", attempt(at(D1, "23:59:59"), 1, FAILED), version="4.9.8"),
    *of("over-midnight", attempt(at(D2, "00:00:03"), 3), version="4.9.8"),
    *of("silent-from-midnight", attempt(at(D1, "23:59:58"), 1, FAILED), version="4.9.8"),
    *of("at-midnight", attempt(at(D2, "00:00:00"), 1, FAILED)),
    # Its clock was set back six seconds between the first two updates: by the clock the second one comes first.
    *of(
        "set-back",
        attempt(NOON, 1, FAILED),
        attempt(NOON - 6_000, 3),
        attempt(NOON + 3_000, 5, FAILED),
        version="4.9.8",
    ),
    # It began yesterday, of which nothing is in the lake.
    *of("from-yesterday", attempt(NOON, 100, FAILED), attempt(NOON + 2_000, 102), version="4.9.8"),
]
UPDATES = [
    *of("own-ladder", update(NOON, 2, 7_000), update(NOON + 20_001, 4, latency_ms=700), update(NOON + 30_001, 6)),
    *of("torn", update(NOON, 2), update(NOON + 5_001, 6)),
    *of("never-known-again", update(NOON, 2)),
    *of("never-recorded", update(NOON, 2), update(NOON + 5_001, 6)),
    *of(
        "gated",
        update(NOON, 2, reachable=False),
        change("REACHABLE", NOON + 4_000, 3, reachable=True, available_at_ms=0),
    ),
    *of("dropped", update(NOON + 1, 2, 10_000), change("DROPPED", NOON + 3_000, 3)),
    *of("removed", update(NOON + 1, 2, 600_000), change("PICKED", NOON + 2_000, 3), change("REMOVE", NOON + 2_001, 4)),
    *of("causes", update(NOON + 2, 3, 10_000), update(NOON + 401, 5, 10_000)),
    *of("hidden", update(NOON + 1, 2, 10_000)),
    *of("hidden-after-a-failure", update(NOON + 1, 2, 900), update(NOON + 1_002, 4, 900)),
    *of("two-threads", update(NOON + 2, 3), update(NOON + 1, 4, 600_000)),
    *of("without-sends", update(NOON, 1, 10_000)),
    *of("over-midnight", update(at(D1, "23:59:59.001"), 2, 600_000), update(at(D2, "00:00:03.001"), 4)),
    *of("silent-from-midnight", update(at(D1, "23:59:58.001"), 2, 600_000), update(at(D2, "00:00:03"), 3)),
    *of("at-midnight", update(at(D2, "00:00:00"), 2, 10_000)),
    *of("set-back", update(NOON, 2, 600_000), update(NOON - 6_000, 4), update(NOON + 3_000, 6, 600_000)),
    *of("from-yesterday", update(NOON + 2_001, 103)),
]
BAD: list[Line] = [
    change("GUESSED", NOON, 9),
    change("UPDATE", NOON, 9),
    update(NOON, 9, available_at_ms=-1),
    {"op": "UPDATE"},
]
