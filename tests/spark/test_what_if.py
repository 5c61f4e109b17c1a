"""What other policies would have done: a story worked out by hand, plain loops over random sends, the real sample."""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from jobs.day import Day
from jobs.profiles import released_profiles
from jobs.settings import Settings, load_settings
from jobs.tables import SENDS, TOPIC_BROKERS
from jobs.what_if.asked import AS_RUN, Asked, asked_policies
from jobs.what_if.job import WhatIf, what_if
from tests.site import D1, D2, START, at
from tests.spark.what_if_oracle import Client, Send, outcome

PROFILES = released_profiles()
COUNTS = ("sends", "bad_sends", "isolations", "isolated_ms", "all_isolated_ms", "steered", "hits", "false_alarms",
          "missed", "unavoidable")  # fmt: skip
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
    names = SENDS.schema.fieldNames()
    told = [row | {"seq": place, "row_hash": place} for place, row in enumerate(rows)]
    return spark.createDataFrame([tuple(row[name] for name in names) for row in told], SENDS.schema)


def replayed(
    spark: SparkSession, rows: Sequence[Row], asked: Asked, *dates: dt.date, hosts: Sequence[str] = (), **told: object
) -> WhatIf:
    routes = [
        {"event_date": date, "cluster": "main", "topic": "T", "broker_name": host, "perm": 6, "write_queue_nums": 4}
        for host in hosts for date in dates
    ]  # fmt: skip
    return what_if(
        frame(spark, rows),
        [Day(date, "main") for date in dates],
        dataclasses.replace(Settings(), **told),  # type: ignore[arg-type]
        asked,
        topic_brokers=spark.createDataFrame(
            [tuple(route.get(name) for name in TOPIC_BROKERS.schema.fieldNames()) for route in routes],
            "event_date date, cluster string, topic string, valid_from_ms bigint, valid_from_at timestamp,"
            " valid_until_ms bigint, valid_until_at timestamp, broker_name string, perm int, read_queue_nums int,"
            " write_queue_nums int, has_master boolean",
        ),
        persist=lambda kept: kept,
    )


def figures(found: WhatIf, *names: str) -> dict[tuple[object, ...], tuple[int, ...]]:
    """Day, policy and broker to the chosen figures."""
    chosen = names or COUNTS
    return {
        (row["event_date"], row["policy"], row["broker_name"]): tuple(row[name] for name in chosen)
        for row in found.outcomes.collect()
    }


NOON = at(D1, "12:00:00.000")


def story() -> list[Row]:
    """Milliseconds from noon. Under `short` a is isolated [0, 1500) and b [700, 1700); both, so none, [700, 1500)."""

    def one(started: int, ended: int, *outcome: str, **other: object) -> Row:
        return sent(D1, NOON + started, NOON + ended, *outcome, **other)

    return [
        one(-200, 0),  # slow enough to isolate, not to be bad
        one(100, 110),  # a false alarm; last write wins: it ends the isolation
        one(300, 500, "RemotingTimeoutException"),  # a hit under `short`; until 1500
        one(600, 605, broker_name="b"),
        one(695, 700, "RemotingConnectException", broker_name="b"),  # nothing would have avoided it; until 1700
        one(800, 810),  # every broker isolated: it goes to a all the same; last write wins: ends a's isolation
        one(1_550, 1_560),  # a is available again
        one(1_600, 1_610, broker_name="b"),  # a false alarm; last write wins: ends b's isolation
        one(1_000, 1_600, "RemotingTimeoutException", queue_chosen_by="CALLER"),  # no write, nothing to steer
        one(1_650, 1_660, client_id="p2", client_version=None),  # cannot be replayed
        one(1_650, 1_660, client_id="p3", client_language="GO"),  # nor this one
    ]


def test_a_story_worked_out_by_hand(spark: SparkSession) -> None:
    asked = asked_policies(PROFILES, ladders=["short=100/1000@P5", "last=100/1000@P2", "never=100/0@P5"])
    assert figures(replayed(spark, story(), asked, D1)) == {
        (D1, "short", "a"): (5, 1, 1, 1500, 800, 2, 1, 1, 0, 0),
        (D1, "short", "b"): (3, 1, 1, 1000, 800, 1, 0, 1, 1, 1),
        (D1, "last", "a"): (5, 1, 2, 420, 110, 1, 0, 1, 1, 0),
        (D1, "last", "b"): (3, 1, 1, 910, 110, 1, 0, 1, 1, 1),
        (D1, "never", "a"): (5, 1, 0, 0, 0, 0, 0, 0, 1, 0),
        (D1, "never", "b"): (3, 1, 0, 0, 0, 0, 0, 0, 1, 1),
    }


def test_a_broker_of_the_route_that_got_no_send_is_a_choice(spark: SparkSession) -> None:
    asked = asked_policies(PROFILES, ladders=["short=100/1000@P5"])
    found = figures(replayed(spark, story(), asked, D1, hosts=["a", "b", "c"]), "all_isolated_ms", "steered", "hits")
    # Sends of 800 on a, and of none on b, find c available.
    assert found == {(D1, "short", "a"): (0, 3, 1), (D1, "short", "b"): (0, 1, 0)}


def test_isolation_goes_on_over_midnight(spark: SparkSession) -> None:
    eve, day = START[D2] - 400, START[D2]
    rows = [
        sent(D1, eve - 300, eve),  # isolates a until 600 after midnight
        sent(D1, eve - 20, eve - 10, broker_name="b"),
        sent(D2, day - 50, day + 10),  # under way at midnight: chosen at 00:00, inside
        sent(D2, day + 500, day + 1_100),  # inside, and bad
        sent(D2, day + 800, day + 810, broker_name="b"),
    ]
    asked = asked_policies(PROFILES, ladders=["short=100/1000@P5"])
    both = figures(replayed(spark, rows, asked, D1, D2))
    # The send that ended at 1100 isolates a anew until 2100.
    assert both == {
        (D1, "short", "a"): (1, 0, 1, 400, 0, 0, 0, 0, 0, 0),
        (D1, "short", "b"): (1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (D2, "short", "a"): (2, 1, 1, 1600, 0, 2, 1, 1, 0, 0),
        (D2, "short", "b"): (1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    }
    of_second = {key: row for key, row in both.items() if key[0] == D2}
    assert figures(replayed(spark, rows, asked, D2)) == of_second


OUTCOMES = ("SEND_OK", "SEND_OK", "SEND_OK", "SENT", "FLUSH_DISK_TIMEOUT", "RemotingTimeoutException",
            "MQBrokerException", "MQClientException", "InterruptedTwiceException")  # fmt: skip
LADDERS = (((100,), (700,)), ((50, 300), (0, 1500)), ((300, 20), (40, 900)), ((0,), (60,)), ((5_000,), (9_000,)))
SLOW_MS = 250

one_send = st.builds(
    lambda broker, started, latency, outcome, by_caller: Send(
        broker, started, started + latency, latency, outcome, by_caller
    ),
    broker=st.sampled_from(["a", "b", "c"]),
    started=st.integers(-300, 3_000),
    latency=st.sampled_from([0, 5, 20, 49, 50, 99, 100, 260, 300, 700]),
    outcome=st.sampled_from(OUTCOMES),
    by_caller=st.sampled_from([False, False, False, True]),
).filter(lambda each: each.ended_ms >= 0)
producers = st.lists(st.lists(one_send, min_size=1, max_size=14), min_size=30, max_size=30)
asked_ladders = st.lists(
    st.tuples(st.sampled_from(LADDERS), st.sampled_from(["P2", "P4", "P5"])), min_size=3, max_size=6, unique=True
)


def client(ladder: tuple[tuple[int, ...], tuple[int, ...]], profile: str) -> Client:
    old = profile == "P2"
    return Client(*ladder, 30_000 if old else 10_000, not old, profile == "P4", old)


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(sends_of=producers, ladders=asked_ladders)
def test_any_sends_and_policies_are_as_plain_loops_say(
    spark: SparkSession, sends_of: list[list[Send]], ladders: list[tuple[Any, str]]
) -> None:
    day, end = START[D1], START[D2]
    rows = [
        sent(D1, day + each.started_ms, day + each.ended_ms, each.outcome, client_id=f"p{number}",
             broker_name=f"p{number} {each.broker}", mode="ONEWAY" if each.outcome == "SENT" else "SYNC",
             queue_chosen_by="CALLER" if each.by_caller else "CLIENT")
        for number, sends in enumerate(sends_of) for each in sends
    ]  # fmt: skip
    texts = [
        f"{number}={','.join(map(str, floors))}/{','.join(map(str, lengths))}@{profile}"
        for number, ((floors, lengths), profile) in enumerate(ladders)
    ]
    names = ("sends", "bad_sends", "isolations", "isolated_ms", "steered", "hits", "unavoidable")
    found = figures(replayed(spark, rows, asked_policies(PROFILES, ladders=texts), D1, slow_ms=SLOW_MS), *names)
    clients = [client(*each) for each in ladders]
    expected = {
        (D1, str(number), f"p{producer} {broker}"): tuple(told[name] for name in names)
        for producer, sends in enumerate(sends_of)
        for number, each in enumerate(clients)
        for broker, told in outcome(each, clients, sends, 0, end - day, SLOW_MS).items()
    }
    assert found == expected
