"""The walk in Spark: the same states as the windowed replay, and what one walk over a whole process infers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, fields, replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from jobs.fault_latency.fault_items.replay import CARRIED, REMOVE, replay
from jobs.fault_latency.inference.fault_item import Write, replayed
from jobs.fault_latency.inference.job import infer_by_walk
from jobs.fault_latency.inference.known_route import KnownRoute, routes_by_topic
from jobs.fault_latency.inference.stretches import revealing_times, with_stretch, with_whole_processes
from jobs.fault_latency.inference.walk import inferred_in
from jobs.fault_latency.producers.known_routes import known_routes_of
from tests.given.inference_cases import middle_cases, order_cases, remove_cases
from tests.given.suspicious_processes import (
    POLICIES,
    RULES,
    Answer,
    Suspicious,
    attempts_at,
    route_of,
    write_to,
)
from udfs.evidence import ORDER, REMOVED, RETRY_CHARGED, RETRY_MIDDLE

OWNER = "cluster string, client_id string, producer_group string, process string, enforced boolean"
_LONGS = {
    "at_ms", "current_latency_ms", "seq", "started_at_ms", "invoke_id", "row_hash", "dies_at_ms", "not_available_ms",
    "carried_until_ms", "carried_earliest_ms", "carried_latest_ms", "first_position",
}  # fmt: skip
_INTS, _FLAGS = {"step", "attempt", "carried_extensions"}, {"is_failure", "reachable"}
ATTEMPTS = (
    f"{OWNER}, topic string, went_to string, addressed_broker string, thread string, chosen_at_ms bigint,"
    " row_hash bigint"
)
TOPIC_BROKERS = (
    "cluster string, topic string, start_ms bigint, end_ms bigint, broker_name string, perm int,"
    " read_queue_nums int, write_queue_nums int, has_master boolean"
)
LATER_MS = 5_000_000
C_TRIED, NONE_TRIED = "c was tried long before", "nothing was tried in between"
INFERRED_BY = 5 + [field.name for field in fields(Write)].index("evidence")


def _kind(name: str) -> str:
    kinds = (("bigint", _LONGS), ("int", _INTS), ("boolean", _FLAGS))
    return next((kind for kind, names in kinds if name in names), "string")


WRITES = f"{OWNER}, " + ", ".join(f"{field.name} {_kind(field.name)}" for field in fields(Write))


def _owner(case: str) -> tuple[object, ...]:
    return case, "p1", "g", "#1", True


def _first_pass(spark: SparkSession, writes: dict[str, list[Write]]) -> DataFrame:
    rows = [(*_owner(case), *astuple(write)) for case, own in writes.items() for write in own]
    items = replay(spark.createDataFrame(rows, WRITES).drop("first_position"), POLICIES, 1)
    return items.withColumn("first_position", items["position"])


def _later(case: Suspicious) -> Suspicious:
    """The same once more, long after: another stretch of the process."""
    writes = [*case.writes, *(_moved(write) for write in case.writes)]
    attempts = [
        replace(each, chosen_at_ms=each.chosen_at_ms + LATER_MS, row_hash=-each.row_hash - 1) for each in case.attempts
    ]
    answers = [
        *case.answers,
        *(each._replace(since_ms=each.since_ms + LATER_MS, until_ms=each.until_ms + LATER_MS) for each in case.answers),
    ]
    return Suspicious(writes, [*case.attempts, *attempts], answers)


def _moved(write: Write) -> Write:
    numbers = {name: getattr(write, name) + LATER_MS for name in ("at_ms", "seq", "row_hash")}
    return replace(write, **numbers)


def _tried_before(brokers: str) -> Suspicious:
    """A failure at b after one at a, by a route with these brokers; long after, a leaves, and is removed."""
    items = [write_to("a", LATER_MS, 5, 600_000), write_to("b", LATER_MS + 1_000, 50, 600_000)]
    failure = write_to("b", 100_000, 0, 600_000, middle_topic="T", middle_after="a")
    answers = (
        Answer(0, 1_000_000, brokers, 2), Answer(1_000_000, LATER_MS, "ab", 2), Answer(LATER_MS, 2 * LATER_MS, "b", 2),
    )  # fmt: skip
    before = write_to("a", 50_000, 5, 0)
    return Suspicious([before, failure, *items], attempts_at([("b", LATER_MS + 60_000)]), answers)


def test_a_broker_of_an_earlier_stretch_has_an_item(
    walked: tuple[Counter[tuple[object, ...]], dict[tuple[str, str], KnownRoute]],
) -> None:
    """No line ever names c: it was tried in between, and is available since. So the fallback picks nothing."""
    found = {name: {write[INFERRED_BY] for write in walked[0] if write[0] == name} for name in (C_TRIED, NONE_TRIED)}
    assert found == {C_TRIED: {RETRY_MIDDLE}, NONE_TRIED: {REMOVED}}


def _cases() -> dict[str, Suspicious]:
    smallest = {**dict(middle_cases()), **dict(remove_cases()), **dict(order_cases())}
    of_two = {f"{name}, twice": _later(case) for name, case in smallest.items()}
    return smallest | of_two | {C_TRIED: _tried_before("abc"), NONE_TRIED: _tried_before("ab")}


@pytest.fixture(scope="module")
def walked(spark: SparkSession) -> tuple[Counter[tuple[object, ...]], dict[tuple[str, str], KnownRoute]]:
    """What Spark infers of all cases, each in a cluster of its own, and the routes by which it does."""
    cases = _cases()
    attempts = [(*_owner(name), *astuple(each)) for name, case in cases.items() for each in case.attempts]
    answers = [
        (name, "T", each.since_ms, each.until_ms, broker, each.perm, 2, each.queues, each.has_master)
        for name, case in cases.items()
        for each in case.answers
        for broker in each.brokers
    ]
    known_routes = known_routes_of(spark.createDataFrame(answers, TOPIC_BROKERS))
    routes = routes_by_topic(known_routes.collect())
    first_pass = _first_pass(spark, {name: list(case.writes) for name, case in cases.items()})
    chosen = spark.createDataFrame(attempts, ATTEMPTS)
    to_walk = with_whole_processes(with_stretch(first_pass), known_routes)
    rows = infer_by_walk(to_walk, chosen, routes, POLICIES, 1).collect()
    return Counter(tuple(row) for row in rows), routes


def test_each_stretch_by_itself_infers_what_the_whole_process_does(
    walked: tuple[Counter[tuple[object, ...]], dict[tuple[str, str], KnownRoute]],
) -> None:
    """Middle brokers, order and removed items, in processes of one stretch and of two."""
    expected = Counter(
        (*_owner(name), *astuple(write)) for name, case in _cases().items() for write in inferred_in(case.process())
    )
    assert walked[0] == expected
    assert {write[INFERRED_BY] for write in expected} == {RETRY_CHARGED, RETRY_MIDDLE, ORDER, REMOVED, "LOGGED"}
    assert len(expected) > 40


def test_routes_are_what_known_routes_has(
    walked: tuple[Counter[tuple[object, ...]], dict[tuple[str, str], KnownRoute]],
) -> None:
    for name, case in _cases().items():
        found, expected = walked[1][name, "T"], route_of(case.answers)
        assert found.known_from_ms == expected.known_from_ms
        for spans in ("queued", "permitted", "writable", "queue_counts", "broker_counts"):
            assert sorted(getattr(found, spans)) == sorted(getattr(expected, spans)), (name, spans)


@st.composite
def _drawn_write(draw: st.DrawFn, policy: str) -> Write:
    """At one of a few milliseconds, so that many tie; what it carries over midnight, or that it is a remove, too."""
    at_ms = draw(st.sampled_from((0, 0, 1, 2, 3, 100, 101, 103, 400, 401, 500)))
    kind = draw(st.sampled_from(("UPDATE",) * 6 + (CARRIED, REMOVE)))
    some = st.sampled_from((None, 1, 2))
    drawn = write_to(
        "a",
        at_ms,
        5,
        0 if kind != "UPDATE" else draw(st.sampled_from((0, 0, 1, 99, 100, 300, 600))),
        policy=policy,
        op=kind,
        seq=draw(some),
        started_at_ms=draw(some),
        invoke_id=draw(some),
        attempt=draw(some),
        row_hash=draw(some),
        step=draw(st.integers(0, 5)),
        reachable=draw(st.sampled_from((True, True, False, None))),
    )
    if kind == CARRIED:
        drawn = replace(drawn, carried_until_ms=draw(st.sampled_from((0, 150, 450))))
    bands = st.sampled_from((None, None, None, 50, 450))
    return replace(drawn, carried_earliest_ms=draw(bands), carried_latest_ms=draw(bands))


def _order_of(write: Write) -> tuple[object, ...]:
    return (
        write.at_ms, write.seq, write.started_at_ms, write.invoke_id, write.attempt, write.row_hash, write.step,
    )  # fmt: skip


@pytest.fixture(scope="module")
def drawn_items() -> dict[str, list[Write]]:
    """Writes of some hundred fault items by name, none of two places in the order."""
    items: dict[str, list[Write]] = {}

    @settings(max_examples=300, derandomize=True, database=None, deadline=None)
    @given(
        st.sampled_from(("P1", "P2", "P4", "P5")).flatmap(
            lambda policy: st.lists(_drawn_write(policy), min_size=1, max_size=8, unique_by=_order_of)
        )
    )
    def draw(writes: list[Write]) -> None:
        items[f"item {len(items)}"] = writes

    draw()
    return items


def test_the_plain_replay_is_the_windowed_one(spark: SparkSession, drawn_items: dict[str, list[Write]]) -> None:
    rows = _first_pass(spark, drawn_items).collect()
    in_order = sorted(rows, key=lambda row: (row.cluster, row.position))
    windowed = {
        name: [(row.step, row.position, row.until_ms, row.earliest_ms, row.latest_ms, row.next_at_ms) for row in own]
        for name, own in groupby(in_order, key=lambda row: row.cluster)
    }
    plain = {
        name: [
            (each.last_write.step, each.position, each.until_ms, each.earliest_ms, each.latest_ms, each.next_at_ms)
            for each in replayed(own, RULES)
        ]
        for name, own in drawn_items.items()
    }
    assert plain == windowed
    states = [state for own in plain.values() for state in own]
    assert sum(state[3] < state[4] for state in states) > 100
    assert len(states) > 500


def _stretches(spark: SparkSession, writes: dict[str, list[Write]]) -> Iterator[tuple[str, list[int]]]:
    rows = with_stretch(_first_pass(spark, writes)).orderBy("cluster", "at_ms", "broker_name").collect()
    for name, own in groupby(rows, key=lambda row: row.cluster):
        yield name, [row.stretch for row in own]


HIDING: dict[str, Any] = {"middle_topic": "T", "middle_after": "c"}


def test_a_stretch_lasts_while_an_item_may_be_isolated(spark: SparkSession) -> None:
    isolated = write_to("a", 1_000, 0, 500)
    writes = {
        "up to its end, and one more millisecond in which a write may tie": [isolated, write_to("b", 1_501, 5, 0)],
        "then another begins": [isolated, write_to("b", 1_502, 5, 0)],
        "it ends with what clears it": [isolated, write_to("a", 1_200, 5, 0), write_to("b", 1_202, 5, 0)],
        "not where another order leaves it": [isolated, write_to("a", 1_001, 5, 0), write_to("b", 1_500, 5, 0)],
        "nor for a broker that the log does not name": [
            write_to("a", 1_000, 0, 500, **HIDING), write_to("a", 1_200, 5, 0), write_to("b", 1_501, 5, 0),
        ],
        "the longest counts": [
            write_to("a", 1_000, 0, 900), write_to("b", 1_100, 0, 100), write_to("c", 1_901, 5, 0),
        ],
    }  # fmt: skip
    assert dict(_stretches(spark, writes)) == {
        "up to its end, and one more millisecond in which a write may tie": [1, 1],
        "then another begins": [1, 2],
        "it ends with what clears it": [1, 1, 2],
        "not where another order leaves it": [1, 1, 1],
        "nor for a broker that the log does not name": [1, 1, 1],
        "the longest counts": [1, 1, 1],
    }


def test_when_attempts_show_something(spark: SparkSession) -> None:
    """From 40 s before a tie while its order counts; while every one of two or three items may be isolated."""
    a, b = write_to("a", 100_000, 0, 60_000), write_to("b", 110_000, 0, 60_000)
    tied = [a, write_to("a", 100_001, 5, 0)]
    writes = {
        "a tie": tied,
        "a tie up to the next write": [*tied, write_to("a", 100_022, 5, 0)],
        "a tie that counts for 20 ms": [*tied, write_to("a", 100_021, 5, 0)],
        "a tie of a maximum": [replace(each, policy="P5") for each in tied],
        "one item": [a],
        "two, both isolated": [a, b],
        "two, one available since long": [a, b, write_to("c", 5_000, 5, 0)],
        "three": [a, b, write_to("c", 120_000, 0, 10_000)],
        "four": [a, b, *(write_to(name, 120_000, 0, 10_000) for name in "cd")],
        "one, and a broker that the log does not name": [replace(a, **HIDING)],
        "of which there may be a tie": [replace(a, **HIDING), write_to("b", 100_001, 5, 0)],
    }
    found = revealing_times(with_stretch(_first_pass(spark, writes)), POLICIES).orderBy("after_ms").collect()
    times = {name: [(row.after_ms, row.until_ms) for row in found if row.cluster == name] for name in writes}
    assert times == {
        "a tie": [(60_001, 160_000)],
        "a tie up to the next write": [(60_001, 100_022)],
        "a tie that counts for 20 ms": [],
        "a tie of a maximum": [],
        "one item": [],
        "two, both isolated": [(110_000, 160_000)],
        "two, one available since long": [],
        "three": [(110_000, 130_000)],
        "four": [],
        "one, and a broker that the log does not name": [(100_000, 160_000)],
        "of which there may be a tie": [(60_000, 160_001)],
    }
