"""What policies would have isolated, when that left no choice, and what they would have steered: edges, each by hand.

Milliseconds count from the midnight between two days where a day matters.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from jobs.settings.client_profiles import released_profiles
from jobs.tables.day import DAY_MS, Day
from jobs.what_if.choices import brokers_of_process
from jobs.what_if.fallback import all_isolated
from jobs.what_if.isolations import cut_at_midnight
from jobs.what_if.outcomes import outcomes
from jobs.what_if.requested_policies import AS_RUN, requested_policies
from jobs.what_if.steering import steered
from tests.given.site import D1, D2, START

MIDNIGHT = START[D2]
PROCESS = "cluster string, client_id string, producer_group string, process string"
WHOLE = f"{PROCESS}, enforced boolean, broker_name string, requested_policy string, start_ms bigint, end_ms bigint"
CUT = f"event_date date, {PROCESS}, broker_name string, policy string, start_ms bigint, end_ms bigint, begins boolean"


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        pytest.param(-10, 10, [(D1, -10, 0, True), (D2, 0, 10, False)], id="over midnight"),
        pytest.param(-10, 0, [(D1, -10, 0, True)], id="until midnight"),
        pytest.param(0, 5, [(D2, 0, 5, True)], id="from midnight on"),
        pytest.param(-DAY_MS - 10, -DAY_MS + 5, [(D1, -DAY_MS, -DAY_MS + 5, False)], id="as the first day begins"),
        pytest.param(-DAY_MS - 10, -DAY_MS, [], id="ends as the first day begins"),
        pytest.param(DAY_MS - 5, DAY_MS + 5, [(D2, DAY_MS - 5, DAY_MS, True)], id="lasts as the last day ends"),
        pytest.param(DAY_MS, DAY_MS + 5, [], id="begins as the last day ends"),
        pytest.param(
            -3 * DAY_MS, 3 * DAY_MS, [(D1, -DAY_MS, 0, False), (D2, 0, DAY_MS, False)], id="throughout both days"
        ),
    ],
)
def test_cut_at_midnight(spark: SparkSession, start: int, end: int, expected: Sequence[tuple[object, ...]]) -> None:
    whole = spark.createDataFrame([("c", "p", "g", "1", True, "a", "x", MIDNIGHT + start, MIDNIGHT + end)], WHOLE)
    found = cut_at_midnight(whole, [Day(D2, "c"), Day(D1, "c")]).collect()
    assert sorted((r.event_date, r.start_ms - MIDNIGHT, r.end_ms - MIDNIGHT, r.begins) for r in found) == expected


Isolation = tuple[str, str, int | str, int, int, bool]
"""Process, broker, policy, from, until, begins."""


def _isolated(isolated: Sequence[Isolation]) -> list[tuple[object, ...]]:
    return [(D2, "c", "p", "g", process, broker, str(policy), *rest) for process, broker, policy, *rest in isolated]


def test_a_broker_without_write_permission_is_not_a_choice(spark: SparkSession) -> None:
    chosen = spark.createDataFrame(
        [(D2, "c", "p", "g", "1", "t", "a")], f"event_date date, {PROCESS}, topic string, broker_name string"
    )
    routes = spark.createDataFrame(
        [
            (D2, "c", "t", *each)
            for each in (("b", 6, 4, True), ("readonly", 4, 4, True), ("empty", 6, 0, True), ("slave", 6, 4, False))
        ],
        (
            "event_date date, cluster string, topic string, broker_name string, perm int, write_queue_nums int,"
            " has_master boolean"
        ),
    )
    assert [row.brokers for row in brokers_of_process(chosen, routes).collect()] == [["a", "b"]]


def test_when_every_broker_is_isolated(spark: SparkSession) -> None:
    isolated = [
        ("overlap", "a", 1, 100, 200, True),
        ("overlap", "b", 1, 150, 250, True),
        ("touch", "a", 1, 100, 200, True),
        ("touch", "b", 1, 200, 300, True),
        ("again", "a", 1, 100, 400, True),
        ("again", "b", 1, 150, 200, True),
        ("again", "b", 1, 250, 300, True),
        ("together", "a", 1, 100, 200, True),
        ("together", "b", 1, 100, 200, True),
        ("at midnight", "a", 1, 0, 100, False),
        ("at midnight", "b", 1, 0, 50, False),
        ("one as the day begins", "a", 1, 0, 50, True),
        ("one as the day begins", "b", 1, 0, 100, False),
        ("by two policies", "a", 1, 100, 200, True),
        ("by two policies", "b", 2, 100, 200, True),
        ("one of three", "a", 1, 100, 200, True),
        ("two of three", "a", 1, 100, 200, True),
        ("two of three", "b", 1, 100, 200, True),
        ("one that is no choice", "a", 1, 100, 200, True),
        ("one that is no choice", "z", 1, 100, 200, True),
    ]
    brokers = [
        (D2, "c", "p", "g", process, [*"abc"] if "three" in process else [*"ab"])
        for process in {process for process, *_ in isolated}
    ]
    found = all_isolated(
        spark.createDataFrame(_isolated(isolated), CUT),
        spark.createDataFrame(brokers, f"event_date date, {PROCESS}, brokers array<string>"),
    ).collect()
    assert sorted((r.process, r.broker_name, r.policy, r.start_ms, r.end_ms, r.begins) for r in found) == sorted(
        (process, broker, "1", start, end, begins)
        for process, start, end, begins in (
            ("overlap", 150, 200, True),
            ("again", 150, 200, True),
            ("again", 250, 300, True),
            ("together", 100, 200, True),
            ("at midnight", 0, 50, False),
            ("one as the day begins", 0, 50, True),
        )
        for broker in "ab"
    )


Interval = tuple[int, int, int, bool]
"""Policy, from, until, begins."""
Steered = tuple[str, list[Interval], list[Interval], list[int], dict[int, tuple[int, int]], int]
"""Broker, when it is isolated, when every broker is, when attempts chose it (those that went badly below 0); what each
policy steers and hits; hits under any policy."""
ONE = (1, 100, 200, True)
STEERED: list[Steered] = [
    ("inside alone", [ONE], [], [100, -101, 150, -199, -200], {1: (3, 2)}, 2),
    ("lasts at midnight", [(1, 0, 50, False)], [], [0, -1, -50], {1: (2, 1)}, 1),
    ("begins at midnight", [(1, 0, 50, True)], [], [0, -1, -50], {1: (1, 1)}, 1),
    ("no choice", [ONE], [(1, 150, 180, True)], [-150, -151, -179, -180], {1: (2, 2)}, 2),
    ("no choice at midnight", [(1, 0, 90, False)], [(1, 0, 50, False)], [-1, -60, 70, 0], {1: (2, 1)}, 1),
    ("no choice by one policy", [ONE, (2, *ONE[1:])], [(2, *ONE[1:])], [-150], {1: (1, 1), 2: (0, 0)}, 1),
    ("two policies", [ONE, (2, 150, 250, True)], [], [-50, -160, -220], {1: (1, 1), 2: (2, 2)}, 2),
    ("nothing bad", [ONE], [], [150], {1: (1, 0)}, 0),
    ("twice", [ONE, (1, 300, 400, True)], [], [-150, -250, -350], {1: (2, 2)}, 2),
]


def test_what_would_have_been_steered(spark: SparkSession) -> None:
    """Each broker twice, by two processes; a third one has no isolation."""
    chosen = [
        (D2, "c", "p", "g", process, broker, abs(at), int(at < 0))
        for broker, _, _, times, *_ in STEERED
        for process in "123"
        for at in times
    ]
    isolated = [(process, broker, *each) for broker, of, *_ in STEERED for process in "12" for each in of]
    unavoided = [(process, broker, *each) for broker, _, of, *_ in STEERED for process in "12" for each in of]
    found = steered(
        spark.createDataFrame(
            chosen, f"event_date date, {PROCESS}, broker_name string, chosen_at_ms bigint, bad bigint"
        ),
        spark.createDataFrame(_isolated(isolated), CUT),
        spark.createDataFrame(_isolated(unavoided), CUT),
    ).collect()
    expected = [
        (broker, str(policy), 2 * counted, 2 * hits)
        for broker, *_, by_policy, _ in STEERED
        for policy, (counted, hits) in by_policy.items()
    ]
    under_any = [(broker, None, 0, 2 * hits) for broker, *_, hits in STEERED]
    assert {(row.broker_name, row.policy, row.steered, row.hits) for row in found} == {*expected, *under_any}
    assert len(found) == len(expected) + len(under_any)


def test_outcomes_of_each_policy_and_broker(spark: SparkSession) -> None:
    """Broker a has attempts and is isolated under one policy of three; b has attempts alone, c isolations alone."""
    ladders_asked = ["x=100/1000@P5", "y=7,20/0,50@P2"]
    asked = requested_policies(released_profiles(), names=[AS_RUN], ladders=ladders_asked)
    place = "event_date date, cluster string, broker_name string"
    found = outcomes(
        asked,
        totals=spark.createDataFrame(
            [(D2, "c", "a", 3, 40, 9), (D2, "c", "b", 1, 5, 2)],
            f"{place}, producers bigint, sends bigint, bad_sends bigint",
        ),
        isolated=spark.createDataFrame(
            [
                *_isolated([("1", "a", "x", 100, 150, True), ("2", "a", "x", 0, 30, False)]),
                *_isolated([("1", "c", "x", 100, 107, True)]),
            ],
            CUT,
        ),
        unavoided=spark.createDataFrame(_isolated([("1", "a", "x", 120, 125, True)]), CUT),
        steered=spark.createDataFrame(
            [(D2, "c", "a", "x", 6, 4), (D2, "c", "a", None, None, 5)],
            f"{place}, policy string, steered bigint, hits bigint",
        ),
    ).collect()
    ladders = {"x": ("P5", [100], [1_000]), "y": ("P2", [7, 20], [0, 50])}
    columns = (
        "producers", "sends", "bad_sends", "isolations", "isolated_ms", "all_isolated_ms", "steered", "hits",
        "false_alarms", "missed", "unavoidable",
    )  # fmt: skip
    isolated = {"a": (3, 40, 9, 1, 80, 5, 6, 4, 2, 5, 4), "c": (0, 0, 0, 1, 7, 0, 0, 0, 0, 0, 0)}
    others = {
        "a": (3, 40, 9, 0, 0, 0, 0, 0, 0, 9, 4),
        "b": (1, 5, 2, 0, 0, 0, 0, 0, 0, 2, 2),
        "c": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    }
    assert {
        (row.policy, row.broker_name): (row.profile, [*row.latency_max_ms], [*row.not_available_ms],
                                        tuple(row[name] for name in columns))
        for row in found
    } == {
        (policy, broker): (*ladders.get(policy, (AS_RUN, [], [])),
                           (isolated if policy == "x" else {}).get(broker, others[broker]))
        for policy in ("x", "y", AS_RUN)
        for broker in "abc"
    }  # fmt: skip
    assert len(found) == 9
