"""`faultline serve` as a process of its own, asked over JDBC and by beeline while a run writes to its lake."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jobs import cli
from jobs.jars import delta_jars
from jobs.tables import TABLES
from tests.literal_lake import LiteralLake
from tests.site import D1, D2, Site, at, send

ROOT = Path(__file__).parents[2]
Ask = Callable[[str], list[tuple[str | None, ...]]]


class Server:
    """The process, and the URL it told."""

    def __init__(self, lake: Path, folder: Path) -> None:
        folder.mkdir()
        options = ["--lake", str(lake), "--port", "0", "--set", 'spark."spark.driver.memory"=1g']
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jobs.cli", "serve", *options],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "FAULTLINE_CACHE": str(delta_jars()[0].parent)},
            stdout=subprocess.PIPE,
            stderr=os.open(folder / "err", os.O_CREAT | os.O_WRONLY),
            text=True,
        )
        assert self.process.stdout
        ready = self.process.stdout.readline()
        assert "ready at" in ready, (folder / "err").read_text()
        self.url = re.findall(r"jdbc:hive2://\S+", ready)[0]

    @property
    def port(self) -> int:
        return int(self.url.split(":")[3].split("/")[0])


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A lake with one night."""
    made = Site(spark, tmp_path_factory.mktemp("serve"))
    lake = LiteralLake(made.lake)
    (made.folder / "secret.txt").write_text("secret\n", encoding="utf-8")
    lake.add("run_log", D1, {"run_id": "r", "flow": "FAULT_LATENCY", "status": "SUCCEEDED"})
    lake.add("sends", D1, {"client_id": "p1"})
    lake.add("broker_windows", D1, {"broker_name": "broker-a", "isolated_ms": 600_000})
    made.log([send(at(D2, "12:00:00"), 3_000, "RemotingTimeoutException", client_version="4.9.8")])
    return made


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[Server]:
    started = Server(site.lake, site.folder / "server")
    yield started
    started.process.kill()
    started.process.wait()


@pytest.fixture(scope="module")
def connect(spark: SparkSession, server: Server) -> Callable[[str], Ask]:
    """Open a connection, with more of the URL if need be; an answer is rows of texts."""
    jvm: Any = spark._jvm
    jvm.java.lang.Class.forName("org.apache.hive.jdbc.HiveDriver")

    def opened(more: str = "") -> Ask:
        connection = jvm.java.sql.DriverManager.getConnection(server.url + more, "anyone", "")
        return lambda sql: rows_of(connection.createStatement().executeQuery(sql))

    def rows_of(result: Any) -> list[tuple[str | None, ...]]:
        rows = []
        while result.next():
            rows.append(tuple(result.getString(place + 1) for place in range(result.getMetaData().getColumnCount())))
        return rows

    return opened


@pytest.fixture(scope="module")
def ask(connect: Callable[[str], Ask]) -> Ask:
    return connect("")


def test_tables_views_and_functions_answer(ask: Ask) -> None:
    assert {table.name for table in TABLES} <= {row[1] for row in ask("SHOW TABLES")}
    assert ask("SELECT broker_name, isolated_producer_minutes FROM worst_brokers WHERE last_night") == [
        ("broker-a", "10.0")
    ]
    assert ask("SELECT max(event_date), count(*) FROM sends WHERE event_date >= '2026-03-01'") == [("2026-03-01", "1")]
    assert ask("SELECT java_hash_code('ab'), not_available_duration(3000, 'P1')") == [("3105", "180000")]
    inline = "inline(allocate('AVG', 'T', array('y', 'x'), array(named_struct('broker_name', 'a', 'queue_id', 7))))"
    assert ask(f"SELECT client_id, queues.queue_id FROM (SELECT {inline})") == [("x", "[7]"), ("y", "[]")]


def test_what_dashboards_ask_of_a_catalog_is_answered(spark: SparkSession, server: Server, ask: Ask) -> None:
    assert ("faultline",) in ask("SHOW DATABASES")
    assert ("broker_name", "string", "broker name") in ask("DESCRIBE broker_windows")
    assert ask("EXPLAIN SELECT count(*) FROM sends")
    jvm: Any = spark._jvm
    told = (
        jvm.java.sql.DriverManager.getConnection(server.url)
        .getMetaData()
        .getColumns(None, "faultline", "worst_brokers", "%")
    )
    names = []
    while told.next():
        names.append((told.getString("COLUMN_NAME"), told.getString("REMARKS")))
    assert ("broker_name", "broker") in names


REFUSED = [
    "INSERT INTO run_log SELECT * FROM run_log",
    "DELETE FROM sends",
    "UPDATE sends SET topic = 'x'",
    "TRUNCATE TABLE sends",
    "DROP TABLE sends",
    "DROP DATABASE faultline CASCADE",
    "ALTER TABLE sends SET TBLPROPERTIES ('a' = 'b')",
    "CREATE TABLE t (x INT) USING parquet",
    "CREATE TABLE t USING text LOCATION '{secret}'",
    "CREATE TEMPORARY VIEW t USING text OPTIONS (path '{secret}')",
    "CREATE TEMPORARY VIEW t AS SELECT 1",
    "INSERT OVERWRITE LOCAL DIRECTORY '{lake}' USING text SELECT 'x'",
    "LOAD DATA LOCAL INPATH '{secret}' INTO TABLE sends",
    "SELECT * FROM text.`{secret}`",
    "SELECT * FROM delta.`{lake}/sends`",
    "SELECT (SELECT max(value) FROM text.`{secret}`)",
    "SELECT * FROM table_changes_by_path('{lake}/sends', 0)",
    "DESCRIBE HISTORY '{lake}/sends'",
    "VACUUM sends",
    "OPTIMIZE sends",
    "SELECT TRANSFORM (1) USING 'cat {secret}'",
    "SELECT count(*) FROM (SELECT TRANSFORM (1) USING 'cat {secret}')",
    "SELECT 1 WHERE 1 IN (SELECT TRANSFORM (1) USING 'cat {secret}')",
    "SELECT reflect('java.lang.System', 'getProperty', 'user.home')",
    "SELECT java_method('java.lang.System', 'exit', 1)",
    "SELECT try_reflect('java.lang.System', 'getProperty', 'user.home')",
    "SET spark.sql.runSQLOnFiles = true",
    "RESET",
    "ADD JAR '{secret}'",
    "ADD FILE '{secret}'",
    "CREATE FUNCTION f AS 'java.lang.String'",
    "CREATE FUNCTION f() RETURNS INT RETURN 1",
    "CACHE TABLE sends",
    "EXECUTE IMMEDIATE 'DELETE FROM sends'",
    "BEGIN DELETE FROM sends; END",
    "WITH q AS (SELECT 1) INSERT INTO run_log SELECT * FROM run_log",
]


@pytest.mark.fault(29, 37)
@pytest.mark.parametrize("sql", REFUSED)
def test_nothing_but_questions_about_the_tables(site: Site, ask: Ask, sql: str) -> None:
    version = site.version("sends")
    with pytest.raises(Py4JJavaError) as refused:
        ask(sql.format(secret=site.folder / "secret.txt", lake=site.lake))
    said = str(refused.value.java_exception)
    assert re.search(r"is refused|TABLE_OR_VIEW_NOT_FOUND|UNRESOLVED_ROUTINE", said), said
    assert "secret\n" not in said
    assert site.version("sends") == version
    assert int(ask("SELECT count(*) FROM sends")[0][0] or 0) == 1


def test_explain_of_what_is_refused_changes_nothing(site: Site, ask: Ask) -> None:
    version = site.version("sends")
    try:
        told = str(ask("EXPLAIN DELETE FROM sends"))
    except Py4JJavaError as refused:
        told = str(refused.java_exception)
    assert "is refused" in told
    assert site.version("sends") == version


@pytest.mark.fault(37, 42)
def test_no_question_is_answered_with_the_servers_environment(connect: Callable[[str], Ask]) -> None:
    for more in ("", "#name=value"):
        assert connect(more)("SELECT '${env:PATH}', '${system:user.home}', '${name}'") == [
            ("${env:PATH}", "${system:user.home}", "${name}")
        ]


@pytest.mark.fault(37)
@pytest.mark.parametrize(
    "more",
    [
        "?spark.sql.variable.substitute=true",
        "?spark.sql.runSQLOnFiles=true",
        "#spark.sql.runSQLOnFiles=true",
        "?spark.sql.analyzer.singlePassResolver.enabled=true",
        "#spark.sql.analyzer.singlePassResolver.enabled=true;spark.sql.runSQLOnFiles=true",
        "#spark.sql.analyzer.singlePassResolver.enabledTentatively=true;spark.sql.runSQLOnFiles=true",
        "?spark.sql.catalog.x=org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        "?fs.file.impl=org.apache.hadoop.fs.RawLocalFileSystem",
    ],
)
def test_settings_that_a_client_brings_open_nothing(site: Site, connect: Callable[[str], Ask], more: str) -> None:
    for sql in ("SELECT * FROM text.`{secret}`", "CREATE TEMPORARY VIEW t USING text OPTIONS (path '{secret}')"):
        with pytest.raises(Py4JJavaError) as refused:
            connect(more)(sql.format(secret=site.folder / "secret.txt"))
        # the single-pass resolver, were it on, knows no USE: such a client does not even connect
        assert re.search("keeps its own settings|operator resolution", str(refused.value.java_exception))


def test_one_client_does_not_move_another(connect: Callable[[str], Ask]) -> None:
    one, other = connect(""), connect("")
    one("USE default")
    assert one("SELECT current_database()") == [("default",)]
    assert other("SELECT current_database()") == [("faultline",)]


@pytest.mark.slow  # a night beside the server
@pytest.mark.fault(29)
def test_a_night_published_meanwhile_is_seen_whole(site: Site, connect: Callable[[str], Ask]) -> None:
    watch, over = connect(""), threading.Event()
    counts: list[str] = []

    def watching() -> None:
        while not over.is_set():
            counts.append(str(watch("SELECT count(*) FROM isolation_intervals")[0][0]))

    watcher = threading.Thread(target=watching)
    watcher.start()
    try:
        site.run(D2)
    finally:
        over.set()
        watcher.join()
    assert len(counts) > 1
    assert (counts[0], counts == sorted(counts)) == ("0", True)
    found = connect("")("SELECT event_date, last_night FROM worst_brokers ORDER BY event_date")
    assert found == [("2026-03-01", "false"), ("2026-03-02", "true")]


def test_beeline_answers(site: Site, server: Server) -> None:
    home = Path(pyspark.__file__).parent
    done = subprocess.run(
        [home / "bin/beeline", "-u", server.url, "--silent=true", "--outputformat=tsv2", "-e",
         "SELECT broker_name, isolations FROM worst_brokers ORDER BY event_date LIMIT 1"],
        env={**os.environ, "SPARK_HOME": str(home)},
        cwd=site.folder,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert "broker-a\t0" in done.stdout, done.stdout + done.stderr


@pytest.mark.fault(44)
def test_it_listens_to_this_machine_alone(server: Server) -> None:
    socket.create_connection(("127.0.0.1", server.port), timeout=5).close()
    listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    of_port = re.findall(rf"^\s*\d+: ([0-9A-F]+):{server.port:04X} \S+ 0A", listening, re.MULTILINE)
    assert of_port
    assert set(of_port) <= {"0100007F", "0000000000000000FFFF00000100007F"}


def test_a_signal_ends_it_cleanly(server: Server, site: Site) -> None:
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=60) == 0
    said = (site.folder / "server/err").read_text()
    assert said.rstrip().endswith("faultline serve: stopped")
    assert "Traceback" not in said
    time.sleep(0.1)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", server.port), timeout=5)
    assert sorted(each.name for each in (site.folder / "server").iterdir()) == ["err"]


def _refusal(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert cli.main(["serve", "--lake", "nowhere", *options]) == 2
    return capsys.readouterr().err


@pytest.mark.fault(37, 44)
def test_an_address_that_cannot_be_served_at_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"cannot serve at 127.0.0.1:{port}: Address already in use; give another --port" in _refusal(
            capsys, "--port", port
        )
    assert "can be reached from other machines" in _refusal(capsys, "--host", "0.0.0.0", "--port", "0")
    assert "port 99999 is none" in _refusal(capsys, "--port", "99999")
    assert "cannot serve at 192.0.2.1" in _refusal(capsys, "--host", "192.0.2.1", "--port", "0")
    assert "cannot serve at no.such.host.invalid" in _refusal(capsys, "--host", "no.such.host.invalid")
    assert "database 'x; DROP' is no name" in _refusal(capsys, "--database", "x; DROP")
