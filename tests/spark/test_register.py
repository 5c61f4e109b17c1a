"""What stands in a catalog after `register`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from jobs.errors import LakeError, UsageError
from jobs.lake.tables_io import Lake
from jobs.serving.database import checked_database
from jobs.serving.register import Registered, register, registered_text
from jobs.serving.views import VIEWS
from jobs.spark.delta_jars import delta_jars
from jobs.spark.session import DELTA
from jobs.tables import BROKER_WINDOWS, ISOLATION_INTERVALS, TABLES
from tests.given.lakes import LiteralLake
from tests.given.processes import is_listening
from tests.given.site import D1
from tests.given.small_plans import SMALL

ROOT = Path(__file__).parents[2]
LACKING = "findings"


@pytest.fixture(scope="module")
def spark(spark: SparkSession) -> SparkSession:
    """A session of its own: temporary views of other tests would hide the tables that views rest on."""
    return spark.newSession()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> LiteralLake:
    """A lake without `findings`, in a folder whose name is hostile to SQL."""
    folder = tmp_path_factory.mktemp("register") / "la'ke\"; DROP"
    made = LiteralLake(folder, [table for table in TABLES if table.name != LACKING])
    made.add("run_log", D1, {"run_id": "r", "flow": "FAULT_LATENCY", "status": "SUCCEEDED"})
    made.add("broker_windows", D1, {"broker_name": "broker-a", "isolated_ms": 90_000})
    return made


@pytest.fixture(scope="module")
def done(spark: SparkSession, lake: LiteralLake) -> Iterator[Registered]:
    """The lake, registered twice."""
    register(spark, Lake(spark, str(lake.folder)), "night")
    yield register(spark, Lake(spark, str(lake.folder)), "night")
    spark.sql("DROP DATABASE night CASCADE")


def test_what_the_lake_has_is_registered_and_what_it_lacks_is_named(done: Registered) -> None:
    assert done.tables == tuple(table.name for table in TABLES if table.name != LACKING)
    assert done.views == tuple(name for name in VIEWS if name != "night_findings")
    assert done.lacking == {"findings": "the lake has no such table yet", "night_findings": "rests on findings"}
    told = registered_text(done)
    assert "findings: the lake has no such table yet" in told
    assert "lives in memory and is gone" in told


def test_a_view_answers_from_the_catalog(spark: SparkSession, done: Registered) -> None:
    found = spark.sql("SELECT broker_name, isolated_producer_minutes FROM night.worst_brokers WHERE last_night")
    assert (done.database, [tuple(row) for row in found.collect()]) == ("night", [("broker-a", 1.5)])


def test_comments_are_in_the_catalog(spark: SparkSession, done: Registered) -> None:
    def comments(name: str) -> dict[str, str]:
        return {row["col_name"]: row["comment"] for row in spark.sql(f"DESCRIBE {done.database}.{name}").collect()}

    of_table = comments("isolation_intervals")
    assert {field.name: field.metadata["comment"] for field in ISOLATION_INTERVALS.columns}.items() <= of_table.items()
    assert comments("worst_brokers")["place"] == "1 = isolated most on this day; equal times share a place"


def test_dropping_the_database_leaves_the_lake(spark: SparkSession, lake: LiteralLake) -> None:
    register(spark, Lake(spark, str(lake.folder)), "short")
    spark.sql("DROP DATABASE short CASCADE")
    assert spark.read.format("delta").load(f"{lake.folder}/broker_windows").count() == 1


def test_a_lake_that_moved_is_followed(
    spark: SparkSession, lake: LiteralLake, tmp_path_factory: pytest.TempPathFactory
) -> None:
    old = LiteralLake(
        tmp_path_factory.mktemp("old"), [each for each in TABLES if each.name in ("run_log", "broker_windows")]
    )
    old.add("run_log", D1, {"run_id": "r"})
    register(spark, Lake(spark, str(old.folder)), "moved")
    register(spark, Lake(spark, str(lake.folder)), "moved")
    assert spark.table("moved.broker_windows").count() == 1
    spark.sql("DROP DATABASE moved CASCADE")


def test_what_is_not_ours_stays(spark: SparkSession, lake: LiteralLake) -> None:
    spark.sql("CREATE DATABASE theirs")
    spark.sql("CREATE TABLE theirs.sends USING parquet AS SELECT 1 AS x")
    with pytest.raises(LakeError, match="database theirs has a sends that is not Faultline's; give another --database"):
        register(spark, Lake(spark, str(lake.folder)), "theirs")
    assert spark.table("theirs.sends").collect()[0]["x"] == 1
    spark.sql("DROP DATABASE theirs CASCADE")


def test_a_lake_of_another_version_or_release_is_named(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = LiteralLake(tmp_path_factory.mktemp("other"), [each for each in TABLES if each.name == "run_log"])
    made.add("run_log", D1, {"run_id": "r"})
    as_was = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in BROKER_WINDOWS.columns[:9])
    where = f"LOCATION '{made.folder}/broker_windows'"
    spark.sql(f"CREATE TABLE was ({as_was}) USING DELTA {where} TBLPROPERTIES ('faultline.tableVersion' = '0')")
    found = register(spark, Lake(spark, str(made.folder)), "release")
    assert "has version 0, this program writes 1" in found.lacking["broker_windows"]
    spark.sql("DROP TABLE was")
    spark.sql("DROP DATABASE release CASCADE")


def test_a_folder_that_is_not_a_lake_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="holds no run; run faultline nightly first"):
        register(spark, Lake(spark, str(tmp_path)), "none")


@pytest.mark.fault(37)
@pytest.mark.parametrize("name", ["", "a b", "x; DROP DATABASE y", "x`", "x'--", "a.b", "é", "x" * 129])
def test_a_database_name_that_is_sql_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"is not a name; use letters, digits and _"):
        checked_database(name)


@contextmanager
def _thrift_server(home: Path, settings: dict[str, str]) -> Iterator[str]:
    """Spark's own Thrift server on this machine alone, as a site starts it; in the block its URL for JDBC."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    jars = ":".join(map(str, delta_jars()))
    server = {
        **settings,
        **DELTA,
        **SMALL,
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.databricks.delta.optimizeMetadataQuery.enabled": "false",
        "spark.driver.extraClassPath": jars,
        "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
        "spark.hadoop.hive.server2.thrift.port": str(port),
        "spark.ui.enabled": "false",
    }
    submit = Path(pyspark.__file__).parent / "bin/spark-submit"
    said = home / "server.txt"
    with said.open("w") as log:
        process = subprocess.Popen(
            [submit, "--master", "local[2]", "--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2",
             *(word for key, value in server.items() for word in ("--conf", f"{key}={value}")), "spark-internal"],
            cwd=home,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=log,
            stderr=log,
        )  # fmt: skip
    try:
        while process.poll() is None and not is_listening(port):
            time.sleep(0.5)
        assert process.poll() is None, said.read_text()[-5000:]
        yield f"jdbc:hive2://127.0.0.1:{port}/kept"
    finally:
        process.terminate()
        process.wait()


def _asked(spark: SparkSession, url: str, sql: str) -> list[tuple[str | None, ...]]:
    """The answer over JDBC, as rows of texts."""
    jvm: Any = spark._jvm
    jvm.java.lang.Class.forName("org.apache.hive.jdbc.HiveDriver")
    connection = jvm.java.sql.DriverManager.getConnection(url, "anyone", "")
    result = connection.createStatement().executeQuery(sql)
    places = range(1, result.getMetaData().getColumnCount() + 1)
    rows = []
    while result.next():
        rows.append(tuple(result.getString(place) for place in places))
    connection.close()
    return rows


@pytest.mark.slow  # a session and a server of their own
def test_sparks_own_server_answers_from_a_metastore(spark: SparkSession, lake: LiteralLake, tmp_path: Path) -> None:
    settings = {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{tmp_path}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={tmp_path}/metastore;create=true",
        "spark.driver.memory": "1g",
    }
    assigned = [f'--set=spark."{key}"={value}' for key, value in settings.items()]
    told = subprocess.run(
        [sys.executable, "-m", "jobs.cli", "register", "--lake", lake.folder, "--database", "kept", *assigned],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr[-3000:]
    assert told.stdout.startswith("Registered in database kept")
    assert "lives in memory" not in told.stdout
    with _thrift_server(tmp_path, settings) as url:
        assert {"isolation_intervals", "worst_brokers"} <= {row[1] for row in _asked(spark, url, "SHOW TABLES")}
        view = "SELECT event_date, broker_name, isolated_producer_minutes FROM worst_brokers WHERE last_night"
        assert _asked(spark, url, view) == [(str(D1), "broker-a", "1.5")]
        assert ("broker_name", "string", "broker") in _asked(spark, url, "DESCRIBE worst_brokers")
        assert _asked(spark, url, "SELECT max(event_date) FROM broker_windows") == [(str(D1),)]
