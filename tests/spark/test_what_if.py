"""What other policies would have done: a story worked out by hand, plain loops over random sends, the real sample."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from what_if_oracle import Client, Send, outcome

from jobs.settings.client_profiles import released_profiles
from jobs.settings.model import Settings
from jobs.tables.day import Day
from jobs.what_if.fallback import all_isolated
from jobs.what_if.job import what_if
from jobs.what_if.requested_policies import RequestedPolicies, requested_policies
from tests.given.published_sends import NOON, ROWS, Row, frame, sent
from tests.given.site import D1, D2, START

PROFILES = released_profiles()
COUNTS = ("sends", "bad_sends", "isolations", "isolated_ms", "all_isolated_ms", "steered", "hits", "false_alarms",
          "missed", "unavoidable")  # fmt: skip
ROUTES = pa.schema(
    [("event_date", pa.date32()), ("cluster", pa.string()), ("topic", pa.string()), ("broker_name", pa.string()),
     ("perm", pa.int32()), ("write_queue_nums", pa.int32()), ("has_master", pa.bool_())]
)  # fmt: skip


def replayed(
    spark: SparkSession,
    rows: Sequence[Row],
    asked: RequestedPolicies,
    *dates: dt.date,
    hosts: Sequence[str] = (),
    **told: object,
) -> DataFrame:
    routes = [
        {
            "event_date": date,
            "cluster": "main",
            "topic": host.split("-")[0],
            "broker_name": host,
            "perm": 6,
            "write_queue_nums": 4,
            "has_master": True,
        }
        for host in hosts
        for date in dates
    ]
    _, outcomes = what_if(
        frame(spark, rows),
        [Day(date, "main") for date in dates],
        dataclasses.replace(Settings(), **told),  # type: ignore[arg-type]
        asked,
        topic_brokers=spark.createDataFrame(pa.Table.from_pylist(routes, ROUTES)),
        made_once=lambda rows: rows.localCheckpoint(),
    )
    return outcomes


def figures(found: DataFrame, *names: str) -> dict[tuple[object, ...], tuple[int, ...]]:
    """Day, policy and broker to the chosen figures."""
    chosen = names or COUNTS
    return {
        (row["event_date"], row["policy"], row["broker_name"]): tuple(row[name] for name in chosen)
        for row in found.collect()
    }


ASKED = requested_policies(PROFILES, ladders=["short=100/1000@P5", "last=100/1000@P2", "never=100/0@P5"])
Figures = dict[tuple[object, ...], tuple[int, ...]]


@pytest.fixture(scope="module")
def told(spark: SparkSession) -> Figures:
    """All stories in one run of two days. Topic ROUTED has a route of three brokers, the others none."""
    return figures(replayed(spark, ROWS, ASKED, D1, D2, hosts=["ROUTED-a", "ROUTED-b", "ROUTED-c"]))


def test_a_story_worked_out_by_hand(told: Figures) -> None:
    assert {key[1:]: row for key, row in told.items() if str(key[2]).startswith("T-")} == {
        ("short", "T-a"): (5, 1, 1, 1500, 800, 2, 1, 1, 0, 0),
        ("short", "T-b"): (3, 1, 1, 1000, 800, 1, 0, 1, 1, 1),
        ("last", "T-a"): (5, 1, 2, 420, 110, 1, 0, 1, 1, 0),
        ("last", "T-b"): (3, 1, 1, 910, 110, 1, 0, 1, 1, 1),
        ("never", "T-a"): (5, 1, 0, 0, 0, 0, 0, 0, 1, 0),
        ("never", "T-b"): (3, 1, 0, 0, 0, 0, 0, 0, 1, 1),
    }


def test_a_broker_of_the_route_that_got_no_send_is_a_choice(told: Figures) -> None:
    assert told[D1, "short", "ROUTED-a"] == (5, 1, 1, 1500, 0, 3, 1, 2, 0, 0)  # at 800 c was available
    assert told[D1, "short", "ROUTED-b"] == (3, 1, 1, 1000, 0, 1, 0, 1, 1, 1)


def test_isolation_goes_on_over_midnight(told: Figures) -> None:
    assert {key: row for key, row in told.items() if key[1] == "short" and str(key[2]).startswith("m-")} == {
        (D1, "short", "m-a"): (1, 0, 1, 400, 0, 0, 0, 0, 0, 0),
        (D1, "short", "m-b"): (1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (D2, "short", "m-a"): (2, 1, 1, 1600, 0, 2, 1, 1, 0, 0),
        (D2, "short", "m-b"): (1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    }


def test_a_day_alone_and_in_another_order_of_policies_is_the_same(spark: SparkSession, told: Figures) -> None:
    turned = dataclasses.replace(ASKED, policies=ASKED.policies[::-1])
    assert figures(replayed(spark, ROWS, turned, D2)) == {key: row for key, row in told.items() if key[0] == D2}


def test_all_brokers_are_isolated_from_the_last_start_to_the_first_end(spark: SparkSession) -> None:
    """Each policy is a case; broker z is not a choice. What lasted at midnight starts there, but does not begin."""
    process, midnight = (D2, "main", "p1", "PG", "p1"), START[D2]
    isolations = [
        *((1, "a", 0, 10, False), (1, "b", 0, 5, False), (1, "b", 5, 8, True), (1, "z", 8, 9, True)),
        *((2, "a", 0, 10, False), (2, "b", 0, 4, True)),  # at 00:00 itself b was a choice still
        *((3, "a", 0, 5, False), (3, "b", 5, 9, True)),  # they touch
        *((4, "a", 2, 9, True), (4, "b", 3, 7, True)),
    ]
    producer = "event_date date, cluster string, client_id string, producer_group string, process string"
    isolated = spark.createDataFrame(
        [
            (*process, policy, name, midnight + start, midnight + end, begins)
            for policy, name, start, end, begins in isolations
        ],
        f"{producer}, policy int, broker_name string, start_ms bigint, end_ms bigint, begins boolean",
    )
    brokers = spark.createDataFrame([(*process, ["a", "b"])], f"{producer}, brokers array<string>")
    names = ("policy", "broker_name", "start_ms", "end_ms", "begins")
    assert sorted(
        (policy, name, start - midnight, end - midnight, begins)
        for policy, name, start, end, begins in all_isolated(isolated, brokers).select(*names).collect()
    ) == [
        *((1, "a", 0, 5, False), (1, "a", 5, 8, True), (1, "b", 0, 5, False), (1, "b", 5, 8, True)),
        *((2, "a", 0, 4, True), (2, "b", 0, 4, True)),
        *((4, "a", 3, 7, True), (4, "b", 3, 7, True)),
    ]


def test_a_refusal_that_no_line_shows_isolates(spark: SparkSession) -> None:
    """Broker b answers what the client sent to a: a had refused it inside the submit call."""
    given: Row = {"mode": "ASYNC", "client_version": "4.9.8", "result_broker_name": "b", "submitted_at_ms": NOON + 5}
    asked = requested_policies(PROFILES, ladders=["x=100/1000@P5"])
    found = replayed(spark, [sent(D1, NOON, NOON + 20, **given)], asked, D1)
    assert figures(found, "isolations") == {(D1, "x", "a"): (1,)}


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
producers = st.lists(st.lists(one_send, min_size=4, max_size=14), min_size=30, max_size=30)
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
             queue_chosen_by="CALLER" if each.by_caller else "CLIENT", process_id="1")
        for number, sends in enumerate(sends_of) for each in sends
    ]  # fmt: skip
    texts = [
        f"{number}={','.join(map(str, floors))}/{','.join(map(str, lengths))}@{profile}"
        for number, ((floors, lengths), profile) in enumerate(ladders)
    ]
    names = ("sends", "bad_sends", "isolations", "isolated_ms", "steered", "hits", "unavoidable")
    found = figures(replayed(spark, rows, requested_policies(PROFILES, ladders=texts), D1, slow_ms=SLOW_MS), *names)
    clients = [client(*each) for each in ladders]
    expected = {
        (D1, str(number), f"p{producer} {broker}"): tuple(told[name] for name in names)
        for producer, sends in enumerate(sends_of)
        for number, each in enumerate(clients)
        for broker, told in outcome(each, clients, sends, 0, end - day, SLOW_MS).items()
    }
    assert found == expected
