"""Records with missing numbers: sends and recorded lines count together, and what is unknown until when."""

from __future__ import annotations

from pyspark.sql import SparkSession

from jobs.fault_latency.fault_items.record_holes import numbered_lines, torn_processes, unknown_times
from jobs.tables.day import Day
from tests.given.site import D1
from udfs.fault_window import FAR_MS

PROCESS = "cluster string, client_id string, producer_group string"
# Numbers of the first and the last attempt, how many there were, those of recorded lines, the last of the day before.
CASES: dict[str, tuple[tuple[int, int, int], list[int], int | None]] = {
    "whole": ((1, 4, 2), [2, 3], None),
    "lost within": ((1, 5, 2), [2, 3], None),
    "lost before the first": ((2, 5, 2), [3, 4], None),
    "goes on after midnight": ((11, 12, 2), [13], 10),
    "lost at midnight": ((12, 13, 2), [14], 10),
    "without a record": ((5, 9, 2), [], None),
}


def test_torn_processes(spark: SparkSession) -> None:
    owners = {case: ("c", case, "g") for case in CASES}
    counted = [(*owners[case], "id", *sent) for case, (sent, _, _) in CASES.items()]
    lines = [(*owners[case], "id", seq) for case, (_, recorded, _) in CASES.items() for seq in recorded]
    opening = [(*owners[case], "id", last) for case, (_, _, last) in CASES.items() if last]
    found = torn_processes(
        spark.createDataFrame(lines, f"{PROCESS}, process string, seq bigint"),
        spark.createDataFrame(counted, f"{PROCESS}, process string, first_seq bigint, last_seq bigint, sends bigint"),
        spark.createDataFrame(opening, f"{PROCESS}, process string, last_seq bigint"),
    )
    assert {row["client_id"]: row["carried_seq"] for row in found.collect()} == {
        "lost within": None,
        "lost before the first": None,
        "lost at midnight": 10,
    }


def test_what_is_unknown_from_the_line_before_a_hole_to_the_next_line_of_an_item(spark: SparkSession) -> None:
    """The number 3 is missing: of `a` a line follows, of `b` none."""
    process = ("c", "p", "g", "id")
    sends = spark.createDataFrame(
        [(*process, 1, 1, 1_000), (*process, 4, 4, 4_000)],
        f"{PROCESS}, process string, seq bigint, row_hash bigint, ended_at_ms bigint",
    )
    lines = spark.createDataFrame(
        [(*process, 2, 2, 1_100, "UPDATE", "a"), (*process, 5, 5, 4_100, "UPDATE", "a")],
        f"{PROCESS}, process string, seq bigint, row_hash bigint, called_at_ms bigint, op string, broker_name string",
    )
    used = spark.createDataFrame(
        [(*process, True, broker) for broker in "ab"],
        f"{PROCESS}, process string, enforced boolean, broker_name string",
    )
    torn = spark.createDataFrame([(*process, None)], f"{PROCESS}, process string, carried_seq bigint")
    found = unknown_times(numbered_lines(lines, sends, torn, Day(D1, "c")), used)
    names = ("broker_name", "unknown_from_ms", "unknown_until_ms", "lost_after_seq", "lost_before_seq")
    assert sorted(map(tuple, found.select(*names).collect())) == [
        ("a", 1_100, 4_100, 2, 4),
        ("b", 1_100, FAR_MS, 2, 4),
    ]
