"""`faultline serve` as a process of its own, asked over JDBC and by beeline while a run writes to its lake."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jobs.cli import main as cli
from jobs.tables import TABLES
from tests.given.lakes import LiteralLake
from tests.given.served import Ask, Served, client
from tests.given.served_sql import QUESTIONS, REFUSED
from tests.given.site import D1, D2, Site, at, send


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Site:
    return _one_night(spark, tmp_path_factory.mktemp("serve"))


def _one_night(spark: SparkSession, folder: Path) -> Site:
    """A lake with one night, and the log of the next."""
    made = Site(spark, folder)
    lake = LiteralLake(made.lake)
    (made.folder / "secret.txt").write_text("secret\n", encoding="utf-8")
    lake.add("run_log", D1, {"run_id": "r", "flow": "FAULT_LATENCY", "status": "SUCCEEDED"})
    lake.add("sends", D1, {"client_id": "p1"})
    lake.add("broker_windows", D1, {"broker_name": "broker-a", "isolated_ms": 600_000})
    made.log([send(at(D2, "12:00:00"), 3_000, "RemotingTimeoutException", client_version="4.9.8")])
    return made


@pytest.fixture(scope="module")
def server(site: Site) -> Iterator[Served]:
    started = Served(site.lake, site.folder / "server")
    yield started
    started.end()


@pytest.fixture(scope="module")
def connect(spark: SparkSession, server: Served) -> Callable[[str], Ask]:
    """Open a connection, with more of the URL if need be."""

    def connected(more: str) -> Ask:
        return client(spark, server.url + more)

    return connected


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


def test_what_dashboards_ask_of_a_catalog_is_answered(spark: SparkSession, server: Served, ask: Ask) -> None:
    assert ("faultline",) in ask("SHOW DATABASES")
    assert ("broker_name", "string", "broker name") in ask("DESCRIBE broker_windows")
    assert ask("EXPLAIN SELECT count(*) FROM sends")
    jvm: Any = spark._jvm
    columns = (
        jvm.java.sql.DriverManager.getConnection(server.url)
        .getMetaData()
        .getColumns(None, "faultline", "worst_brokers", "%")
    )
    names = []
    while columns.next():
        names.append((columns.getString("COLUMN_NAME"), columns.getString("REMARKS")))
    assert ("broker_name", "broker") in names


@pytest.mark.fault(29, 37)
@pytest.mark.parametrize("sql", REFUSED)
def test_nothing_but_questions_about_the_tables(site: Site, ask: Ask, sql: str) -> None:
    version = site.version("sends")
    with pytest.raises(Py4JJavaError) as refused:
        ask(sql.format(secret=site.folder / "secret.txt", lake=site.lake))
    said = str(refused.value.java_exception)
    assert re.search(r"is refused|TABLE_OR_VIEW_NOT_FOUND|UNSUPPORTED_FEATURE.SQL_SCRIPTING", said), said
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


class Listener(BaseHTTPRequestHandler):
    """Remembers what it is asked for."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_error(404)


@pytest.mark.fault(37)
def test_no_url_is_fetched(ask: Ask) -> None:
    with HTTPServer(("127.0.0.1", 0), Listener) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{web.server_port}"
        for sql in (
            f"SELECT from_xml('<a/>', 'x INT', map('rowValidationXSDPath', '{url}/a.xsd'))",
            f"SELECT schema_of_xml('<a/>', map('rowValidationXSDPath', '{url}/a.xsd'))",
            f"SELECT xpath('<!DOCTYPE a SYSTEM \"{url}/a.dtd\"><a/>', 'a')",
        ):
            with pytest.raises(Py4JJavaError, match="is refused on this server"):
                ask(sql)
        web.shutdown()
    assert Listener.asked == []


@pytest.mark.fault(37)
def test_a_text_is_what_it_says(ask: Ask) -> None:
    names = ["${env:AWS_SECRET_ACCESS_KEY}", "${system:user.home}", "${spark.sql.warehouse.dir}"]
    assert ask("SELECT " + ", ".join(f"'{name}'" for name in names)) == [tuple(names)]


@pytest.mark.fault(37)
def test_functions_are_refused_by_name_and_with_the_reason(ask: Ask) -> None:
    with pytest.raises(Py4JJavaError, match="java_method is refused on this server: it calls any static method"):
        ask("SELECT java_method('java.lang.System', 'exit', 1)")
    with pytest.raises(Py4JJavaError, match="table_changes_by_path is refused on this server: it reads tables by path"):
        ask("SELECT * FROM table_changes_by_path('/nowhere', 0)")


@pytest.mark.parametrize("sql", QUESTIONS)
def test_what_dashboards_ask_is_answered(ask: Ask, sql: str) -> None:
    ask(sql)


@pytest.mark.fault(37)
@pytest.mark.parametrize(
    "more",
    [
        "?spark.sql.variable.substitute=true",
        "?spark.sql.runSQLOnFiles=true",
        "#spark.sql.variable.substitute=true",
        "?spark.sql.analyzer.singlePassResolver.enabled=true",
        "#system:spark.sql.runSQLOnFiles=true;spark.sql.runSQLOnFiles=true",
        "?hive.conf.validation=false",
    ],
)
def test_settings_that_a_client_brings_are_refused_at_the_door(connect: Callable[[str], Ask], more: str) -> None:
    with pytest.raises(Py4JJavaError, match=r"keeps its own settings; connect without \[set:hive(conf|var):"):
        connect(more)


def test_one_client_does_not_move_another(connect: Callable[[str], Ask]) -> None:
    one, other = connect(""), connect("")
    one("USE default")
    assert one("SELECT current_database()") == [("default",)]
    assert other("SELECT current_database()") == [("faultline",)]


@pytest.mark.slow  # a server of its own, and a night beside it
@pytest.mark.fault(29)
def test_a_night_published_meanwhile_is_seen_whole(spark: SparkSession, tmp_path: Path) -> None:
    site = _one_night(spark, tmp_path)
    server = Served(site.lake, site.folder / "server")
    watch, over = client(spark, server.url), threading.Event()
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
    found = client(spark, server.url)("SELECT event_date, last_night FROM worst_brokers ORDER BY event_date")
    assert found == [("2026-03-01", "false"), ("2026-03-02", "true")]
    server.end()


def test_beeline_answers(site: Site, server: Served) -> None:
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
def test_it_listens_to_this_machine_alone(server: Served) -> None:
    socket.create_connection(("127.0.0.1", server.port), timeout=30).close()
    listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    of_port = re.findall(rf"^\s*\d+: ([0-9A-F]+):{server.port:04X} \S+ 0A", listening, re.MULTILINE)
    assert of_port
    assert set(of_port) <= {"0100007F", "0000000000000000FFFF00000100007F"}


@pytest.mark.last
def test_a_signal_ends_it_cleanly(server: Served, site: Site) -> None:
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=60) == 0
    said = (site.folder / "server/err").read_text()
    assert said.rstrip().endswith("faultline serve: stopped")
    assert "Traceback" not in said
    time.sleep(0.1)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", server.port), timeout=30)
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
    assert "--time-limit-s 0 is no limit; give 1 to" in _refusal(capsys, "--time-limit-s", "0")
    assert "--result-limit-mb -1 is no limit" in _refusal(capsys, "--result-limit-mb", "-1")
    assert "database 'x; DROP' is no name" in _refusal(capsys, "--database", "x; DROP")
