"""A name server and brokers that speak RocketMQ's remoting protocol to real clients, and do as a test says.

A frame is its length, the length of its header (the upper byte says how the header is written: 0 is JSON), the header
and the body (`RemotingCommand`, the same in 4.3.0 to 5.5.0). Nothing here is RocketMQ's own code.
"""

from __future__ import annotations

import json
import socket
import socketserver
import ssl
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROUTE = 105
CLUSTER_INFO = 106
MAX_OFFSET = 30
SENDS = {10, 310, 320, 324}  # plain, short header, batch, reply
OK = 0
SYSTEM_ERROR = 1
TOPIC_NOT_EXIST = 17
ONE_WAY = 2


@dataclass(frozen=True)
class Answer:
    """What a broker does with a message: wait, then answer with the code; or never answer at all."""

    code: int = OK
    after_ms: int = 0
    is_silent: bool = False


Behaviour = Callable[[str], Answer]
"""From the broker's name to its answer."""


def _answers_at_once(_: str) -> Answer:
    return Answer()


Administer = Callable[[str, int, Mapping[str, str]], tuple[int, str] | None]
"""From the broker's name ("" is the name server), request code and fields to code and body; None = as without it."""


def _knows_nothing(*_: object) -> None:
    return None


@dataclass
class FakeCluster:
    """Brokers by name with four queues each of every topic, and the name server that tells clients of them."""

    brokers: tuple[str, ...] = ("broker-a", "broker-b")
    behave: Behaviour = _answers_at_once
    administer: Administer = _knows_nothing
    received: list[tuple[str, int]] = field(default_factory=list)
    """Broker and request code of each message."""
    _servers: dict[str, _Server] = field(default_factory=dict)

    def __enter__(self) -> Self:
        for name in ("", *self.brokers):
            self._serve(name, 0)
        return self

    def _serve(self, name: str, port: int) -> None:
        server = _Server(("127.0.0.1", port), _Connection)
        server.answer = partial(self._answer, name)
        self._servers[name] = server
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def speak_tls(self, certificate: Path, key: Path) -> None:
        """Every new connection is encrypted."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        for server in self._servers.values():
            server.tls = context

    def kill(self, name: str) -> None:
        """Close the broker's port and its connections."""
        server = self._servers[name]
        server.shutdown()
        server.server_close()
        server.hang_up()

    def revive(self, name: str) -> None:
        """Open the broker's port again, at the same address."""
        self._serve(name, self._servers[name].server_address[1])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers.values():
            server.shutdown()
            server.server_close()
            server.hang_up()

    @property
    def name_server(self) -> str:
        return self.address("")

    def address(self, name: str) -> str:
        """HOST:PORT of a broker; of the name server for no name."""
        port = self._servers[name].server_address[1]
        return f"127.0.0.1:{port}"

    def _answer(self, name: str, header: Mapping[str, Any]) -> tuple[dict[str, Any], bytes] | None:
        code = int(header["code"])
        if (given := self.administer(name, code, header.get("extFields") or {})) is not None:
            return {"code": given[0], "remark": "as the test says"}, given[1].encode()
        if not name:
            return self._of_name_server(code, header)
        if code == MAX_OFFSET:  # what the detector asks
            return {"code": OK, "extFields": {"offset": "7"}}, b""
        if code not in SENDS:
            return {"code": OK}, b""
        self.received.append((name, code))
        answer = self.behave(name)
        time.sleep(answer.after_ms / 1000)
        if answer.is_silent:
            return None
        fields = {"msgId": "0A00000100002A9F0000000000000000", "queueId": "0", "queueOffset": "7"}
        return {"code": answer.code, "remark": "as the test says", "extFields": fields}, b""

    def _of_name_server(self, code: int, header: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        if code == CLUSTER_INFO:
            return {"code": OK}, b'{"brokerAddrTable":{},"clusterAddrTable":{}}'
        if code != ROUTE:
            return {"code": OK}, b""
        if header["extFields"]["topic"] == "TBW102":
            return {"code": TOPIC_NOT_EXIST}, b""
        queues = [
            {"brokerName": name, "perm": 6, "readQueueNums": 4, "writeQueueNums": 4, "topicSynFlag": 0}
            for name in self.brokers
        ]
        brokers = [
            {"brokerName": name, "cluster": "main", "brokerAddrs": {"0": self.address(name)}} for name in self.brokers
        ]
        route = {"brokerDatas": brokers, "queueDatas": queues, "filterServerTable": {}}
        return {"code": OK}, json.dumps(route).encode()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    answer: Callable[[Mapping[str, Any]], tuple[dict[str, Any], bytes] | None]
    tls: ssl.SSLContext | None = None

    def __init__(self, address: tuple[str, int], handler: type[socketserver.BaseRequestHandler]) -> None:
        self.connections: list[socket.socket] = []
        super().__init__(address, handler)

    def hang_up(self) -> None:
        """Close every connection, as a killed process does."""
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


class _Connection(socketserver.BaseRequestHandler):
    """One client's connection; each request is answered on a thread of its own, as a slow one must not hold others."""

    def handle(self) -> None:
        assert isinstance(self.server, _Server)
        if self.server.tls:
            try:
                self.request = self.server.tls.wrap_socket(self.request, server_side=True)
            except OSError:
                return
        self.server.connections.append(self.request)
        self.writing = threading.Lock()
        while (header := self._request()) is not None:
            threading.Thread(target=self._serve, args=(header,), daemon=True).start()

    def _request(self) -> dict[str, Any] | None:
        start = self._read(8)
        if start is None:
            return None
        length, mark = struct.unpack(">II", start)
        rest = self._read(length - 4)
        if rest is None:
            return None
        header: dict[str, Any] = json.loads(rest[: mark & 0xFFFFFF])
        return header

    def _read(self, size: int) -> bytes | None:
        got = b""
        while len(got) < size:
            try:
                more = self.request.recv(size - len(got))
            except OSError:
                return None
            if not more:
                return None
            got += more
        return got

    def _serve(self, header: dict[str, Any]) -> None:
        assert isinstance(self.server, _Server)
        answer = self.server.answer(header)
        if answer is None or header["flag"] & ONE_WAY:
            return
        reply, body = answer
        fixed = {"language": "JAVA", "version": 0, "opaque": header["opaque"], "flag": 1}
        packed = json.dumps(reply | fixed | {"serializeTypeCurrentRPC": "JSON"}).encode()
        frame = struct.pack(">II", 4 + len(packed) + len(body), len(packed)) + packed + body
        with self.writing:
            try:
                self.request.sendall(frame)
            except OSError:
                self.request.close()
