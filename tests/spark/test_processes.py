"""Which process made an attempt, and when it was over: each rule by a producer of its own, in ms from midnight."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.fault_latency.producers.attempts import with_owner
from jobs.fault_latency.producers.processes import beginnings, with_end_of_process, with_process
from jobs.fault_latency.producers.rules import versions_of
from jobs.fault_latency.producers.sender_hours import sender_hours
from jobs.fault_latency.producers.sends_per_process import process_sends
from jobs.settings.client_profiles import released_profiles

SENDS = (
    "cluster string, client_id string, producer_group string, process_id string, seq bigint, started_at_ms bigint,"
    " ended_at_ms bigint, latency_ms bigint, invoke_id bigint, attempt int, row_hash bigint"
)
CARRIED = (
    "cluster string, client_id string, producer_group string, carried_process string, carried_seq bigint,"
    " carried_ended_at_ms bigint"
)
Attempt = tuple[int | None, int | None, int]
"""Its seq, start and end."""
Named = tuple[str, int | None]
"""The process, and when it was over."""
# Attempts in order, the process of the day before (its name, seq and end), and what each attempt's process is.
CASES: dict[str, tuple[list[Attempt], tuple[str, int, int] | None, list[Named]]] = {
    "half of the seq before is no fall": ([(10, 0, 10), (5, 100, 110)], None, [("#1", None)] * 2),
    "less than half is": ([(11, 0, 10), (5, 100, 110)], None, [("#1", 100), ("#2", None)]),
    "nor is half in an hour with a clear fall": (
        [(100, 0, 10), (1, 100, 110), (10, 200, 210), (5, 300, 310)], None, [("#1", 100), *[("#2", None)] * 3],
    ),
    "begun before the last one had ended": ([(100, 0, 10), (1, 10, 20)], None, [("#1", None)] * 2),
    "begun a millisecond after": ([(100, 0, 10), (1, 11, 20)], None, [("#1", 11), ("#2", None)]),
    "without a start it began its latency before its end": ([(100, 0, 10), (1, None, 20)], None, [("#1", None)] * 2),
    "and fell then": ([(100, 0, 10), (1, None, 21)], None, [("#1", 11), ("#2", None)]),
    "after minutes without an attempt": ([(100, 0, 10), (1, 300_000, 300_010)], None, [("#1", 300_000), ("#2", None)]),
    "from one minute to the next": (
        [(100, 0, 10), (101, 59_000, 59_010), (1, 60_000, 60_010), (2, 61_000, 61_010)],
        None,
        [("#1", 60_000), ("#1", 60_000), ("#2", None), ("#2", None)],
    ),
    "from one hour to the next": (
        [(100, 0, 10), (1, 3_600_000, 3_600_010)], None, [("#1", 3_600_000), ("#2", None)],
    ),
    "twice": (
        [(100, 0, 10), (1, 100, 110), (50, 200, 210), (2, 300, 310)],
        None,
        [("#1", 100), ("#2", 300), ("#2", 300), ("#3", None)],
    ),
    "without seq": ([(None, 0, 10), (None, 100, 110)], None, [("#1", None)] * 2),
    "of the same millisecond the one with a seq comes first": (
        [(100, 0, 10), (None, 0, 10), (1, 100, 110)], None, [("#1", None)] * 3,
    ),
    "fallen since yesterday": ([(1, 100, 110)], ("#3", 100, -50), [("#4", None)]),
    "not fallen since yesterday": ([(50, 100, 110)], ("#3", 100, -50), [("#3", None)]),
    "under way at midnight": ([(1, 100, 110)], ("#3", 100, 150), [("#3", None)]),
    "yesterday's had an id": ([(1, 100, 110)], ("A", 100, -50), [("#2", None)]),
    "all in one millisecond": ([(1, 10, 10)], None, [("#1", None)]),
    "two in one millisecond": ([(1, 10, 10), (2, 10, 10)], None, [("#1", None)] * 2),
    "ended before it began, by a clock that was set": ([(1, 15, 10)], None, [("#1", None)]),
    "all in one millisecond, and begun again": ([(100, 10, 10), (1, 100, 100)], None, [("#1", 100), ("#2", None)]),
}  # fmt: skip


def _logged(spark: SparkSession, sends: Sequence[tuple[object, ...]]) -> DataFrame:
    """The attempts as a table has them: what a process does not rest on is the same in all."""
    frame = spark.createDataFrame(sends, SENDS)
    texts = {
        **dict.fromkeys(("client_language", "queue_chosen_by", "broker_addr", "result_broker_name")),
        "client_version": "5.3.3",
        "topic": "t",
        "mode": "SYNC",
        "broker_name": "b",
        "outcome": "SEND_OK",
    }
    flags = dict.fromkeys(("fault_latency_enabled", "detector_enabled"), F.lit(True))
    return frame.withColumns({**{name: F.lit(text).cast("string") for name, text in texts.items()}, **flags})


def _beginnings(spark: SparkSession, sends: DataFrame, carried: Sequence[tuple[object, ...]]) -> DataFrame:
    before = spark.createDataFrame(carried, CARRIED)
    return beginnings(sends, sender_hours(sends, 550), before, lambda _, frame: frame.localCheckpoint())


@pytest.fixture(scope="module")
def named(spark: SparkSession) -> dict[str, list[Named]]:
    sends = [
        ("c", case, "g", None, seq, started, ended, 10, None, 1, place)
        for case, (attempts, _, _) in CASES.items()
        for place, (seq, started, ended) in enumerate(attempts)
    ]
    carried = [("c", case, "g", *before) for case, (_, before, _) in CASES.items() if before]
    frame = _logged(spark, sends)
    known = _beginnings(spark, frame, carried)
    found: dict[str, list[Named]] = {case: [] for case in CASES}
    for row in with_process(frame, known).orderBy("ended_at_ms", "row_hash").collect():
        found[row["client_id"]].append((row["process"], row["dies_at_ms"]))
    return found


@pytest.mark.parametrize("case", CASES)
def test_counted_by_seq(named: dict[str, list[Named]], case: str) -> None:
    assert named[case] == CASES[case][2]


# Process id, start and end of each attempt; the process that was carried; when each was over.
BY_ID: dict[str, tuple[list[tuple[str | None, int, int]], str | None, list[Named]]] = {
    "one after the other": ([("A", 0, 10), ("B", 100, 110)], None, [("A", 100), ("B", None)]),
    "the first start of the next": ([("A", 0, 10), ("B", 120, 130), ("B", 100, 140)], None,
                                    [("A", 100), ("B", None), ("B", None)]),
    "in the millisecond in which the first one ended": ([("A", 0, 10), ("B", 10, 20)], None, [("A", 10), ("B", None)]),
    "side by side": ([("A", 0, 10), ("B", 5, 15), ("A", 20, 30)], None, [("A", None), ("B", None), ("A", None)]),
    "the nearest of two": (
        [("A", 0, 10), ("B", 100, 110), ("C", 200, 210)], None, [("A", 100), ("B", 200), ("C", None)],
    ),
    "in one millisecond, then the next": (
        [("A", 10, 10), ("B", 100, 100), ("C", 200, 200)], None, [("A", 100), ("B", 200), ("C", None)],
    ),
    "in one millisecond, in which another began": ([("A", 10, 10), ("B", 10, 20)], None, [("A", 10), ("B", None)]),
    "in one millisecond, in which another ended": ([("A", 0, 10), ("B", 10, 10)], None, [("A", 10), ("B", None)]),
    "in one millisecond while another is at work": (
        [("A", 0, 10), ("B", 5, 5), ("A", 20, 30)], None, [("A", None), ("B", None), ("A", None)],
    ),
    "with an id after one without": ([(None, 0, 10), ("B", 100, 110)], None, [("#1", 100), ("B", None)]),
    "yesterday's goes on": ([("A", 100, 110)], "A", [("A", None)]),
    "another than yesterday's": ([("B", 100, 110)], "A", [("B", None)]),
}  # fmt: skip


def test_named_by_id(spark: SparkSession) -> None:
    sends = [
        ("c", case, "g", process_id, place + 1, started, ended, ended - started, None, 1, place)
        for case, (attempts, _, _) in BY_ID.items()
        for place, (process_id, started, ended) in enumerate(attempts)
    ]
    carried = [("c", case, "g", before, 1, -50) for case, (_, before, _) in BY_ID.items() if before]
    frame = _logged(spark, sends)
    known = _beginnings(spark, frame, carried)
    found: dict[str, list[Named]] = {case: [] for case in BY_ID}
    for row in with_process(frame, known).orderBy("row_hash").collect():
        found[row["client_id"]].append((row["process"], row["dies_at_ms"]))
    assert found == {case: expected for case, (_, _, expected) in BY_ID.items()}


def test_attempts_counted_by_hour_are_those_of_each_process(spark: SparkSession) -> None:
    """A producer that began again within an hour is counted anew; the others' hours are not looked into."""
    later = 7_200_000
    sends: list[tuple[object, ...]] = []
    for client, process_ids in {"restarts": (None, None), "has ids": ("A", "B"), "carried": (None, None)}.items():
        for place, (seq, started) in enumerate([(100, 0), (101, later), (1, later + 100), (2, 2 * later)]):
            seq_then = 200 + place if client == "carried" else seq
            sends.append(
                ("c", client, "g", process_ids[place // 2], seq_then, started, started + 10, 10, None, 1, place)
            )
    frame = _logged(spark, sends)
    began = _beginnings(spark, frame, [("c", "carried", "g", "#4", 100, -50)])
    versions = versions_of(frame, released_profiles(), {})
    counted = process_sends(sender_hours(frame, 550), frame, began, versions, {})
    one_by_one = with_owner(frame, versions, {}, began)
    assert sorted(
        (row["client_id"], row["process"], row["dies_at_ms"], row["sends"], row["first_began_ms"], row["last_ended_ms"],
         row["first_write_ms"], row["last_write_ms"], row["last_seq"])
        for row in counted.collect()
    ) == [
        ("carried", "#4", None, 4, 0, 2 * later + 10, 10, 2 * later + 10, 203),
        ("has ids", "A", later + 100, 2, 0, later + 10, 10, later + 10, 101),
        ("has ids", "B", None, 2, later + 100, 2 * later + 10, later + 110, 2 * later + 10, 2),
        ("restarts", "#1", later + 100, 2, 0, later + 10, 10, later + 10, 101),
        ("restarts", "#2", None, 2, later + 100, 2 * later + 10, later + 110, 2 * later + 10, 2),
    ]  # fmt: skip
    rules = ("client_id", "process", "dies_at_ms", "enforced", "version", "version_number", "policy", "by_caller")
    assert sorted(map(tuple, counted.select(*rules).collect())) == sorted(
        map(tuple, one_by_one.select(*rules).distinct().collect())
    )


def test_an_item_of_yesterday_dies_with_its_process(spark: SparkSession) -> None:
    """Of one that sends no more the birth of another is the end; of one that goes on its own end."""
    owner = "cluster string, client_id string, producer_group string, process string"
    opening = [("c", client, "g", "A", "b") for client in ("goes on", "replaced", "replaced by two", "silent", "ends")]
    sent = [
        ("c", "goes on", "g", "A", None, 100),
        ("c", "replaced", "g", "B", None, 300),
        ("c", "replaced by two", "g", "B", 500, 400),
        ("c", "replaced by two", "g", "C", None, 350),
        ("c", "ends", "g", "A", 700, 100),
        ("c", "ends", "g", "B", None, 700),
    ]
    found = with_end_of_process(
        spark.createDataFrame(opening, f"{owner}, broker_name string"),
        spark.createDataFrame(sent, f"{owner}, dies_at_ms bigint, first_began_ms bigint"),
    )
    assert {row["client_id"]: row["dies_at_ms"] for row in found.collect()} == {
        "goes on": None, "replaced": 300, "replaced by two": 350, "silent": None, "ends": 700,
    }  # fmt: skip
