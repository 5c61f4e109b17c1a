"""Spark's own cluster on loopback: a master and workers, each with one executor for each application."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark

from jobs.spark.delta_jars import delta_jars
from jobs.spark.environment import java_command
from tests.given.driven_client import SHORT
from tests.given.processes import children, is_listening, text, wait_until
from tests.stores.programs import Running
from tests.stores.servers import ROOT, Servers, free_port

HOME = Path(str(pyspark.__file__)).parent
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_COMPILES_LITTLE = "-XX:TieredStopAtLevel=1"  # Java's second compiler would take a third of the CPU and more
_LAUNCHED = {
    "spark.executor.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": _COMPILES_LITTLE,
    "spark.executor.extraJavaOptions": _COMPILES_LITTLE,
}


class Standalone(Servers):
    """A master and two workers of one core."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._port = free_port()
        self._archive = folder / "faultline.zip"

    def bring_up(self) -> None:
        pack(self._archive)
        self._start("master", "master.Master", "--port", f"{self._port}")
        wait_until(lambda: is_listening(self._port), "a master")
        for number in (1, 2):
            self.start_worker(number)

    def start_worker(self, number: int) -> None:
        """Start it, and wait until the master knows it."""
        name, before = f"worker {number}", self._known()
        work = self.folder / name
        self._start(name, "worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", f"{work}", self._uri)
        wait_until(lambda: self._known() > before, name)

    def executors(self) -> list[int]:
        """Those that run below workers, the first worker's first."""
        workers = [name for name in ("worker 1", "worker 2") if name in self._processes]
        below = [each for name in workers for each in children(self.process(name))]
        return [each for each in below if _EXECUTOR in text(Path(f"/proc/{each}/cmdline"))]

    def submit(self, folder: Path, *arguments: object) -> Running:
        """The packaged program by spark-submit; what executors need comes with it."""
        folder.mkdir(parents=True)
        options = ("--master", self._uri, "--deploy-mode", "client")
        return submit(folder, self._archive, options, _LAUNCHED, arguments)

    @property
    def _uri(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def _start(self, name: str, program: str, *arguments: str) -> None:
        command = [java_command(), *SHORT, "-Xmx512m", "-cp", f"{HOME}/jars/*", f"org.apache.spark.deploy.{program}"]
        self.start(name, [*command, "--host", "127.0.0.1", "--webui-port", "0", *arguments], _environ())

    def _known(self) -> int:
        return self.said("master").count("Registering worker")


def submit(
    folder: Path,
    archive: Path,
    options: Sequence[object],
    launched: Mapping[str, str],
    arguments: Sequence[object],
    **more: str,
) -> Running:
    """The packaged program by spark-submit, with its options, settings, and further variables of its environment."""
    settings = [word for name, value in launched.items() for word in ("--conf", f"{name}={value}")]
    command = [
        HOME / "bin/spark-submit", *options, *settings, "--py-files", archive,
        "--jars", ",".join(map(str, delta_jars())), ROOT / "bin/submit.py", *arguments,
    ]  # fmt: skip
    return Running(command, folder, _environ() | more)


def _environ() -> dict[str, str]:
    outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FAULTLINE_HOME")}
    here = {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SCALA_VERSION": "2.13"}
    return outside | here | {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


def pack(archive: Path) -> None:
    """The program as `--py-files` takes it, as `make package` makes it."""
    folder = archive.parent / "dist"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    shutil.copy(next(folder.glob("*.whl")), archive)
