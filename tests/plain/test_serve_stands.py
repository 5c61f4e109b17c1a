"""`serve` without a server: where it may listen, its limits, the settings it insists on, and when it ends."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from jobs.cli import main as cli
from jobs.cli import serve
from jobs.errors import AddressError, UsageError
from jobs.serving import thrift, watch
from jobs.serving.address import Address, check_address
from jobs.serving.limits import Limits
from jobs.text.progress import Progress

EVERYWHERE = "0.0.0.0"


def test_it_listens_on_this_machine_only_unless_it_is_asked_for_more() -> None:
    assert (Address().host, Address().port) == ("127.0.0.1", 10_000)
    check_address(Address(port=0), allow_remote=False)
    check_address(Address("localhost", 0), allow_remote=False)
    with pytest.raises(AddressError, match=r"host 0\.0\.0\.0 can be reached from other machines") as refused:
        check_address(Address(EVERYWHERE, 0), allow_remote=False)
    assert str(refused.value).endswith("leave --host out, or add --allow-remote if that is meant")
    check_address(Address(EVERYWHERE, 0), allow_remote=True)


def test_more_than_this_machine_is_served_when_asked_and_warned_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served: list[str] = []
    monkeypatch.setattr("jobs.spark.environment.check_environment", lambda: None)
    monkeypatch.setattr(serve, "_serve_until_stopped", lambda _, __, address, *___, **____: served.append(address.host))
    where = ["serve", "--lake", str(tmp_path), "--host", EVERYWHERE, "--port", "0"]
    assert cli.main(where) == AddressError.exit_code
    assert cli.main([*where, "--allow-remote"]) == 0
    assert served == [EVERYWHERE]
    capsys.readouterr()
    server: Any = SimpleNamespace(done=SimpleNamespace(lacking={"plain_calls": "it is broken"}))
    for host in (EVERYWHERE, "127.0.0.1"):
        serve._say_what_is_served(server, Address(host), Progress())
    assert capsys.readouterr().err.splitlines() == [
        "not served: plain_calls: it is broken",
        "WARNING: whoever reaches 0.0.0.0 can read all tables; there is no authentication",
        "not served: plain_calls: it is broken",
    ]


def test_a_name_with_one_address_beyond_this_machine_is_not_local(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(*_: object) -> list[Any]:
        return [(0, 0, 0, "", (host, 0)) for host in ("127.0.0.1", "192.0.2.1")]

    monkeypatch.setattr("jobs.serving.address.socket.getaddrinfo", both)
    assert not Address("both").is_local


def test_a_port_that_is_taken_or_none_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AddressError, match=rf"^cannot serve at 127\.0\.0\.1:{port}: Address already in use; give"):
            check_address(Address(port=port), allow_remote=False)
    check_address(Address(port=port), allow_remote=False)
    with pytest.raises(AddressError, match=r"^port 65536 is none; give 0 to 65535, 0 = any free one$"):
        check_address(Address(port=65_536), allow_remote=False)


def test_a_host_that_nobody_knows_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver's errors have negative numbers, which are none of the system's."""

    def unknown(*_: object) -> list[Any]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr("jobs.serving.address.socket.getaddrinfo", unknown)
    with pytest.raises(AddressError, match=r"^cannot serve at nowhere:1: Name or service not known; give another"):
        check_address(Address("nowhere", 1), allow_remote=False)


def test_limits_are_of_one_to_a_million() -> None:
    assert (Limits().time_s, Limits().result_mb) == (600, 256)
    assert Limits(1, 1_000_000) == Limits(time_s=1, result_mb=1_000_000)
    for time_s, result_mb, said in (
        (0, 1, "--time-limit-s 0 is no limit; give 1 to 1000000"),
        (1_000_001, 1, "--time-limit-s 1000001 is no limit"),
        (1, 0, "--result-limit-mb 0 is no limit"),
        (1, 1_000_001, "--result-limit-mb 1000001 is no limit"),
    ):
        with pytest.raises(UsageError, match=said):
            Limits(time_s, result_mb)


def test_what_a_server_insists_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The site's settings come first, so that none of these is theirs to change; its class path is kept."""
    opened: list[dict[str, str]] = []

    class NotStartedError(Exception):
        pass

    def open_session(spark: dict[str, str], **_: object) -> None:
        opened.append(spark)
        raise NotStartedError

    monkeypatch.setattr(thrift, "open_session", open_session)
    monkeypatch.setattr(thrift, "delta_jars", lambda: (Path("/jars/a.jar"), Path("/jars/b.jar")))
    site = {
        "spark.driver.extraClassPath": "/site.jar", "spark.sql.catalogImplementation": "hive",
        "spark.driver.maxResultSize": "9g", "spark.sql.runSQLOnFiles": "true", "spark.driver.memory": "3g",
    }  # fmt: skip
    settings: Any = SimpleNamespace(spark=site, lake="/lake")
    with (
        pytest.raises(NotStartedError),
        thrift.serving(settings, "faultline", Address("127.0.0.1", 10_007), Limits(30, 4)),
    ):
        pass
    (given,) = opened
    assert {name: given[name] for name in site} == {
        "spark.driver.extraClassPath": "/jars/a.jar:/jars/b.jar:/site.jar",
        "spark.sql.catalogImplementation": "in-memory", "spark.driver.maxResultSize": "4m",
        "spark.sql.runSQLOnFiles": "false", "spark.driver.memory": "3g",
    }  # fmt: skip
    assert given["spark.sql.thriftServer.queryTimeout"] == "30s"
    assert given["spark.hadoop.hive.server2.thrift.bind.host"] == "127.0.0.1"
    assert given["spark.hadoop.hive.server2.thrift.port"] == "10007"
    for off in (
        "spark.sql.scripting.enabled",
        "spark.sql.hive.thriftServer.singleSession",
        "spark.hadoop.hive.server2.logging.operation.enabled",
        "spark.databricks.delta.optimizeMetadataQuery.enabled",
    ):
        assert given[off] == "false"
    assert given["spark.sql.thriftServer.interruptOnCancel"] == "true"


class Jvm:
    """A session and a door to it, which write down what is done to them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, is_gone: bool = False) -> None:
        self.done: list[str] = []
        self._is_gone = is_gone
        self.sparkContext = SimpleNamespace(_accumulatorServer=SimpleNamespace())
        self._jvm = SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(System=self)))
        monkeypatch.setattr(thrift, "delta_jars", lambda: ())
        monkeypatch.setattr(thrift, "open_session", lambda *_, **__: self)
        monkeypatch.setattr(thrift, "register", lambda _, lake, database: f"{database} of {lake.root}")
        monkeypatch.setattr(thrift, "_open_door", lambda *_: self)
        monkeypatch.setattr(thrift, "give_back", lambda: self.done.append("given back"))
        monkeypatch.setattr(thrift, "end_jvm", lambda: self.done.append("JVM ended"))

    def setProperty(self, *_: str) -> None:  # noqa: N802 - Java's name
        """Set nothing."""

    def port(self) -> int:
        return 10_011

    def close(self) -> None:
        self.done.append("door closed")
        if self._is_gone:
            raise Py4JNetworkError("gone")

    def stop(self) -> None:
        self.done.append("session stopped")


def _served(within: BaseException | None = None) -> tuple[str, int, Any]:
    """What a client is told, by a server that listened at any free port."""
    settings: Any = SimpleNamespace(spark={}, lake="/lake")
    with thrift.serving(settings, "night", Address("127.0.0.1", 0), Limits()) as server:
        if within:
            raise within
        return server.url, server.port, server.done


def test_a_client_finds_the_port_that_was_free(monkeypatch: pytest.MonkeyPatch) -> None:
    jvm = Jvm(monkeypatch)
    assert _served() == ("jdbc:hive2://127.0.0.1:10011/night", 10_011, "night of /lake")
    assert jvm.done == ["given back", "door closed", "session stopped", "JVM ended"]


@pytest.mark.parametrize("ends", [KeyboardInterrupt(), ValueError("a bug")])
def test_its_jvm_ends_however_the_block_ends(monkeypatch: pytest.MonkeyPatch, ends: BaseException) -> None:
    jvm = Jvm(monkeypatch)
    with pytest.raises(type(ends)):
        _served(ends)
    assert jvm.done == ["given back", "door closed", "session stopped", "JVM ended"]


def test_a_jvm_that_is_gone_is_none_to_end_nicely(monkeypatch: pytest.MonkeyPatch) -> None:
    jvm = Jvm(monkeypatch, is_gone=True)
    _served()
    assert jvm.done[-1] == "JVM ended"


def test_a_session_without_a_door_is_stopped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(*_: object) -> None:
        raise AddressError("the port was taken meanwhile")

    jvm = Jvm(monkeypatch)
    monkeypatch.setattr(thrift, "_open_door", taken)
    with pytest.raises(AddressError, match="taken meanwhile"):
        _served()
    assert jvm.done == ["given back", "session stopped", "JVM ended"]


class Watched:
    """A server that works on what it is given, second by second; what is no set is an error of the JVM.

    Attributes:
        now: seconds of the clock; each look takes five.
    """

    def __init__(self, *looks: set[str] | Exception, stopped: bool = False) -> None:
        self.looks, self.now, self.stopped = list(looks), 0.0, False
        jvm_context = SimpleNamespace(isStopped=lambda: stopped)
        self.server: Any = SimpleNamespace(
            spark=SimpleNamespace(sparkContext=SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: jvm_context))),
            door=SimpleNamespace(work=self.work),
        )
        self.stop: Any = SimpleNamespace(wait=self.wait, is_set=lambda: self.stopped)

    def wait(self, seconds: float) -> bool:
        """A signal comes when there is no look left."""
        self.now += seconds
        return not self.looks

    def work(self) -> set[str]:
        look = self.looks.pop(0)
        if isinstance(look, Exception):
            raise look
        return look


@pytest.fixture
def five_seconds_each(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Watched]]:
    """The one that is watched tells the time."""
    watched: list[Watched] = []
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=lambda: watched[0].now))
    yield watched
    assert not [each for each in threading.enumerate() if "ask" in each.name]


GONE = "its JVM ended, or does not answer"
STUCK = "a question could not be stopped"
LIMITS = Limits(time_s=20)


@pytest.mark.parametrize(
    ("looks", "why"),
    [
        pytest.param([set()] * 100, None, id="nobody asks"),
        pytest.param([{"a"}, {"b"}] * 50, None, id="each question is a new one"),
        pytest.param([{"a"}] * 17, None, id="as long as the limit and a minute"),
        pytest.param([{"a"}] * 18, STUCK, id="longer than the limit and a minute"),
        pytest.param([{"a"}] * 10 + [set()] + [{"a"}] * 10, None, id="a name that comes back is a new question"),
        pytest.param([{"a", "b"}] * 3 + [{"a"}] * 15, STUCK, id="one of two"),
        pytest.param([{"a"}] * 3 + [{"a", "b"}] * 15, STUCK, id="the older of two"),
        pytest.param([set(), Py4JNetworkError("gone")], GONE, id="the JVM is gone"),
        pytest.param([ConnectionResetError()], GONE, id="the connection is gone"),
    ],
)
def test_why_a_server_ended(five_seconds_each: list[Watched], looks: list[Any], why: str | None) -> None:
    watched = Watched(*looks)
    five_seconds_each.append(watched)
    assert watch.why_it_ended(watched.server, LIMITS, watched.stop) == why


def test_a_session_that_stopped_is_a_jvm_that_ended(five_seconds_each: list[Watched]) -> None:
    watched = Watched({"a"}, {"a"}, stopped=True)
    five_seconds_each.append(watched)
    assert watch.why_it_ended(watched.server, LIMITS, watched.stop) == GONE


def test_a_signal_while_the_jvm_is_asked_is_the_signal_s_end(five_seconds_each: list[Watched]) -> None:
    """The JVM that gets it too may be gone by then."""
    watched = Watched(Py4JNetworkError("gone"))
    watched.stopped = True
    five_seconds_each.append(watched)
    assert watch.why_it_ended(watched.server, LIMITS, watched.stop) is None
