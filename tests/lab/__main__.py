"""`make lab`: a live night on loopback, published, and judged by what was done in it.

A name server, three brokers of two releases, producers and consumers as sites have them, the collector, and deeds drawn
from a seed. Everything is kept in one folder (`night.py`). Exits with 1 when the tables miss or invent something.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from tests.given.collector_files import PROGRAM
from tests.given.driven_client import ROOT
from tests.given.real_cluster import RealCluster, server_jars
from tests.lab.deeds import Deed, DeedKind, write_deeds
from tests.lab.night import Night, settings_toml
from tests.lab.processes import APPS, CONSUMERS_OF, TIME_ZONE, TOPIC, Processes
from tests.lab.schedule import Site, schedule

RELEASES = {"broker-a": "5.3.3", "broker-b": "5.3.3", "broker-c": "4.9.7"}
NAME_SERVER = "5.3.3"
QUEUES = 4
SITE = Site(
    tuple(RELEASES),
    tuple(app.name for app in APPS if not app.is_boot),
    {"CG_stock": ("c1", "c2", "c3"), "CG_mail": ("m1", "m2")},
    {"CG_stock": ("c4", "c5"), "CG_mail": ("m3",)},
)
GROUPS = {name: group for side in (SITE.consumers, SITE.to_join) for group, names in side.items() for name in names}
STANDS_S, RUNS_S = 1.2, 0.4
"""A slow broker stands still, and runs, in turn."""
_Act = Callable[[str], None]
_APPS = {app.name: app for app in APPS}


class Lab:
    """Servers, processes and the collector, while the night lasts."""

    def __init__(self, cluster: RealCluster, processes: Processes) -> None:
        self._cluster, self._processes = cluster, processes
        self.deeds: list[Deed] = []

    def begin(self) -> None:
        """Consumers and producers start."""
        since_ms = now_ms()
        for group, names in SITE.consumers.items():
            for name in names:
                self._processes.start_consumer(name, group)
        names = tuple(name for of_group in SITE.consumers.values() for name in of_group)
        self.deeds.append(Deed(DeedKind.CONSUMER_JOINS, names, since_ms, now_ms()))
        since_ms = now_ms()
        for app in APPS:
            self._processes.start_app(app)
        self.deeds.append(Deed(DeedKind.PRODUCER_STARTS, tuple(_APPS), since_ms, now_ms()))

    def do(self, deed: Deed) -> None:
        """Do it for as long as it lasts, and write down when it was really done."""
        since_ms = now_ms()
        length_s = (deed.end_ms - deed.start_ms) / 1_000
        if deed.kind == DeedKind.PRODUCER_KILLED:
            self._kill_producer(deed, length_s)
            return
        if deed.kind == DeedKind.SLOW:
            self._slow(deed.names[0], length_s)
        elif deed.kind in self._both_ways:
            away, back = self._both_ways[deed.kind]
            for name in deed.names:
                away(name)
            time.sleep(length_s)
            back(*deed.names)
        else:
            self._once[deed.kind](deed.names[0])
        self.deeds.append(Deed(deed.kind, deed.names, since_ms, now_ms()))

    @cached_property
    def _both_ways(self) -> Mapping[DeedKind, tuple[_Act, Callable[..., None]]]:
        """What is done, and undone."""
        cluster = self._cluster
        return {
            DeedKind.FREEZE: (cluster.freeze, cluster.thaw),
            DeedKind.KILL_BROKER: (cluster.kill, cluster.start),
            DeedKind.KILL_ALL_BROKERS: (cluster.kill, cluster.start),
            DeedKind.REFUSE_WRITES: (cluster.refuse, cluster.permit),
            DeedKind.NAME_SERVER_AWAY: (lambda _: cluster.kill(""), lambda _: cluster.start("")),
        }

    @cached_property
    def _once(self) -> Mapping[DeedKind, _Act]:
        return {
            DeedKind.NEW_TOPIC: self._make_topic,
            DeedKind.CONSUMER_JOINS: lambda name: self._processes.start_consumer(name, GROUPS[name]),
            DeedKind.CONSUMER_KILLED: self._processes.kill,
            DeedKind.CONSUMER_STOPS: self._processes.end,
        }

    def _make_topic(self, name: str) -> None:
        self._cluster.make_topic(name, QUEUES)
        self._processes.say(APPS[0].name, f"topic {name}")

    def _slow(self, broker: str, length_s: float) -> None:
        until = time.monotonic() + length_s
        while time.monotonic() < until:
            self._cluster.freeze(broker)
            time.sleep(STANDS_S)
            self._cluster.thaw(broker)
            time.sleep(RUNS_S)

    def _kill_producer(self, deed: Deed, length_s: float) -> None:
        """It comes back: two deeds."""
        since_ms = now_ms()
        self._processes.kill(deed.names[0])
        self.deeds.append(Deed(deed.kind, deed.names, since_ms, now_ms()))
        time.sleep(length_s)
        since_ms = now_ms()
        self._processes.start_app(_APPS[deed.names[0]])
        self.deeds.append(Deed(DeedKind.PRODUCER_STARTS, deed.names, since_ms, now_ms()))

    def end(self) -> None:
        """Producers stop, then consumers."""
        since_ms = now_ms()
        self._processes.end(*_APPS)
        self.deeds.append(Deed(DeedKind.PRODUCER_STOPS, tuple(_APPS), since_ms, now_ms()))
        time.sleep(6)  # the collector asks once more
        since_ms, names = now_ms(), self._processes.running
        self._processes.end()
        self.deeds.append(Deed(DeedKind.CONSUMER_STOPS, names, since_ms, now_ms()))


def now_ms() -> int:
    """Since 1970."""
    return time.time_ns() // 1_000_000


def live(seed: int, minutes: float, folder: Path) -> None:
    """The night itself: what it did and recorded is below the folder."""
    planned = schedule(seed, minutes, SITE)
    write_deeds(folder / "schedule.jsonl", planned)
    own_jars = {broker: server_jars(release, ROOT) for broker, release in RELEASES.items()}
    with tempfile.TemporaryDirectory(prefix="faultline-lab-") as work:
        servers = Path(work) / "servers"
        jars = server_jars(NAME_SERVER, ROOT)
        with RealCluster(jars, servers, tuple(RELEASES), own_jars=own_jars, heap="256m") as cluster:
            cluster.make_topic(TOPIC, QUEUES)
            processes = Processes(cluster.address(), folder, Path(work))
            lab = Lab(cluster, processes)
            collector = collecting(cluster.address(), folder)
            try:
                lab.begin()
                print(f"all have started; {len(planned)} deeds are planned", flush=True)
                until_ms = 0
                for deed in planned:
                    time.sleep((deed.start_ms - until_ms) / 1_000)  # a server that is long in starting delays the rest
                    lab.do(deed)
                    until_ms = deed.end_ms
                    print(f"  {lab.deeds[-1]}", flush=True)
                time.sleep(minutes * 60 - until_ms / 1_000)
                lab.end()
                collector.send_signal(signal.SIGTERM)
                collector.wait(30)
            finally:
                write_deeds(folder / "deeds.jsonl", lab.deeds)
                collector.kill()
                collector.wait()
                processes.stop()


def collecting(name_server: str, folder: Path) -> subprocess.Popen[bytes]:
    """`faultline collect`, every five seconds."""
    words = ["collect", "--namesrv", name_server, "--out", str(folder / "snapshots"), "--cluster", "lab"]
    often = ["--every", "5s", "--running-info-every", "20s", "--timeout", "2s"]
    often += ["--topic", TOPIC, *(word for group in SITE.consumers for word in ("--group", group))]
    with (folder / "collect.txt").open("w") as said:
        return subprocess.Popen([sys.executable, "-c", PROGRAM, *words, *often], stderr=said, env=environment())


def environment() -> Mapping[str, str]:
    """Of the program, from this checkout."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "FAULTLINE_HOME": str(ROOT)}


def published(folder: Path) -> Night:
    """Both flows and `verify` over the kept night, by the program's own command line."""
    night = Night(folder, folder / "lake")
    settings = folder / "settings.toml"
    settings.write_text(settings_toml(CONSUMERS_OF, TIME_ZONE), encoding="utf-8")
    days = [str(dt.datetime.fromtimestamp(at / 1_000, dt.UTC).date()) for at in night.within]
    shutil.rmtree(folder / "lake", ignore_errors=True)
    with (folder / "published.txt").open("w") as said:
        for words in night.commands(settings, *days):
            command = [sys.executable, "-c", PROGRAM, *words]
            subprocess.run(command, stdout=said, stderr=said, check=True, env=environment())
    return night


def main() -> int:
    """The night, its tables, and the report."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    parser.add_argument("--seed", type=int, default=7, help="draws the deeds (7)")
    parser.add_argument("--minutes", type=float, default=6.0, help="of deeds; to start and to publish comes on top (6)")
    parser.add_argument("--keep", type=Path, help="an empty folder for all that is recorded; else a temporary one")
    parser.add_argument("--judge", type=Path, metavar="DIR", help="no new night: publish and judge one that was kept")
    given = parser.parse_args()
    folder: Path = (given.judge or given.keep or Path(tempfile.mkdtemp(prefix="faultline-night-"))).resolve()
    if given.judge is None:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            parser.error(f"--keep {folder} is not empty")
        live(given.seed, given.minutes, folder)
    night = published(folder)
    faults = list(map(str, night.faults()))
    report = "\n".join([*night.summary(), *faults, f"{len(faults)} faults; the night is in {folder}"])
    (folder / "report.txt").write_text(f"{report}\n", encoding="utf-8")
    print(report)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
