"""Applications of a lab as sites have them, a JVM each, and what each keeps below the night's folder."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.spark.environment import java_command
from tests.given.driven_client import OPENS, ROOT, SHORT, Client, compile_java, compiled, jars_of, recorder
from tests.given.maven import ROCKETMQ, jars_by_maven

CONSUMERS_OF = "5.3.3"
TOPIC = "T_stock"
TIME_ZONE = "Asia/Shanghai"
_JAVA = ("-Xmx128m", "-Xss512k", f"-Duser.timezone={TIME_ZONE}")
_PAUSE_MS = 70
_END_SECONDS = 40
_BOOT = "2.7.18"
_MANIFEST = """Manifest-Version: 1.0
Main-Class: org.springframework.boot.loader.JarLauncher
Start-Class: Application
Spring-Boot-Classes: BOOT-INF/classes/
Spring-Boot-Lib: BOOT-INF/lib/
"""


@dataclass(frozen=True)
class App:
    """A producing application.

    Attributes:
        name: also the folder of what it records.
        version: release of its client.
        producers: arguments of `Application`.
        recorded_by: agent or library.
        is_boot: an executable jar as Spring Boot lays it out.
    """

    name: str
    version: str
    producers: Sequence[str]
    recorded_by: str = "agent"
    is_boot: bool = False


APPS = (
    App("stock-1", "5.3.3", (f"PG_stock:sync+async:{TOPIC}",)),
    App("stock-2", "5.3.3", (f"PG_more:sync+oneway:{TOPIC}", f"PG_order:selector:{TOPIC}"), recorded_by="library"),
    App("pay-1", "4.9.8", (f"PG_pay:sync+async:{TOPIC}",)),
    App("legacy-1", "4.9.8", (f"PG_legacy:sync:{TOPIC}:off",)),
    App("boot-1", "5.3.3", (f"PG_boot_a:sync:{TOPIC}", f"PG_boot_b:async:{TOPIC}"), is_boot=True),
)


class Processes:
    """Producers and consumers of a night, by name; a producer that comes back has the folders that it had.

    Args:
        name_server: HOST:PORT.
        folder: of the night.
        work: for classes, jars and homes; not kept.
    """

    def __init__(self, name_server: str, folder: Path, work: Path) -> None:
        self._name_server, self._folder, self._work = name_server, folder, work
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._lives: dict[str, int] = {}
        versions = sorted({app.version for app in APPS})
        self._clients = {version: compiled(version, work / version) for version in versions}
        classes = work / "consumers"
        folder = ROOT / ".faultline" / "consumer-jars" / CONSUMERS_OF  # the locked ones are those that a producer needs
        jars = jars_by_maven(folder, ROCKETMQ, ("rocketmq-client",), CONSUMERS_OF)
        self._consumers = os.pathsep.join(map(str, [classes, *jars]))
        sources = [ROOT / "tests" / "collector" / f"{name}.java" for name in ("Consumer", "Members")]
        compile_java(sources, self._consumers, classes)
        self._boot_jar = work / "boot.jar"
        _boot_jar(self._boot_jar, self._clients["5.3.3"], work / "5.3.3")

    @property
    def running(self) -> tuple[str, ...]:
        """Names of those that still run."""
        return tuple(self._running)

    def start_app(self, app: App) -> None:
        """Start it and wait until it sends."""
        life = self._lives[app.name] = self._lives.get(app.name, 0) + 1
        own, home = self._folder / "watched" / app.name / str(life), self._work / f"{app.name}-home"
        own.mkdir(parents=True)
        recorded = self._folder / "producers" / app.name
        by = f"-javaagent:{recorder()}" if app.recorded_by == "agent" else "-Drecorder"
        options = [f"{by}={recorded}", *_JAVA, f"-Dpause.ms={_PAUSE_MS}"]
        arguments = [self._name_server, str(own), *app.producers]
        if app.is_boot:
            java = [java_command(), *SHORT, *OPENS, *options, f"-Duser.home={home}"]
            command = [*java, "-jar", str(self._boot_jar), *arguments]
        else:
            command = self._clients[app.version].command("Application", arguments, home, options)
        self._start(app.name, command)

    def start_consumer(self, name: str, group: str) -> None:
        """Start it and wait until it has joined."""
        home = self._folder / "client_logs" / name
        listener = self._folder / "listeners" / f"{name}.jsonl"
        listener.parent.mkdir(exist_ok=True)
        command = [java_command(), *SHORT, *OPENS, *_JAVA, f"-Duser.home={home}", "-cp", self._consumers, "Consumer"]
        self._start(name, [*command, self._name_server, TOPIC, group, name, str(listener)])

    def _start(self, name: str, command: Sequence[str]) -> None:
        said = self._folder / "said" / f"{name}.txt"
        said.parent.mkdir(exist_ok=True)
        with said.open("a") as stderr:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True)
        self._running[name] = process
        self._answer(name, "started")

    def _answer(self, name: str, words: str) -> None:
        """Wait for the line; the client's logging prints others."""
        out = self._running[name].stdout
        assert out is not None
        assert any(line == f"> {words}\n" for line in iter(out.readline, "")), f"{name} ended before it said {words}"

    def say(self, name: str, words: str) -> None:
        """A line on standard input, and its answer."""
        lines = self._running[name].stdin
        assert lines is not None
        lines.write(f"{words}\n")
        lines.flush()
        self._answer(name, words)

    def kill(self, name: str) -> None:
        """SIGKILL."""
        process = self._running.pop(name)
        process.kill()
        process.communicate()

    def end(self, *names: str) -> None:
        """Let them end in order, all at once, and wait."""
        ending = [self._running.pop(name) for name in names or list(self._running)]
        for process in ending:
            assert process.stdin is not None
            process.stdin.close()
        for process in ending:
            process.stdin = None
            process.communicate(timeout=_END_SECONDS)

    def stop(self) -> None:
        """Kill whoever still runs."""
        for name in list(self._running):
            self.kill(name)


def _boot_jar(jar: Path, client: Client, classes: Path) -> None:
    """The application as Spring Boot packs it: classes and uncompressed jars inside one, and its own loader."""
    folder = ROOT / ".faultline" / "boot-jars" / _BOOT
    (loader,) = jars_by_maven(folder, "org.springframework.boot", ("spring-boot-loader",), _BOOT)
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_STORED) as out, zipfile.ZipFile(loader) as of_loader:
        out.writestr("META-INF/MANIFEST.MF", _MANIFEST)
        for name in of_loader.namelist():
            if name.startswith("org/"):
                out.writestr(name, of_loader.read(name))
        for entry in ("BOOT-INF/", "BOOT-INF/classes/", "BOOT-INF/lib/"):
            out.writestr(entry, b"")
        for file in sorted(classes.glob("*.class")):
            out.write(file, f"BOOT-INF/classes/{file.name}")
        for library in jars_of(client.version):
            out.write(library, f"BOOT-INF/lib/{library.name}")
