"""The documented hook, compiled against real client jars and driven by `HookDriver`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.spark.delta_jars import Jar, cached
from jobs.spark.environment import java_command, spark_jars_folder

ROOT = Path(__file__).parents[2]
HERE = ROOT / "tests" / "hook"
HOOK = ROOT / "docs" / "hook" / "FaultlineSendHook.java"
LOCK: Mapping[str, list[dict[str, str]]] = tomllib.loads((HERE / "jars.toml").read_text())["client"]
# What a client needs to start besides its own jars, and Spark ships.
FROM_SPARK = ("netty-*.jar", "guava-*.jar", "failureaccess-*.jar", "commons-lang3-*.jar", "slf4j-api-*.jar")
DRIVER_SECONDS = 60


@dataclass(frozen=True)
class Written:
    """What a run of the driver left behind."""

    files: tuple[Path, ...]
    rows: tuple[dict[str, Any], ...]
    counters: tuple[dict[str, Any], ...]
    said: str

    def of(self, topic: str) -> list[dict[str, Any]]:
        """The lines of one scenario, in the order of `seq`."""
        return sorted((row for row in self.rows if row["topic"] == topic), key=lambda row: int(row["seq"]))


@dataclass(frozen=True)
class Client:
    """The hook and the driver, compiled against one client release."""

    version: str
    class_path: str

    def drive(self, what: str, directory: Path) -> Written:
        """Run one of the driver's parts, writing below `directory`."""
        home = directory.with_name("home")  # where the client keeps its own log
        command = [java_command(), f"-Duser.home={home}", "-cp", self.class_path, "HookDriver", what, str(directory)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=DRIVER_SECONDS, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        files = tuple(sorted(directory.glob("*"))) if directory.is_dir() else ()
        counters = directory.with_name(f"{directory.name}-counters.jsonl")
        return Written(
            files,
            tuple(row for file in files for row in json_lines(file)),
            json_lines(counters),
            done.stdout + done.stderr,
        )


def json_lines(path: Path) -> tuple[dict[str, Any], ...]:
    """Each line of the file as a JSON object; splits as Spark and Python do, so an unescaped separator fails."""
    return tuple(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def javac_command() -> str:
    """The compiler beside the java that is in use; skips the test where there is only a runtime."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("javac", path=str(Path(home, "bin")) if home else None)
    if found is None:
        pytest.skip("no javac: compiling the hook needs a JDK")
    return found


def compiled(version: str, classes: Path) -> Client:
    """The hook and its driver, compiled into `classes` against the client of that version."""
    compiler = javac_command()
    # A folder for each release: one resolution would keep only the newest of the three.
    jars = cached([Jar(**entry) for entry in LOCK[version]], ROOT / ".faultline" / "hook-jars" / version)
    shipped = [jar for pattern in FROM_SPARK for jar in sorted(spark_jars_folder().glob(pattern))]
    class_path = os.pathsep.join(map(str, [classes, *jars, *shipped]))
    command = [compiler, "--release", "8", "-Xlint:all,-options", "-Werror", "-encoding", "UTF-8"]
    command += ["-cp", class_path, "-d", str(classes), str(HOOK), str(HERE / "HookDriver.java")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DRIVER_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return Client(version, class_path)
