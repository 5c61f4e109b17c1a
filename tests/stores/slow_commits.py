"""A proxy before an S3 server that delays commits: a PUT into a `_delta_log` waits before it is passed on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class SlowCommits(ThreadingHTTPServer):
    """The proxy.

    Attributes:
        first: set as the first commit comes.
        commits: how many have come.
    """

    daemon_threads = True

    def __init__(self, server_port: int, delay_s: float) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.port_behind, self.delay_s, self.first, self.commits = server_port, delay_s, threading.Event(), 0


class _Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SlowCommits

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        path = urlsplit(self.path).path
        if self.command == "PUT" and "/_delta_log/" in path and path.endswith(".json"):
            self.server.commits += 1
            self.server.first.set()
            time.sleep(self.server.delay_s)
        behind = HTTPConnection("127.0.0.1", self.server.port_behind, timeout=120)
        behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():  # as they are signed, the host too
            if name.lower() not in ("expect", "connection"):
                behind.putheader(name, value)
        behind.endheaders(body)
        answer = behind.getresponse()
        content = answer.read()
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or f"{len(content)}")
        self.end_headers()
        self.wfile.write(content)
        behind.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass  # noqa: N815 - the server's names

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def slow_commits(server_port: int, delay_s: float = 2.0) -> Iterator[SlowCommits]:
    """The proxy, as long as the block runs."""
    with SlowCommits(server_port, delay_s) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield proxy
        proxy.shutdown()
