"""The views answer their questions, in Spark and in DuckDB alike."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession

from jobs.views import VIEWS, view_sql

NAMES = ("cluster", "client_id", "producer_group", "process", "enforced", "broker_name", "start_ms", "end_ms", "cause",
         "ended_by", "continued_from_previous_day")  # fmt: skip
ROWS = [
    ("c", "p", "g", "#1", True, "b", 900, 1_000, "LATENCY", "DAY_END", False),
    ("c", "p", "g", "#1", True, "b", 1_000, 2_000, "LATENCY", "DAY_END", True),
    ("c", "p", "g", "#1", True, "b", 2_000, 2_100, "LATENCY", "CLEARED", True),
    ("c", "p", "g", "#1", True, "b", 2_500, 2_600, "MQBrokerException", "EXPIRED", False),
    ("c", "p", "g", "#1", False, "b", 950, 970, "LATENCY", "EXPIRED", False),
]
WHOLE = [
    (False, 950, 970, 20, "LATENCY", "EXPIRED", 1),
    (True, 900, 2_100, 1_200, "LATENCY", "CLEARED", 3),
    (True, 2_500, 2_600, 100, "MQBrokerException", "EXPIRED", 1),
]
ASKED = "enforced, start_ms, end_ms, end_ms - start_ms, cause, ended_by, days"
REST = """
SELECT *, ended_by = 'DAY_END' AS continues_next_day, '5.3.3' AS client_version, 'P5' AS profile, 'P5' AS policy,
  start_ms AS start_at, end_ms AS end_at, end_ms AS end_earliest_ms, end_ms AS end_latest_ms,
  'LOGGED' AS evidence, 600 AS opener_latency_ms, 0 AS extensions
FROM told"""


def test_whole_isolations_in_spark(spark: SparkSession) -> None:
    spark.createDataFrame(ROWS, list(NAMES)).createOrReplaceTempView("told")
    spark.sql(REST).createOrReplaceTempView("isolation_intervals")
    whole = spark.sql(f"SELECT {ASKED} FROM ({view_sql('whole_isolations')}) ORDER BY enforced, start_ms")
    assert [tuple(row) for row in whole.collect()] == WHOLE


def test_whole_isolations_in_duckdb() -> None:
    columns: dict[str, list[Any]] = {name: [row[place] for row in ROWS] for place, name in enumerate(NAMES)}
    connection = duckdb.connect()
    connection.register("told", pa.table(columns))
    connection.execute(f"CREATE VIEW isolation_intervals AS {REST}")
    found = connection.sql(
        f"SELECT {ASKED} FROM ({view_sql('whole_isolations')}) ORDER BY enforced, start_ms"
    ).fetchall()
    assert found == WHOLE


def test_the_first_line_of_a_view_is_its_question() -> None:
    assert all(view_sql(name).splitlines()[0].endswith("?") for name in VIEWS)
