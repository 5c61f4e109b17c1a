"""What policies would have isolated, when that left no choice, and what they would have steered: edges, each by hand.

Milliseconds count from the midnight between two days where a day matters.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from jobs.settings.client_profiles import released_profiles
from jobs.settings.model import Settings
from jobs.tables.day import DAY_MS, Day
from jobs.what_if.choices import brokers_of_process
from jobs.what_if.fallback import all_isolated
from jobs.what_if.isolations import cut_at_midnight, isolations
from jobs.what_if.job import requested_rules
from jobs.what_if.outcomes import outcomes
from jobs.what_if.requested_policies import AS_RUN, requested_policies
from jobs.what_if.steering import steered
from tests.given.site import D1, D2, START
from udfs.fault_window import FAR_MS

MIDNIGHT = START[D2]
PROCESS = "cluster string, client_id string, producer_group string, process string"
WRITES = (
    f"{PROCESS}, enforced boolean, broker_name string, rule int, position int, at_ms bigint, next_at_ms bigint,"
    " not_available_ms bigint, reachable boolean, latest_stays boolean, gated boolean, process_ended_at_ms bigint"
)
WHOLE = f"{PROCESS}, broker_name string, rule int, start_ms bigint, end_ms bigint"
CUT = f"event_date date, {WHOLE}, begins boolean"

Write = tuple[int, int, int | None, int, bool]
"""Place among the item's writes, of which only those that isolate are here; when; the next; how long; reachable."""
LAST_WINS, LATEST_STAYS, GATES = (False, False), (True, False), (True, True)
"""Up to 5.1.3; from 5.1.4 on; and 5.1.4 itself, where the reachable flag counts."""
STORIES: list[tuple[str, tuple[bool, bool], list[Write], int | None, list[tuple[int, int]]]] = [
    ("it expires", LAST_WINS, [(1, 100, None, 50, True)], None, [(100, 150)]),
    ("the next write ends it", LAST_WINS, [(1, 100, 120, 50, True)], None, [(100, 120)]),
    ("the next write is later", LAST_WINS, [(1, 100, 200, 50, True)], None, [(100, 150)]),
    ("the next write isolates", LAST_WINS, [(1, 100, 120, 50, True), (2, 120, None, 50, True)], None, [(100, 170)]),
    (
        "the next write isolates at its end",
        LAST_WINS,
        [(1, 100, 150, 50, True), (2, 150, None, 50, True)],
        None,
        [(100, 150), (150, 200)],
    ),
    (
        "a write between ends it",
        LAST_WINS,
        [(1, 100, 110, 50, True), (3, 120, None, 50, True)],
        None,
        [(100, 110), (120, 170)],
    ),
    ("ended in its millisecond", LAST_WINS, [(1, 100, 100, 50, True)], None, []),
    (
        "two in a millisecond, the last one shorter",
        LAST_WINS,
        [(1, 100, 100, 50, True), (2, 100, None, 30, True)],
        None,
        [(100, 130)],
    ),
    ("its process ends", LAST_WINS, [(1, 100, None, 50, True)], 130, [(100, 130)]),
    ("no flag", LAST_WINS, [(1, 100, None, 50, False)], None, [(100, 150)]),
    (
        "a shorter one within",
        LATEST_STAYS,
        [(1, 100, 120, 50, True), (3, 130, None, 10, True)],
        None,
        [(100, 150)],
    ),
    (
        "a longer one before the last",
        LATEST_STAYS,
        [(1, 100, 110, 100, True), (2, 110, 120, 5, True), (4, 150, None, 60, True)],
        None,
        [(100, 210)],
    ),
    (
        "the longest ends as another begins",
        LATEST_STAYS,
        [(1, 100, 110, 50, True), (3, 150, None, 50, True)],
        None,
        [(100, 150), (150, 200)],
    ),
    ("no flag while the latest stays", LATEST_STAYS, [(1, 100, 400, 50, False)], None, [(100, 150)]),
    ("unreachable until the next write", GATES, [(1, 100, 300, 0, False)], None, [(100, 300)]),
    ("unreachable for less than its window", GATES, [(1, 100, 300, 500, False)], None, [(100, 600)]),
    ("unreachable until its process ends", GATES, [(1, 100, None, 0, False)], 5_000, [(100, 5_000)]),
    ("unreachable for good", GATES, [(1, 100, None, 0, False)], None, [(100, FAR_MS)]),
    ("unreachable twice", GATES, [(1, 100, 300, 0, False), (2, 300, 400, 0, False)], None, [(100, 400)]),
    (
        "reachable between",
        GATES,
        [(1, 100, 200, 0, False), (3, 300, 400, 0, False)],
        None,
        [(100, 200), (300, 400)],
    ),
    (
        "isolated once reachable",
        GATES,
        [(1, 100, 200, 0, False), (2, 200, None, 50, True)],
        None,
        [(100, 250)],
    ),
]


def test_isolations_of_an_item(spark: SparkSession) -> None:
    """Each story is an item; all of them once more under another rule, whose writes are a second later."""
    rows = [
        ("c", "p", "g", "1", True, name, rule, place, at + late, after and after + late, length, reachable, *flags,
         dies and dies + late)
        for rule, late in ((1, 0), (2, 1_000))
        for name, flags, writes, dies, _ in STORIES
        for place, at, after, length, reachable in writes
    ]  # fmt: skip
    found = isolations(spark.createDataFrame(rows, WRITES)).collect()
    assert sorted((row.rule, row.broker_name, row.start_ms, row.end_ms) for row in found) == sorted(
        (rule, name, start + late, end if end == FAR_MS else end + late)
        for rule, late in ((1, 0), (2, 1_000))
        for name, *_, expected in STORIES
        for start, end in expected
    )


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
    whole = spark.createDataFrame([("c", "p", "g", "1", "a", 1, MIDNIGHT + start, MIDNIGHT + end)], WHOLE)
    found = cut_at_midnight(whole, [Day(D2, "c"), Day(D1, "c")]).collect()
    assert sorted((r.event_date, r.start_ms - MIDNIGHT, r.end_ms - MIDNIGHT, r.begins) for r in found) == expected


Isolation = tuple[str, str, int, int, int, bool]
"""Process, broker, rule, from, until, begins."""


def _isolated(isolated: Sequence[Isolation]) -> list[tuple[object, ...]]:
    return [(D2, "c", "p", "g", process, broker, *rest) for process, broker, *rest in isolated]


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
        ("by two rules", "a", 1, 100, 200, True),
        ("by two rules", "b", 2, 100, 200, True),
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
    assert sorted((r.process, r.broker_name, r.rule, r.start_ms, r.end_ms, r.begins) for r in found) == sorted(
        (process, broker, 1, start, end, begins)
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
"""Rule, from, until, begins."""
Steered = tuple[str, list[Interval], list[Interval], list[int], dict[int, tuple[int, int]], int]
"""Broker, when it is isolated, when every broker is, when attempts chose it (those that went badly below 0); what each
rule steers and hits; hits under any rule."""
ONE = (1, 100, 200, True)
STEERED: list[Steered] = [
    ("inside alone", [ONE], [], [100, -101, 150, -199, -200], {1: (3, 2)}, 2),
    ("lasts at midnight", [(1, 0, 50, False)], [], [0, -1, -50], {1: (2, 1)}, 1),
    ("begins at midnight", [(1, 0, 50, True)], [], [0, -1, -50], {1: (1, 1)}, 1),
    ("no choice", [ONE], [(1, 150, 180, True)], [-150, -151, -179, -180], {1: (2, 2)}, 2),
    ("no choice at midnight", [(1, 0, 90, False)], [(1, 0, 50, False)], [-1, -60, 70, 0], {1: (2, 1)}, 1),
    ("no choice by one rule", [ONE, (2, *ONE[1:])], [(2, *ONE[1:])], [-150], {1: (1, 1), 2: (0, 0)}, 1),
    ("two rules", [ONE, (2, 150, 250, True)], [], [-50, -160, -220], {1: (1, 1), 2: (2, 2)}, 2),
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
        (broker, rule, 2 * counted, 2 * hits)
        for broker, *_, by_rule, _ in STEERED
        for rule, (counted, hits) in by_rule.items()
    ]
    under_any = [(broker, None, 0, 2 * hits) for broker, *_, hits in STEERED]
    assert {(row.broker_name, row.rule, row.steered, row.hits) for row in found} == {*expected, *under_any}
    assert len(found) == len(expected) + len(under_any)


def test_outcomes_of_each_policy_and_broker(spark: SparkSession) -> None:
    """Broker a has attempts and is isolated under one rule of two; b has attempts alone, c isolations alone."""
    ladders_asked = ["x=100/1000@P5", "same=100/1000@P5", "y=7,20/0,50@P2"]
    asked = requested_policies(released_profiles(), names=[AS_RUN], ladders=ladders_asked)
    rules = requested_rules(asked, Settings())
    number = {name: rule.number for rule in rules for name in rule.names}
    assert number["x"] == number["same"] != number["y"]
    place = "event_date date, cluster string, broker_name string"
    found = outcomes(
        asked,
        rules,
        totals=spark.createDataFrame(
            [(D2, "c", "a", 3, 40, 9), (D2, "c", "b", 1, 5, 2)],
            f"{place}, producers bigint, sends bigint, bad_sends bigint",
        ),
        isolated=spark.createDataFrame(
            [
                *_isolated([("1", "a", number["x"], 100, 150, True), ("2", "a", number["x"], 0, 30, False)]),
                *_isolated([("1", "c", number["x"], 100, 107, True)]),
            ],
            CUT,
        ),
        unavoided=spark.createDataFrame(_isolated([("1", "a", number["x"], 120, 125, True)]), CUT),
        steered=spark.createDataFrame(
            [(D2, "c", "a", number["x"], 6, 4), (D2, "c", "a", None, None, 5)],
            f"{place}, rule int, steered bigint, hits bigint",
        ),
    ).collect()
    ladders = {"x": ("P5", [100], [1_000]), "same": ("P5", [100], [1_000]), "y": ("P2", [7, 20], [0, 50])}
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
                           (isolated if policy in ("x", "same") else {}).get(broker, others[broker]))
        for policy in ("x", "same", "y", AS_RUN)
        for broker in "abc"
    }  # fmt: skip
    assert len(found) == 12
