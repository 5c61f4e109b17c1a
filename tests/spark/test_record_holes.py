"""Which processes have a record with a missing number: sends and recorded lines count together, over midnight too."""

from __future__ import annotations

from pyspark.sql import SparkSession

from jobs.fault_latency.fault_items.record_holes import torn_processes

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
    hours = [(*owners[case], "id", *sent) for case, (sent, _, _) in CASES.items()]
    lines = [(*owners[case], "id", seq) for case, (_, recorded, _) in CASES.items() for seq in recorded]
    opening = [(*owners[case], "id", last) for case, (_, _, last) in CASES.items() if last]
    found = torn_processes(
        spark.createDataFrame(lines, f"{PROCESS}, process string, seq bigint"),
        spark.createDataFrame(hours, f"{PROCESS}, process_id string, lowest_seq bigint, last_seq bigint, sends bigint"),
        spark.createDataFrame(opening, f"{PROCESS}, process string, last_seq bigint"),
    )
    assert {row["client_id"]: row["carried_seq"] for row in found.collect()} == {
        "lost within": None,
        "lost before the first": None,
        "lost at midnight": 10,
    }
