"""A real S3 server on loopback, versitygw, whose bucket is a folder; Go's module proxy brings it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from pyarrow.fs import S3FileSystem

from tests.given.processes import is_listening, wait_until
from tests.stores.servers import ROOT, Servers, free_port, jars

_VERSION = "v1.8.0"
KEY, SECRET = "tests", "secret-of-tests"


class S3(Servers):
    """A server with one bucket.

    Attributes:
        bucket: the folder of its files.
        uri: of the bucket.
        port: where it listens.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.bucket, self.uri, self.port = folder / "buckets" / "lakes", "s3a://lakes", free_port()

    def bring_up(self) -> None:
        self.bucket.mkdir(parents=True)
        command = [_versitygw(), "--quiet", "--port", f"127.0.0.1:{self.port}", "posix", self.bucket.parent]
        self.start("versitygw", command, {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET})
        wait_until(lambda: is_listening(self.port), "versitygw")

    def put(self, source: Path, prefix: str) -> None:
        """Copy the files below a folder into the bucket; a file that is laid into its folder has no ETag."""
        files = filter(Path.is_file, source.rglob("*"))
        store = S3FileSystem(
            access_key=KEY,
            secret_key=SECRET,
            endpoint_override=f"127.0.0.1:{self.port}",
            scheme="http",
            region="us-east-1",
        )
        for file in files:
            with store.open_output_stream(f"lakes/{prefix}/{file.relative_to(source)}") as stream:
                stream.write(file.read_bytes())


def spark_settings(port: int) -> dict[str, str]:
    """What a site writes into `[spark]` to reach a server at the port."""
    return {
        "spark.jars": ",".join(map(str, jars("hadoop-aws", "bundle", "analyticsaccelerator-s3"))),
        "spark.hadoop.fs.s3a.endpoint": f"http://127.0.0.1:{port}",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": KEY,
        "spark.hadoop.fs.s3a.secret.key": SECRET,
    }


def _versitygw() -> Path:
    """The program, built once."""
    program = ROOT / ".faultline" / "versitygw" / _VERSION / "versitygw"
    if not program.exists():
        go = shutil.which("go")
        assert go, "no go on PATH: the S3 server of these tests is built with Go 1.24 or later; install it"
        built = {"GOBIN": str(program.parent), "GOFLAGS": "-modcacherw"}
        module = f"github.com/versity/versitygw/cmd/versitygw@{_VERSION}"
        done = subprocess.run(
            [go, "install", module], env={**os.environ, **built}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    return program
