"""The server's door, over a plain session in this JVM: who comes in, and what becomes of a question when they go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.serving.read_only import compiled
from jobs.serving.thrift import CLIENTS_BRING

ENDLESS = "SELECT count(*) FROM range(1000000000000000) WHERE sqrt(id) < 0"


class RawClient:
    """A client that speaks Thrift itself, so that it can say what no driver does, and go without a word."""

    def __init__(self, spark: SparkSession, port: int) -> None:
        jvm: Any = spark._jvm
        self.thrift = jvm.org.apache.hive.service.rpc.thrift
        self.socket = jvm.org.apache.thrift.transport.TSocket("127.0.0.1", port, 120_000)
        transport = jvm.org.apache.hive.service.auth.PlainSaslHelper.getPlainTransport("u", "p", self.socket)
        transport.open()
        protocol = jvm.org.apache.thrift.protocol.TBinaryProtocol(transport)
        self.service = getattr(self.thrift, "TCLIService$Client")(protocol)

    def open(self, **configuration: str) -> Any:
        request = self.thrift.TOpenSessionReq(self.thrift.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V8)
        request.setConfiguration(configuration)
        return self.service.OpenSession(request)

    def send(self, sql: str, *, waits: bool) -> None:
        """Ask, and do not wait for the answer."""
        request = self.thrift.TExecuteStatementReq(self.open().getSessionHandle(), sql)
        request.setRunAsync(not waits)
        self.service.send_ExecuteStatement(request)


@pytest.fixture(scope="module")
def door(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("door")
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", str(folder / "derby.log"))  # type: ignore[union-attr]
    session: Any = spark._jsparkSession.newSession()
    for name, value in _needs(folder).items():
        session.conf().set(name, value)
    opened: Any = compiled(spark._jvm, "Door").newInstance()
    opened.open(session, set(CLIENTS_BRING))
    yield opened
    opened.close()


def _needs(folder: Path) -> dict[str, str]:
    return {
        "hive.server2.thrift.bind.host": "127.0.0.1",
        "hive.server2.thrift.port": "0",
        "hive.server2.logging.operation.enabled": "false",
        "hive.exec.scratchdir": str(folder / "hive"),
        "hive.exec.local.scratchdir": str(folder / "local"),
        "hive.downloaded.resources.dir": str(folder / "resources"),
        "hive.querylog.location": str(folder / "log"),
    }


@pytest.mark.fault(37)
@pytest.mark.parametrize(
    "key",
    ["set:system:faultline.x", "set:env:X", "set:hivevar:x", "set:metaconf:hive.x", "set:x", "faultline.x"],
)
def test_a_client_brings_no_settings(spark: SparkSession, door: Any, key: str) -> None:
    answer = RawClient(spark, door.port()).open(**{key: "y"})
    assert answer.getStatus().getStatusCode().toString() == "ERROR_STATUS"
    assert answer.getStatus().getErrorMessage() == f"this server keeps its own settings; connect without [{key}]"
    assert answer.getSessionHandle() is None
    assert spark._jvm.java.lang.System.getProperty("faultline.x") is None  # type: ignore[union-attr]


def _until(done: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.1)
    return done()


@pytest.mark.fault(32)
@pytest.mark.parametrize("waits", [True, False], ids=["PyHive", "JDBC"])
def test_a_question_ends_when_its_client_is_gone(spark: SparkSession, door: Any, waits: bool) -> None:  # noqa: FBT001
    jobs = spark.sparkContext.statusTracker().getActiveJobsIds
    assert _until(lambda: not jobs() and not door.work(), 30)
    client = RawClient(spark, door.port())
    client.send(ENDLESS, waits=waits)
    assert _until(lambda: bool(jobs() and door.work()), 120)
    client.socket.close()
    assert _until(lambda: not jobs() and not door.work(), 30)


def test_a_client_that_waits_gets_its_answer_and_its_error(spark: SparkSession, door: Any) -> None:
    client = RawClient(spark, door.port())
    client.send("SELECT 1", waits=True)
    assert client.service.recv_ExecuteStatement().getStatus().getStatusCode().toString() == "SUCCESS_STATUS"
    client.send("SELECT nonsense", waits=True)
    answer = client.service.recv_ExecuteStatement()
    assert "UNRESOLVED_COLUMN" in answer.getStatus().getErrorMessage()
    assert answer.getOperationHandle() is None
