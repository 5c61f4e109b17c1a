"""What `faultline verify` takes for a difference, and which client wrote a log: both sides of each edge."""

from __future__ import annotations

from pyspark.sql import SparkSession

from jobs.verify.facts import with_cause
from jobs.verify.writers import clients_of_logs

WRITER = "source string, writer string, producer_group string"
CHECKS = (
    f"{WRITER}, broker_name string, matched bigint, differing_ms bigint, missed bigint, extra bigint,"
    " other_length bigint, off_ladder bigint"
)
WRITERS = (
    f"{WRITER}, client_ids array<string>, has_sends boolean, is_replayed boolean, is_on boolean,"
    " is_other_version boolean, is_torn boolean"
)
UPDATES = "op string, client_id string, producer_group string, broker_name string"
LINES = "process string, event string, client_id string, said_client_id string, client_version string"


def test_a_second_and_ten_milliseconds_of_each_matched_write_are_not_a_difference(spark: SparkSession) -> None:
    writer = ("RECORDED", "p", "g")
    expected = {(0, 1_000): None, (0, 1_001): "UNEXPLAINED", (2, 1_020): None, (2, 1_021): "UNEXPLAINED"}
    found = with_cause(
        spark.createDataFrame([(*writer, "b", *each, 0, 0, 0, 0) for each in expected], CHECKS),
        spark.createDataFrame([(*writer, ["p"], True, True, True, False, False)], WRITERS),
        spark.createDataFrame([], UPDATES),
    ).collect()
    assert {(row["matched"], row["differing_ms"]): row["cause"] for row in found} == expected


def test_the_client_id_in_settings_wins_over_the_log(spark: SparkSession) -> None:
    lines = [("log", "INSTANCE", "by-itself", "by-settings", "5.3.3"), ("log", "ISOLATED", None, "by-settings", None)]
    found = clients_of_logs(spark.createDataFrame(lines, LINES)).select("writer", "client_id", "log_version").collect()
    assert [tuple(row) for row in found] == [("log", "by-settings", "5.3.3")]
