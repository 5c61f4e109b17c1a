"""The recorder's jar, and programs compiled against real client jars that it records."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.spark.delta_jars import Jar, cached
from jobs.spark.environment import java_command, spark_jars_folder
from tests.given.maven import ROCKETMQ, jars_by_maven

ROOT = Path(__file__).parents[2]
HERE = ROOT / "tests" / "recorder"
RECORDER = ROOT / "integrations" / "recorder" / "target" / "faultline-recorder.jar"
LOCK: Mapping[str, list[dict[str, str]]] = tomllib.loads((HERE / "jars.toml").read_text())["client"]
# What a client needs to start besides its own jars, and Spark ships.
FROM_SPARK = ("netty-*.jar", "guava-*.jar", "failureaccess-*.jar", "commons-lang3-*.jar", "slf4j-api-*.jar")
DRIVER_SECONDS = 120
DECISIONS = {"update": "UPDATE", "remove": "REMOVE", "pick": "PICKED"}
"""The `op` of `Watcher` to the recorder's."""
# Netty of the oldest clients opens what Java 17 keeps closed.
OPENS = ("--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED")


# A JVM that lives for seconds: its second compiler and its collector's threads would take most of its CPU.
SHORT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@dataclass(frozen=True)
class Recorded:
    """What a recorder's folder holds."""

    folder: Path

    @property
    def files(self) -> list[Path]:
        """Every file of lines, of both kinds."""
        return sorted(self.folder.glob("*/*.jsonl*"))

    @property
    def sends(self) -> list[dict[str, Any]]:
        """The attempts by producer, in the order of `seq`."""
        return self._rows("sends")

    @property
    def fault_item_updates(self) -> list[dict[str, Any]]:
        """The updates by producer, in the order of `seq`."""
        return self._rows("fault_item_updates")

    @property
    def counters(self) -> list[dict[str, Any]]:
        """The lines of totals."""
        return [row for file in sorted(self.folder.glob("counters-*.jsonl")) for row in json_lines(file)]

    def numbers(self) -> dict[tuple[str, str], list[int]]:
        """`seq` of sends and updates together in ascending order, by group and client id."""
        numbers: dict[tuple[str, str], list[int]] = {}
        for row in self.sends + self.fault_item_updates:
            numbers.setdefault((row["producer_group"], row["client_id"]), []).append(row["seq"])
        return {producer: sorted(of_producer) for producer, of_producer in numbers.items()}

    def of(self, topic: str) -> list[dict[str, Any]]:
        """The attempts of one topic."""
        return [row for row in self.sends if row["topic"] == topic]

    def _rows(self, kind: str) -> list[dict[str, Any]]:
        rows = [row for file in sorted((self.folder / kind).glob("*.jsonl*")) for row in json_lines(file)]
        return sorted(rows, key=lambda row: (row["client_id"], row["producer_group"], int(row["seq"])))


@dataclass(frozen=True)
class Client:
    """The programs of this folder, compiled against one client release."""

    version: str
    class_path: str

    def run(
        self, program: str, arguments: Sequence[str], home: Path, options: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run one of the programs to its end; `home` is where the client keeps its own log."""
        command = self.command(program, arguments, home, options)
        done = subprocess.run(command, capture_output=True, text=True, timeout=DRIVER_SECONDS, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def command(self, program: str, arguments: Sequence[str], home: Path, options: Sequence[str] = ()) -> list[str]:
        """What `run` runs."""
        java = [java_command(), *SHORT, *OPENS, *options, f"-Duser.home={home}"]
        return [*java, "-cp", self.class_path, program, *arguments]


def text_of(path: Path) -> str:
    """The content of a file that may be gzipped."""
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")


def json_lines(path: Path) -> list[dict[str, Any]]:
    """Each line of the file as a JSON object; splits as Spark and Python do, so an unescaped separator fails."""
    return [json.loads(line) for line in text_of(path).splitlines()]


def whole_lines(text: str) -> list[dict[str, Any]]:
    """Each line that has its end, of a file that a killed process may have left torn."""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def tool(name: str) -> str:
    """A program of the JDK that is in use."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home, "bin")) if home else None)
    assert found is not None, f"no {name}: the recorder's tests need a JDK, a runtime alone does not do"
    return found


def recorder() -> Path:
    """The recorder's jar, built if need be."""
    done = subprocess.run(["make", "-s", "-C", str(ROOT), "recorder"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return RECORDER


def clients() -> list[str]:
    """The client releases to test with: those of FAULTLINE_CLIENTS, else those whose jars are locked."""
    return os.environ.get("FAULTLINE_CLIENTS", "").split() or list(LOCK)


def jars_of(version: str) -> list[Path]:
    """The jars that a client of this release needs: locked ones by Ivy, what else was asked for by Maven."""
    folder = ROOT / ".faultline" / "client-jars" / version
    if version in LOCK:
        # A folder for each release: one resolution would keep only the newest of them.
        jars = cached([Jar(**entry) for entry in LOCK[version]], folder)
        return [*jars, *(jar for pattern in FROM_SPARK for jar in sorted(spark_jars_folder().glob(pattern)))]
    return jars_by_maven(folder, ROCKETMQ, ("rocketmq-client",), version)


def compiled(version: str, classes: Path) -> Client:
    """The programs, compiled into `classes` against the client of that version, as if the recorder were a library."""
    class_path = os.pathsep.join(map(str, [classes, recorder(), *jars_of(version)]))
    compile_java(sorted(HERE.glob("*.java")), class_path, classes)
    return Client(version, class_path)


def compile_java(sources: Sequence[Path], class_path: str, classes: Path) -> None:
    """Compile for Java 8, every warning an error."""
    classes.mkdir(parents=True, exist_ok=True)
    command = [tool("javac"), *(f"-J{option}" for option in SHORT), "--release", "8"]
    command += ["-Xlint:all,-options,-processing,-classfile", "-Werror"]
    command += ["-encoding", "UTF-8", "-cp", class_path, "-d", str(classes), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DRIVER_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
