"""Which process wrote a line, when it ended, and whose id several share: each rule by a producer of its own.

Times in ms from midnight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from jobs.fault_latency.fault_items.updates import carried_updates
from jobs.fault_latency.findings.several_processes import falls_of_seq, overlapping_processes
from jobs.fault_latency.producers.attempts import attempts_of
from jobs.fault_latency.producers.processes import (
    SEVERAL_PROCESSES,
    is_shared,
    life_spans,
    process_ends,
    restarted_once,
)
from jobs.fault_latency.producers.sends_per_process import sends_per_process
from jobs.tables import FAULT_ITEM_STATE
from jobs.tables.day import Day
from tests.given.site import D1

SENDS = (
    "cluster string, client_id string, producer_group string, process_id string, seq bigint, started_at_ms bigint,"
    " ended_at_ms bigint, latency_ms bigint, invoke_id bigint, attempt int, row_hash bigint"
)
MINUTE_MS = 60_000
Ends = dict[str, int]
"""Process to when it ended; one that goes on is left out."""
# Process id, start and end of each attempt; the processes of the day before; which ended, and when.
BY_ID: dict[str, tuple[list[tuple[str | None, int, int]], Sequence[str], Ends]] = {
    "one after the other": ([("A", 0, 10), ("B", 100, 110)], (), {"A": 100}),
    "ended by the first start of the next": ([("A", 0, 10), ("B", 120, 130), ("B", 100, 140)], (), {"A": 100}),
    "in the millisecond in which the first one ended": ([("A", 0, 10), ("B", 10, 20)], (), {"A": 10}),
    "a millisecond before the first one ended": ([("A", 0, 10), ("B", 9, 20)], (), {}),
    "side by side": ([("A", 0, 10), ("B", 5, 15), ("A", 20, 30)], (), {}),
    "side by side, then a third": ([("A", 0, 10), ("B", 5, 15), ("A", 20, 30), ("C", 40, 50)], (), {"A": 40, "B": 40}),
    "the nearest of two": ([("A", 0, 10), ("B", 100, 110), ("C", 200, 210)], (), {"A": 100, "B": 200}),
    "each in one millisecond": ([("A", 10, 10), ("B", 100, 100), ("C", 200, 200)], (), {"A": 100, "B": 200}),
    "in one millisecond, in which another began": ([("A", 10, 10), ("B", 10, 20)], (), {"A": 10}),
    "in one millisecond, in which another ended": ([("A", 0, 10), ("B", 10, 10)], (), {"A": 10}),
    "in one millisecond while another is at work": ([("A", 0, 10), ("B", 5, 5), ("A", 20, 30)], (), {}),
    "alone in one millisecond": ([("A", 10, 10)], (), {}),
    "ended before it began, by a clock that was set": ([("A", 15, 10)], (), {}),
    "with an id after one without": ([(None, 0, 10), ("B", 100, 110)], (), {"with an id after one without": 100}),
    "without an id after one with": ([("A", 0, 10), (None, 100, 110)], (), {}),
    "without ids": ([(None, 0, 10), (None, 100, 110)], (), {}),
    "yesterday's goes on": ([("A", 100, 110)], ("A",), {}),
    "yesterday's goes on, then the next": ([("A", 100, 110), ("B", 200, 210)], ("A",), {"A": 200}),
    "yesterday's is silent, another begins": ([("B", 100, 110)], ("A",), {"A": 100}),
    "yesterday's is silent, two others begin": ([("C", 200, 210), ("B", 100, 110)], ("A",), {"A": 100, "B": 200}),
    "yesterday's is silent": ([], ("A",), {}),
    "two of yesterday, one goes on": ([("B", 100, 110)], ("A", "B"), {}),
    "two of yesterday, one goes on, then the next": (
        [("B", 100, 110), ("C", 200, 210)], ("A", "B"), {"A": 200, "B": 200},
    ),
    "yesterday's without an id is silent": ([("B", 100, 110)], ("yesterday's without an id is silent",),
                                           {"yesterday's without an id is silent": 100}),
}  # fmt: skip
Falls = tuple[int, int, int]
"""How often seq fell, first and last: the ends of the attempts that were lower."""
# Seq, start and end of each attempt without a process id; how its seq fell (null = never); what follows.
BY_SEQ: dict[str, tuple[list[tuple[int | None, int | None, int]], Falls | None, str | None]] = {
    "it rises": ([(1, 0, 10), (2, 100, 110), (9, 200, 210)], None, None),
    "it is the same": ([(1, 0, 10), (1, 100, 110)], None, None),
    "it falls once": ([(2, 0, 10), (1, 100, 110)], (1, 110, 110), "ONCE"),
    "it falls to the first": ([(100, 0, 10), (1, MINUTE_MS, MINUTE_MS + 10)], (1, 60_010, 60_010), "ONCE"),
    "it falls twice within a second": (
        [(9, 0, 10), (1, 100, 110), (8, 200, 210), (2, 300, 310)], (2, 110, 310), None,
    ),
    "it falls twice in less than ten seconds": (
        [(9, 0, 10), (1, 100, 110), (8, 200, 210), (2, 10_000, 10_109)], (2, 110, 10_109), None,
    ),
    "it falls twice in ten seconds": (
        [(9, 0, 10), (1, 100, 110), (8, 200, 210), (2, 10_000, 10_110)], (2, 110, 10_110), "SHARED",
    ),
    "it falls twice over a minute": (
        [(9, 0, 10), (1, 100, 110), (8, 200, 210), (2, MINUTE_MS, 60_110)], (2, 110, 60_110), "SHARED",
    ),
    "it falls at each of three restarts": (
        [(9, 0, 10), (5, 100, 110), (1, MINUTE_MS, 60_110)], (2, 110, 60_110), "SHARED",
    ),
    # Two pods that count for themselves: A 1, B 500,001, A 3, B 500,003 and so on.
    "interleaved pods, once back": (
        [(1, 0, 10), (500_001, 5_000, 5_010), (3, 15_000, 15_010), (500_003, 20_000, 20_010)],
        (1, 15_010, 15_010), "ONCE",
    ),
    "interleaved pods": (
        [(1, 0, 10), (500_001, 5_000, 5_010), (3, 15_000, 15_010), (500_003, 20_000, 20_010), (5, 25_010, 25_020)],
        (2, 15_010, 25_020), "SHARED",
    ),
    "it began as the one before ended": ([(2, 0, 10), (1, 10, 20)], None, None),
    "it began a millisecond after": ([(2, 0, 10), (1, 11, 20)], None, None),
    "it began two milliseconds after": ([(2, 0, 10), (1, 12, 20)], (1, 20, 20), "ONCE"),
    "it began before the one before ended": ([(2, 0, 10), (1, 5, 20)], None, None),
    "without a start it began its latency before its end": ([(2, 0, 10), (1, None, 21)], None, None),
    "without a start, two milliseconds after": ([(2, 0, 10), (1, None, 22)], (1, 22, 22), "ONCE"),
    "ended in one millisecond": ([(2, 10, 10), (1, 10, 10)], None, None),
    "not logged": ([(None, 0, 10), (None, 100, 110)], None, None),
    "one without it between": ([(2, 0, 10), (None, 100, 110), (1, 200, 210)], (1, 210, 210), "ONCE"),
    "one without it after": ([(2, 0, 10), (None, 100, 110)], None, None),
}  # fmt: skip


TOOK = {2_999: None, 3_000: "CALL_TOOK_ITS_TIMEOUT", 3_012: "CALL_TOOK_ITS_TIMEOUT"}


def _logged(spark: SparkSession, sends: Iterable[tuple[object, ...]]) -> DataFrame:
    """The attempts as a table has them: what a process does not rest on is the same in all."""
    frame = spark.createDataFrame(list(sends), SENDS)
    texts = {
        **dict.fromkeys(("client_language", "queue_chosen_by", "one_line_per", "broker_addr", "result_broker_name")),
        "client_version": "5.3.3",
        "topic": "t",
        "mode": "SYNC",
        "broker_name": "b",
        "outcome": "SEND_OK",
        "cause": None,
    }
    flags = dict.fromkeys(("fault_latency_enabled", "detector_enabled"), F.lit(True))
    columns = {name: F.lit(text).cast("string") for name, text in texts.items()}
    return frame.withColumns({**columns, **flags, "submitted_at_ms": F.lit(None).cast("bigint")})


def _opening(spark: SparkSession, items: Iterable[tuple[str, str]] = ()) -> DataFrame:
    """Fault items of the day before: client id and process; its last attempt ended just before midnight."""
    rows = [
        {"cluster": "c", "client_id": client, "producer_group": "g", "process": process, "broker_name": "b",
         "enforced": True, "reachable": True, "available_earliest_ms": 0, "last_ended_at_ms": -50}
        for client, process in items
    ]  # fmt: skip
    nullable = StructType([StructField(each.name, each.dataType) for each in FAULT_ITEM_STATE.schema])
    return spark.createDataFrame(rows, nullable)


def _counted(sends: DataFrame) -> DataFrame:
    return sends_per_process(sends, {}).localCheckpoint()


def _sends_by_id() -> list[tuple[object, ...]]:
    return [
        ("c", case, "g", process_id, place + 1, started, ended, ended - started, None, 1, place)
        for case, (attempts, _, _) in BY_ID.items()
        for place, (process_id, started, ended) in enumerate(attempts)
    ]


def _sends_by_seq() -> list[tuple[object, ...]]:
    return [
        ("c", case, "g", None, seq, started, ended, 10, None, 1, place)
        for case, (attempts, _, _) in BY_SEQ.items()
        for place, (seq, started, ended) in enumerate(attempts)
    ]


@pytest.fixture(scope="module")
def by_seq(spark: SparkSession) -> DataFrame:
    return _counted(_logged(spark, _sends_by_seq()))


def test_a_process_ends_when_another_id_begins_after_its_last_line(spark: SparkSession) -> None:
    carried = [(case, process) for case, (_, before, _) in BY_ID.items() for process in before]
    counted = _counted(_logged(spark, _sends_by_id()))
    found: dict[str, Ends] = {case: {} for case in BY_ID}
    for row in process_ends(counted, _opening(spark, carried)).collect():
        found[row["client_id"]][row["process"]] = row["process_ended_at_ms"]
    assert found == {case: ends for case, (_, _, ends) in BY_ID.items()}


def test_seq_falls_where_an_attempt_that_began_later_has_a_lower_one(by_seq: DataFrame) -> None:
    found = {
        row["client_id"]: (row["seq_falls"], row["fell_first_ms"], row["fell_last_ms"]) for row in by_seq.collect()
    }
    assert found == {case: falls or (0, None, None) for case, (_, falls, _) in BY_SEQ.items()}


def test_seq_ends_no_process(spark: SparkSession, by_seq: DataFrame) -> None:
    assert process_ends(by_seq, _opening(spark)).collect() == []
    assert by_seq.where("process <> client_id").count() == 0


def test_one_fall_is_a_restart_and_more_over_ten_seconds_are_several_processes(by_seq: DataFrame) -> None:
    kind = F.when(is_shared(), "SHARED").when(restarted_once(), "ONCE")
    found = {row["client_id"]: row["kind"] for row in by_seq.select("client_id", kind.alias("kind")).collect()}
    assert found == {case: follows for case, (_, _, follows) in BY_SEQ.items()}


def test_seq_of_attempts_with_an_id_does_not_count(spark: SparkSession) -> None:
    sends = [("c", "p", "g", "A", seq, at, at + 10, 10, None, 1, at) for seq, at in ((9, 0), (1, 100), (8, 200))]
    assert [row["seq_falls"] for row in _counted(_logged(spark, sends)).collect()] == [0]


def test_groups_and_clusters_are_producers_of_their_own(spark: SparkSession) -> None:
    """The same client id: none ends the other's process, nor does its seq fall by the other's."""
    sends = [
        ("c", "p", "g", "A", 2, 0, 10, 10, None, 1, 1),
        ("c", "p", "h", "B", 1, 100, 110, 10, None, 1, 2),
        ("d", "p", "g", "C", 1, 100, 110, 10, None, 1, 3),
        ("c", "q", "g", None, 2, 0, 10, 10, None, 1, 4),
        ("c", "q", "h", None, 1, 100, 110, 10, None, 1, 5),
        ("d", "q", "g", None, 1, 100, 110, 10, None, 1, 6),
    ]
    counted = _counted(_logged(spark, sends))
    assert process_ends(counted, _opening(spark)).collect() == []
    assert counted.where("seq_falls > 0").count() == 0


def test_the_process_of_a_line_is_its_id_else_its_client_id(spark: SparkSession) -> None:
    sends = _logged(spark, _sends_by_id())
    found = attempts_of(sends, _counted(sends)).collect()
    assert len(found) == sends.count()
    for row in found:
        assert (row["process"], row["not_replayed"]) == (row["process_id"] or row["client_id"], None)


@pytest.mark.parametrize("version", ["5.3.3", "3.2.6"])
def test_lines_of_an_id_that_several_share_are_not_replayed(spark: SparkSession, version: str) -> None:
    """A reason that its rules gave stays."""
    why = None if version == "5.3.3" else "CLIENT_TOO_OLD"
    lines = _logged(spark, _sends_by_seq()).withColumn("client_version", F.lit(version))
    assert {(row["client_id"], row["not_replayed"]) for row in attempts_of(lines, _counted(lines)).collect()} == {
        (case, why or (SEVERAL_PROCESSES if follows == "SHARED" else None)) for case, (_, _, follows) in BY_SEQ.items()
    }


def test_a_call_that_took_its_time_out_is_not_replayed(spark: SparkSession) -> None:
    """It may have waited for another broker than the one of its line. The other lines of its producer are replayed."""
    sends = [("c", "p", "g", None, None, None, 9_000 + place, took, None, 1, place) for place, took in enumerate(TOOK)]
    lines = _logged(spark, sends).withColumn("one_line_per", F.lit("CALL"))
    found = attempts_of(lines, _counted(lines)).collect()
    assert {row["latency_ms"]: row["not_replayed"] for row in found} == TOOK


def test_items_of_yesterday_are_dropped_where_several_share_the_id(spark: SparkSession, by_seq: DataFrame) -> None:
    opening = _opening(spark, [(case, case) for case in BY_SEQ])
    found = carried_updates(opening, by_seq, Day(D1, "c"))
    assert {row["client_id"] for row in found.collect()} == {
        case for case, (_, _, follows) in BY_SEQ.items() if follows != "SHARED"
    }


def test_life_spans(spark: SparkSession) -> None:
    """From the first start to the last end, whatever the hour; a clock set back leaves one moment."""
    hour_ms = 3_600_000
    sends = [
        ("c", "p", "g", "A", 1, 100, 110, 10, None, 1, 1),
        ("c", "p", "g", "A", 2, hour_ms, hour_ms + 10, 10, None, 1, 2),
        ("c", "p", "g", None, 3, None, 30, 10, None, 1, 3),
        ("c", "set back", "g", "A", 1, 15, 10, 5, None, 1, 4),
    ]
    found = life_spans(_counted(_logged(spark, sends)))
    names = ("client_id", "process_id", "process", "first_began_ms", "last_ended_ms")
    assert sorted(map(tuple, found.select(*names).collect()), key=repr) == [
        ("p", "A", "A", 100, hour_ms + 10),
        ("p", None, "p", 20, 30),
        ("set back", "A", "A", 10, 10),
    ]


def test_attempts_are_counted_with_the_rules_of_each_process(spark: SparkSession) -> None:
    """Of a producer whose seq falls all attempts are those of one process."""
    later = 7_200_000
    sends: list[tuple[object, ...]] = []
    for client, process_ids in {"falls once": (None, None), "has ids": ("A", "B")}.items():
        for place, (seq, started) in enumerate([(100, 0), (101, later), (1, later + 100), (2, 2 * later)]):
            sends.append(("c", client, "g", process_ids[place // 2], seq, started, started + 10, 10, None, 1, place))
    frame = _logged(spark, sends)
    counted = _counted(frame)
    names = ("client_id", "process", "sends", "first_began_ms", "last_ended_ms", "first_write_ms", "last_write_ms",
             "first_seq", "last_seq")  # fmt: skip
    assert sorted(map(tuple, counted.select(*names).collect())) == [
        ("falls once", "falls once", 4, 0, 2 * later + 10, 10, 2 * later + 10, 1, 101),
        ("has ids", "A", 2, 0, later + 10, 10, later + 10, 100, 101),
        ("has ids", "B", 2, later + 100, 2 * later + 10, later + 110, 2 * later + 10, 1, 2),
    ]


# Process id, start and end; from when until when they overlap (null = no finding).
OVERLAPS: dict[str, tuple[list[tuple[str, int, int]], tuple[int, int] | None]] = {
    "for ten seconds": ([("A", 0, 20_000), ("B", 10_000, 30_000)], None),
    "for a millisecond more": ([("A", 0, 20_001), ("B", 10_000, 30_000)], (10_000, 20_001)),
    "one within the other": ([("A", 0, 90_000), ("B", 10_000, 30_000)], (10_000, 30_000)),
    "one within the other, for ten seconds": ([("A", 0, 90_000), ("B", 10_000, 20_000)], None),
    "three": ([("A", 0, 40_000), ("B", 10_000, 50_000), ("C", 20_000, 60_000)], (10_000, 50_000)),
    "two of three": ([("A", 0, 40_000), ("B", 10_000, 50_000), ("C", 60_000, 90_000)], (10_000, 40_000)),
    "begun at once": ([("A", 0, 40_000), ("B", 0, 30_000)], (0, 30_000)),
}


def test_processes_that_overlap_for_more_than_ten_seconds_are_a_finding(spark: SparkSession) -> None:
    sends = [
        ("c", case, "g", process_id, None, started, ended, ended - started, None, 1, place)
        for case, (lives, _) in OVERLAPS.items()
        for place, (process_id, started, ended) in enumerate(lives)
    ]
    found = overlapping_processes(_counted(_logged(spark, sends))).collect()
    assert {(row["cause"], row["severity"]) for row in found} == {("PROCESS_IDS_OVERLAP", "WARNING")}
    assert {row["client_id"]: (row["start_ms"], row["end_ms"]) for row in found} == {
        case: expected for case, (_, expected) in OVERLAPS.items() if expected
    }


def test_a_seq_that_falls_is_a_finding(by_seq: DataFrame) -> None:
    found = falls_of_seq(by_seq).collect()
    causes = {"SHARED": ("SEQ_FALLS", "WARNING"), "ONCE": ("SEQ_FELL_ONCE", "INFO")}
    assert {row["client_id"]: (row["cause"], row["severity"], row["start_ms"], row["end_ms"]) for row in found} == {
        case: (*causes[follows], falls[1], max(falls[2], falls[1] + 1))
        for case, (_, falls, follows) in BY_SEQ.items()
        if falls and follows
    }
