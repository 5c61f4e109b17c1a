"""A bucket of S3 in a process of its own, as delta-rs may keep Python's lock while it waits for an answer.

`python tests/given/bucket.py ROOT ASKED [REFUSES]` prints its port, and appends to ASKED the `Authorization`, method
and path of what it is asked; with REFUSES all is answered with 403 and that text, else what has `closed` in its name.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

S3A = "spark.hadoop.fs.s3a."
KEY, SECRET = "AKIAEXAMPLE12345", "s3cr3t/0123456789"
CREDENTIALS = {f"{S3A}access.key": KEY, f"{S3A}secret.key": SECRET}


class Bucket(BaseHTTPRequestHandler):
    """The files below `root` as objects of a bucket: GET, HEAD and the list of a prefix."""

    root, asked, refuses = Path(), Path(), b""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        with self.asked.open("a", encoding="utf-8") as file_of_asked:
            file_of_asked.write(f"{self.headers.get('Authorization')} {self.command} {url.path}\n")
        if self.refuses or ("closed" in url.path):
            self._answer(403, self.refuses or b"<Error><Code>AccessDenied</Code></Error>")
        elif not unquote(url.path).startswith("/bucket"):
            self._answer(404, b"<Error><Code>NoSuchBucket</Code></Error>")
        elif "list-type" in (query := parse_qs(url.query)):
            self._answer(200, self._listed(query.get("prefix", [""])[0], "delimiter" in query))
        elif (file := self.root / unquote(url.path).removeprefix("/bucket/")).is_file():
            whole, (first, _, last) = file.read_bytes(), self.headers.get("Range", "bytes=0-")[6:].partition("-")
            start = int(first) if first else len(whole) - int(last)
            end = int(last) + 1 if first and last else len(whole)
            self._answer(206 if "Range" in self.headers else 200, whole[start:end], f"{start}-{end - 1}/{len(whole)}")
        else:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    do_HEAD = do_GET  # noqa: N815 - the server's name

    def _listed(self, prefix: str, one_level: bool) -> bytes:  # noqa: FBT001 - of this file alone
        folder = self.root / prefix
        inside = sorted(folder.glob("*" if one_level else "**/*")) if folder.is_dir() else []
        found = [file for file in inside if file.is_file()]
        keys = "".join(
            f"<Contents><Key>{escape(f'{file.relative_to(self.root)}')}</Key><Size>{file.stat().st_size}</Size>"
            "<LastModified>2026-03-02T00:00:00.000Z</LastModified><ETag>e</ETag></Contents>"
            for file in found
        )
        folders = "".join(
            f"<CommonPrefixes><Prefix>{escape(f'{file.relative_to(self.root)}')}/</Prefix></CommonPrefixes>"
            for file in inside
            if one_level and file.is_dir()
        )
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{keys}{folders}</ListBucketResult>".encode()

    def _answer(self, status: int, body: bytes, content_range: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", f"{len(body)}")
        self.send_header("Last-Modified", "Mon, 02 Mar 2026 00:00:00 GMT")
        self.send_header("ETag", '"e"')
        if status == 206:
            self.send_header("Content-Range", f"bytes {content_range}")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(root: Path, refuses: str = "") -> Iterator[tuple[dict[str, str], Path]]:
    """Spark's settings of a store with these files, and where it notes what it was asked."""
    asked = root / "asked"
    arguments = [sys.executable, __file__, str(root), str(asked), refuses]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            yield CREDENTIALS | {f"{S3A}endpoint": f"http://127.0.0.1:{server.stdout.readline().strip()}"}, asked
        finally:
            server.kill()


if __name__ == "__main__":
    Bucket.root, Bucket.asked, Bucket.refuses = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3].encode()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    print(server.server_port, flush=True)
    server.serve_forever()
