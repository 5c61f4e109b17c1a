"""A real name server and real brokers of one release on loopback; their jars come by Maven."""

from __future__ import annotations

import json
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from jobs.collect.cluster import TOPIC_ROUTE
from jobs.collect.remoting import Answer, Connection, Security
from jobs.spark.environment import java_command
from tests.given.driven_client import OPENS
from tests.given.maven import ROCKETMQ, jars_by_maven
from tests.given.processes import BroughtUp, is_listening, wait_until

_START_SECONDS = 60
_MAKE_TOPIC, _CONFIGURE = 17, 25  # RequestCode: UPDATE_AND_CREATE_TOPIC, UPDATE_BROKER_CONFIG
# Brokers of 4.x were written for Java 8: they close the files that they map by what Java 17 keeps to itself.
_EXPORTS = (*(f"--add-exports=java.base/{each}=ALL-UNNAMED" for each in ("sun.nio.ch", "jdk.internal.ref")), *OPENS)


def server_jars(version: str, root: Path) -> Path:
    """The folder with the jars of name server, broker and client."""
    folder = root / ".faultline" / "server-jars" / version
    jars_by_maven(folder, ROCKETMQ, ("rocketmq-namesrv", "rocketmq-broker", "rocketmq-client"), version)
    return folder


@dataclass(frozen=True)
class Secured:
    """What servers are started with beyond the usual, and how they are asked then."""

    broker_settings: Mapping[str, str] = field(default_factory=dict)
    broker_files: Mapping[str, str] = field(default_factory=dict)
    java_options: Sequence[str] = ()
    asked_with: Security = field(default_factory=Security)


class _WithBody(Connection):
    """A connection whose requests have a body, which no request of the collector has."""

    def call_with(self, code: int, body: str) -> Answer:
        """Send a request without fields and wait for the answer."""
        header = {"code": code, "language": "PYTHON", "version": 0, "opaque": 1, "flag": 0, "extFields": {}}
        packed = json.dumps({**header, "serializeTypeCurrentRPC": "JSON"}).encode()
        stream = self._opened()
        stream.write(struct.pack(">II", 4 + len(packed) + len(body), len(packed)) + packed + body.encode())
        stream.flush()
        return self._answer(stream, 1)


class RealCluster(BroughtUp):
    """Servers below a folder: a process each, killed as a machine would end it.

    Args:
        jars: of every server that has no release of its own.
        folder: where servers keep what they store.
        brokers: names.
        secured: what servers are started with beyond the usual.
        own_jars: by broker, those of another release.
        heap: of each server.
    """

    def __init__(
        self,
        jars: Path,
        folder: Path,
        brokers: Sequence[str],
        secured: Secured = Secured(),
        own_jars: Mapping[str, Path] | None = None,
        heap: str = "512m",
    ) -> None:
        first = _free_ports()
        self._jars, self._folder, self._secured, self._heap = jars, folder, secured, heap
        self._own_jars = own_jars or {}
        self._ports = {name: first + 10 * place for place, name in enumerate(("", *brokers))}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def bring_up(self) -> None:
        """The name server, then the brokers, until it knows them."""
        self.start("")
        self.start(*filter(None, self._ports))
        self._wait_until_known()

    def stop(self) -> None:
        """Kill every server."""
        for name in list(self._processes):
            self.kill(name)

    def address(self, name: str = "") -> str:
        """HOST:PORT of a broker; of the name server for no name."""
        return f"127.0.0.1:{self._ports[name]}"

    def start(self, *names: str) -> None:
        """Start the name server, or brokers, and wait until they listen."""
        for name in names:
            self._spawn(name)
        for name in names:
            port = self._ports[name]
            wait_until(partial(is_listening, port), f"somebody listens at {port}", _START_SECONDS)

    def _spawn(self, name: str) -> None:
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
        jars = self._own_jars.get(name, self._jars)
        command = [
            java_command(), f"-Xmx{self._heap}", f"-Duser.home={home}", f"-Drocketmq.home.dir={home}", *_EXPORTS,
            *self._secured.java_options,
            "-cp", f"{jars}/*", f"org.apache.rocketmq.{program}", "-c", str(home / "server.conf"),
        ]  # fmt: skip
        with (home / "said.txt").open("ab") as said:
            self._processes[name] = subprocess.Popen(command, stdout=said, stderr=said)

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

    def make_topic(self, topic: str, queues: int) -> None:
        """On every broker."""
        fields = {
            "topic": topic, "defaultTopic": "TBW102", "readQueueNums": str(queues), "writeQueueNums": str(queues),
            "perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
        }  # fmt: skip
        for name in filter(None, self._ports):
            broker = Connection(self.address(name), _START_SECONDS, self._secured.asked_with)
            answer = broker.call(_MAKE_TOPIC, fields)
            broker.close()
            assert answer.code == 0, answer

    def refuse(self, name: str) -> None:
        """A broker without permission to be written to, which refuses as a slave does: 4.9.7 and 5.3.3 mind the
        permission itself for ordered topics alone (`AbstractSendMessageProcessor.msgCheck`).
        """
        self._configure(name, brokerPermission="4", brokerRole="SLAVE")

    def permit(self, *names: str) -> None:
        """Brokers take messages again."""
        for name in names:
            self._configure(name, brokerPermission="6", brokerRole="ASYNC_MASTER")

    def _configure(self, name: str, **settings: str) -> None:
        broker = _WithBody(self.address(name), _START_SECONDS, self._secured.asked_with)
        answer = broker.call_with(_CONFIGURE, "".join(f"{key}={value}\n" for key, value in settings.items()))
        broker.close()
        assert answer.code == 0, answer

    def freeze(self, name: str) -> None:
        """SIGSTOP: the system goes on taking connections, and nobody answers."""
        self._processes[name].send_signal(signal.SIGSTOP)

    def thaw(self, *names: str) -> None:
        """SIGCONT."""
        for name in names:
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
