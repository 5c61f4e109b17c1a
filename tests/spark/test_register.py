"""What stands in a catalog after `register`, and what its functions answer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.errors import CatalogError, LakeError, UsageError
from jobs.lake.tables_io import Lake
from jobs.serving.register import Registered, checked_database, register, registered_text
from jobs.serving.views import VIEWS
from jobs.settings.client_profiles import released_profiles
from jobs.tables import BROKER_INCIDENTS, ISOLATION_INTERVALS, TABLES
from tests.given.lakes import LiteralLake
from tests.given.site import D1
from udfs import java_text
from udfs.allocation_udf import plain_shares
from udfs.ladder import Ladder, plain_isolation_ms

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
    about = spark.sql(f"DESCRIBE FUNCTION EXTENDED {done.database}.java_hash_code").collect()
    assert "Java's String.hashCode" in str(about)


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
    with pytest.raises(
        CatalogError, match="database theirs has a sends that is not Faultline's; give another --database"
    ):
        register(spark, Lake(spark, str(lake.folder)), "theirs")
    assert spark.table("theirs.sends").collect()[0]["x"] == 1
    spark.sql("DROP DATABASE theirs CASCADE")


def test_a_lake_of_another_version_or_release_is_named(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = LiteralLake(tmp_path_factory.mktemp("other"), [each for each in TABLES if each.name == "run_log"])
    made.add("run_log", D1, {"run_id": "r"})
    as_was = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in BROKER_INCIDENTS.columns[:9])
    where = f"LOCATION '{made.folder}/broker_incidents'"
    spark.sql(f"CREATE TABLE was ({as_was}) USING DELTA {where} TBLPROPERTIES ('faultline.tableVersion' = '0')")
    found = register(spark, Lake(spark, str(made.folder)), "release")
    assert "has version 0, this program writes 1" in found.lacking["broker_incidents"]
    spark.sql("DROP TABLE was")
    spark.sql("DROP DATABASE release CASCADE")


def test_a_folder_that_is_no_lake_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="holds no run; run faultline nightly first"):
        register(spark, Lake(spark, str(tmp_path)), "none")


@pytest.mark.fault(37)
@pytest.mark.parametrize("name", ["", "a b", "x; DROP DATABASE y", "x`", "x'--", "a.b", "é", "x" * 129])
def test_a_database_name_that_is_sql_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"is no name; use letters, digits and _"):
        checked_database(name)


def test_the_ladder_of_each_profile_as_a_function(spark: SparkSession, done: Registered) -> None:
    ladders = {each.name: Ladder(each.latency_max_ms, each.not_available_ms) for each in released_profiles()}
    edges = sorted({floor + step for ladder in ladders.values() for floor in ladder.floors_ms for step in (-1, 0, 1)})
    rows = [
        (latency, name, plain_isolation_ms(latency, of)) for name, of in ladders.items() for latency in (*edges, -1)
    ]
    cases = spark.createDataFrame(
        [*rows, (None, "P1", None), (5, None, None)], "latency bigint, name string, is bigint"
    )
    found = cases.withColumn("found", F.expr(f"{done.database}.not_available_duration(latency, name)"))
    assert found.where("NOT found <=> is").collect() == []
    assert spark.sql(
        "SELECT night.not_available_duration(3000, 'P1'), night.not_available_duration(3000, 'P5')"
    ).collect()[0] == (180_000, 6_000)
    with pytest.raises(PySparkException, match="profile P9 is unknown; known are P1, P2, P3, P4, P5"):
        spark.sql("SELECT night.not_available_duration(1, 'P9')").collect()


def test_hash_of_a_text_as_java_has_it(spark: SparkSession, done: Registered) -> None:
    known = [("", 0), ("a", 97), ("192.168.0.1@1-0", -770637656), ("polygenelubricants", -(2**31)),
             ("\U0001f680", 0xD83D * 31 + 0xDE80), ("\ufffd", 0xFFFD), (None, None)]  # fmt: skip
    others = ["x" * 500, "日本語", "a\x00b", "\U0001f680\ue000", "it's; DROP"]
    rows = [*known, *((text, java_text.string_hash(text)) for text in others)]
    cases = spark.createDataFrame(rows, "text string, is int")
    found = cases.withColumn("found", F.expr(f"{done.database}.java_hash_code(text)"))
    assert dict(found.dtypes)["found"] == "int"
    assert found.where("NOT found <=> is").collect() == []


RING = '{"name": "CONSISTENT_HASH", "virtual_nodes": 3}'
EACH = '{"*": {"name": "AVG"}, "x": {"name": "AVG_BY_CIRCLE"}}'


@pytest.mark.parametrize(
    ("strategy", "as_given"),
    [
        ("AVG", {"*": {"name": "AVG"}}),
        ("AVG_BY_CIRCLE", {"*": {"name": "AVG_BY_CIRCLE"}}),
        (RING, {"*": {"name": "CONSISTENT_HASH", "virtual_nodes": 3}}),
        (EACH, {"*": {"name": "AVG"}, "x": {"name": "AVG_BY_CIRCLE"}}),
    ],
)
def test_allocate(spark: SparkSession, done: Registered, strategy: str, as_given: dict[str, Any]) -> None:
    queues = [("a", 0), ("b", 1), ("a", 1), ("b", 0), ("a", 2)]
    clients = ["y", "x", "z"]
    frame = spark.createDataFrame([(strategy, "T", clients, queues)], _ALLOCATE).selectExpr(
        "inline(allocate(strategy, topic, clients, queues))"
    )
    assert done.functions == ("not_available_duration", "java_hash_code")
    assert [row.asDict(recursive=True) for row in frame.collect()] == plain_shares(as_given, "T", queues, clients)


def test_allocate_by_hand(spark: SparkSession, done: Registered) -> None:
    assert done.tables
    queues = "transform(sequence(0, 4), id -> named_struct('broker_name', 'a', 'queue_id', id))"
    rows = spark.sql(
        f"SELECT client_id, queues.queue_id FROM (SELECT inline(allocate('AVG', 'T', array('y', 'x'), {queues})))"
    )
    assert [tuple(row) for row in rows.collect()] == [("x", [0, 1, 2]), ("y", [3, 4])]
    assert spark.sql(f"SELECT allocate('AVG', NULL, array('y'), {queues})").collect()[0][0] is None
    with pytest.raises(PySparkException, match="strategy 'BEST' is unknown; known are AVG, AVG_BY_CIRCLE"):
        spark.sql(f"SELECT allocate('BEST', 'T', array('y'), {queues})").collect()


_ALLOCATE = (
    "strategy string, topic string, clients array<string>, queues array<struct<broker_name: string, queue_id: int>>"
)

IN_A_METASTORE = """
import sys
from jobs.cli import main as cli
from jobs.spark.session import open_session
from jobs.settings.load import load_settings

lake, home, what = sys.argv[1:]
settings = {
    "spark.sql.catalogImplementation": "hive",
    "spark.sql.warehouse.dir": f"{home}/warehouse",
    "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home}/metastore;create=true",
    "spark.driver.memory": "1g",
}
if what == "register":
    assigned = [f'--set=spark."{key}"={value}' for key, value in settings.items()]
    sys.exit(cli.main(["register", "--lake", lake, "--database", "kept", *assigned]))
spark = open_session(settings)
print(sorted(row.tableName for row in spark.sql("SHOW TABLES IN kept").collect()))
print(spark.sql("SELECT broker_name, isolated_producer_minutes FROM kept.worst_brokers").collect())
print(spark.sql("SELECT kept.java_hash_code('polygenelubricants'), kept.not_available_duration(3000, 'P1')").collect())
print([row["comment"] for row in spark.sql("DESCRIBE kept.worst_brokers").collect()][:1])
print([row["comment"] for row in spark.sql("DESCRIBE kept.broker_windows").collect()][:1])
"""


def _in_a_metastore(lake: LiteralLake, home: Path, what: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_METASTORE, str(lake.folder), str(home), what],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow  # two sessions of their own
def test_a_hive_metastore_keeps_it_for_another_session(lake: LiteralLake, tmp_path: Path) -> None:
    told = _in_a_metastore(lake, tmp_path, "register")
    assert told.startswith("Registered in database kept")
    assert "lives in memory" not in told
    tables, rows, functions, of_view, of_table = _in_a_metastore(lake, tmp_path, "read").splitlines()
    assert "'isolation_intervals'" in tables
    assert "'worst_brokers'" in tables
    assert rows == "[Row(broker_name='broker-a', isolated_producer_minutes=1.5)]"
    assert functions.count("-2147483648") == 1
    assert "=180000)" in functions
    assert (of_view, of_table) == ("['UTC day']", "['UTC day of the row; the partition']")
