"""`faultline serve` with little memory and little patience: what one client asks does not take the others' server."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jobs.errors import PlatformError
from jobs.serving.watch import Restarts
from tests.given.lakes import LiteralLake
from tests.given.processes import children, text
from tests.given.served import Served, client
from tests.given.site import D1

LIMIT_S = 25


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("limits")
    lake = LiteralLake(folder / "lake")
    lake.add("run_log", D1, {"run_id": "r", "flow": "FAULT_LATENCY", "status": "SUCCEEDED"})
    started = Served(
        lake.folder, folder / "server", "--time-limit-s", str(LIMIT_S), "--result-limit-mb", "4", memory="600m"
    )
    yield started
    started.end()


def _fails(spark: SparkSession, server: Served, sql: str, saying: str) -> float:
    """Seconds until the question failed; another client gets its answer afterwards."""
    starts, before = server.said().count("starting anew"), time.monotonic()
    with pytest.raises(Py4JJavaError, match=saying):
        client(spark, server.url)(sql)
    took = time.monotonic() - before
    assert client(spark, server.url)("SELECT 1") == [("1",)]
    assert server.said().count("starting anew") == starts
    return took


@pytest.mark.fault(32)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeat('x', 2000000000)",
        "SELECT length(repeat('x', 2000000000 + CAST(id AS INT))) FROM range(1)",
        "SELECT sequence(1, 1000000000)",
        pytest.param(
            "SELECT length(concat_ws('', collect_list(repeat('x', 100000)))) FROM range(100000)",
            marks=pytest.mark.slow,  # may take the whole limit
        ),
    ],
)
def test_a_question_without_memory_fails_alone(spark: SparkSession, server: Served, sql: str) -> None:
    _fails(
        spark, server, sql, "memory|heap|array size|Unable to acquire|timed out|CANNOT_GROW|MAX_RECORD|too large|LIMIT"
    )


@pytest.mark.fault(32)
def test_an_answer_has_a_size(spark: SparkSession, server: Served) -> None:
    _fails(spark, server, "SELECT uuid() FROM range(1000000)", r"spark\.driver\.maxResultSize")


@pytest.mark.fault(32)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(1000000000000000) WHERE sqrt(id) < 0",
        pytest.param(
            "SELECT allocate('{\"name\": \"CONSISTENT_HASH\", \"virtual_nodes\": 100000000}', 'T', array('a', 'b'),"
            " array(named_struct('broker_name', 'a', 'queue_id', CAST(id AS INT)))) FROM range(1)",
            marks=pytest.mark.slow,  # the limit once more
        ),
    ],
    ids=["Spark", "Python"],
)
def test_a_question_has_a_time(spark: SparkSession, server: Served, sql: str) -> None:
    took = _fails(spark, server, sql, "timed out")
    assert took >= LIMIT_S - 1
    assert _idle(server, 30)


def _idle(server: Served, seconds: float) -> bool:
    """The server's processes use no more time: nothing goes on behind the client's back."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = _cpu_s(server)
        time.sleep(2)
        if _cpu_s(server) - before < 1:
            return True
    return False


def _cpu_s(server: Served) -> float:
    stats = [text(Path(f"/proc/{process}/stat")) for process in children(server.process.pid)]
    ticks = [sum(map(int, stat.rsplit(")", 1)[1].split()[11:13])) for stat in stats if stat]
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow  # the limit, the minute after it, and the start
@pytest.mark.fault(32)
@pytest.mark.parametrize("text", ["repeat('a', 45)", "repeat('a', 45 + CAST(id AS INT))"], ids=["planning", "task"])
def test_what_cannot_be_stopped_ends_with_the_jvm(spark: SparkSession, server: Served, text: str) -> None:
    with pytest.raises(Py4JJavaError, match="timed out"):
        client(spark, server.url)(f"SELECT count(*) FROM range(1) WHERE concat({text}, '!') RLIKE r'(a*)*b\\1'")
    assert server.next_url() == server.url
    assert "faultline serve: a question could not be stopped; starting anew" in server.said()
    assert client(spark, server.url)("SELECT 1") == [("1",)]


@pytest.mark.last
@pytest.mark.fault(32)
def test_a_jvm_that_dies_is_started_anew_at_the_same_port_and_ends_cleanly(spark: SparkSession, server: Served) -> None:
    jvm = next(each for each in children(server.process.pid) if text(Path(f"/proc/{each}/comm")) == "java\n")
    os.kill(jvm, signal.SIGKILL)
    assert server.next_url() == server.url
    sentence = "faultline serve: its JVM ended, or does not answer; starting anew at the same port"
    assert re.search(rf"{sentence} \([1-5] of 5 times in a row\)", server.said())
    assert client(spark, server.url)("SELECT 1") == [("1",)]
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=60) == 0
    assert server.said().rstrip().endswith("faultline serve: stopped")
    assert "Traceback" not in server.said()


@pytest.mark.fault(32, simulated="the minutes between the server's starts")
def test_it_gives_up_after_five_starts_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("jobs.serving.watch.time.monotonic", lambda: clock[0])
    restarts = Restarts()
    for count in (1, 2, 3, 4, 5):
        assert restarts.another("x") == f"x; starting anew at the same port ({count} of 5 times in a row)"
    clock[0] += 601
    assert "(1 of 5 " in restarts.another("x")
    for _ in range(4):
        restarts.another("x")
    with pytest.raises(PlatformError, match="the server ended 6 times in a row, now as x; give it more"):
        restarts.another("x")
