"""A real name server and real brokers of one release on loopback; their jars come by Maven."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from jobs.collect.cluster import TOPIC_ROUTE
from jobs.collect.remoting import Connection, Security
from jobs.spark.environment import java_command
from tests.given.driven_client import OPENS

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tests</groupId><artifactId>servers</artifactId><version>1</version><dependencies>{servers}</dependencies></project>"""
_SERVER = """<dependency><groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-{name}</artifactId>
<version>{version}</version></dependency>"""
_START_SECONDS = 60
# Brokers of 4.x were written for Java 8: they close the files that they map by what Java 17 keeps to itself.
_EXPORTS = (*(f"--add-exports=java.base/{each}=ALL-UNNAMED" for each in ("sun.nio.ch", "jdk.internal.ref")), *OPENS)


def server_jars(version: str, root: Path) -> Path:
    """The folder with the jars of name server, broker and client."""
    folder = root / ".faultline" / "server-jars" / version
    if not list(folder.glob("*.jar")):
        folder.mkdir(parents=True, exist_ok=True)
        servers = "".join(_SERVER.format(name=name, version=version) for name in ("namesrv", "broker", "client"))
        (folder / "pom.xml").write_text(_POM.format(servers=servers), encoding="utf-8")
        copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
        subprocess.run(["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), *copy], check=True)
    return folder


@dataclass(frozen=True)
class Secured:
    """What servers are started with beyond the usual, and how they are asked then."""

    broker_settings: Mapping[str, str] = field(default_factory=dict)
    broker_files: Mapping[str, str] = field(default_factory=dict)
    java_options: Sequence[str] = ()
    asked_with: Security = field(default_factory=Security)


class RealCluster:
    """Servers below a folder: a process each, killed as a machine would end it."""

    def __init__(self, jars: Path, folder: Path, brokers: Sequence[str], secured: Secured = Secured()) -> None:
        first = _free_ports()
        self._jars, self._folder, self._secured = jars, folder, secured
        self._ports = {name: first + 10 * place for place, name in enumerate(("", *brokers))}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            for name in self._ports:
                self.start(name)
            self._wait_until_known()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Kill every server."""
        for name in list(self._processes):
            self.kill(name)

    def address(self, name: str = "") -> str:
        """HOST:PORT of a broker; of the name server for no name."""
        return f"127.0.0.1:{self._ports[name]}"

    def start(self, name: str) -> None:
        """Start the name server, or a broker, and wait until it listens."""
        home = self._folder / (name or "namesrv")
        (home / "conf").mkdir(parents=True, exist_ok=True)
        for program in ("namesrv", "broker"):  # 4.x does not start without
            (home / "conf" / f"logback_{program}.xml").write_text("<configuration/>")
        settings = {"listenPort": str(self._ports[name])}
        if name:
            settings |= {
                "brokerClusterName": "lab", "brokerName": name, "brokerId": "0", "brokerIP1": "127.0.0.1",
                "namesrvAddr": self.address(), "storePathRootDir": str(home / "store"),
                "storePathCommitLog": str(home / "store/commitlog"), "mappedFileSizeCommitLog": "4194304",
                "diskMaxUsedSpaceRatio": "99", "autoCreateTopicEnable": "true", **self._secured.broker_settings,
            }  # fmt: skip
            for file, text in self._secured.broker_files.items():
                (home / "conf" / file).write_text(text)
        (home / "server.conf").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        program = "broker.BrokerStartup" if name else "namesrv.NamesrvStartup"
        command = [
            java_command(), "-Xmx512m", f"-Duser.home={home}", f"-Drocketmq.home.dir={home}", *_EXPORTS,
            *self._secured.java_options,
            "-cp", f"{self._jars}/*", f"org.apache.rocketmq.{program}", "-c", str(home / "server.conf"),
        ]  # fmt: skip
        with (home / "said.txt").open("ab") as said:
            self._processes[name] = subprocess.Popen(command, stdout=said, stderr=said)
        _wait_for(self._ports[name])

    def _wait_until_known(self) -> None:
        """A topic is made on those brokers that the name server knows when its first message is sent."""
        name_server = Connection(self.address(), _START_SECONDS, self._secured.asked_with)
        until = time.monotonic() + _START_SECONDS
        while True:
            answer = name_server.call(TOPIC_ROUTE, {"topic": "TBW102"})
            if all(f'"{name}"' in answer.body for name in self._ports if name):
                name_server.close()
                return
            assert time.monotonic() < until, answer
            time.sleep(0.2)

    def freeze(self, name: str) -> None:
        """SIGSTOP: the system goes on taking connections, and nobody answers."""
        self._processes[name].send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """SIGCONT."""
        self._processes[name].send_signal(signal.SIGCONT)

    def kill(self, name: str) -> None:
        """SIGKILL."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()


def _free_ports() -> int:
    """The first of many ports that seem to be free: brokers take those beside their own too."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return 20_000 + port % 30_000


def _wait_for(port: int) -> None:
    until = time.monotonic() + _START_SECONDS
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < until, f"nothing listens at {port}"
        time.sleep(0.2)
