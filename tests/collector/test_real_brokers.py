"""The collector beside a capture by the client's own classes, against a real name server and brokers of two releases.

Members join and leave, a broker is killed and comes back. Of both captures `faultline allocation` makes a lake; who
should own each queue over time is the same, but for what lasts no longer than both need to see it.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import deltalake
import pytest

from jobs.spark.environment import java_command
from tests.given.collector_files import PROGRAM, collected
from tests.given.driven_client import OPENS, ROOT, compile_java
from tests.given.real_cluster import RealCluster, server_jars

pytestmark = pytest.mark.slow
RELEASES = os.environ.get("FAULTLINE_SERVERS", "4.9.7 5.3.3").split()
BROKERS = ("broker-a", "broker-b")
TOPIC, GROUP = "T_orders", "CG_orders"
SHORT_MS = 12_000
"""Both look once a second, at their own moments, and the collector asks a broker that was gone every ten seconds."""


Owned = tuple[int, int, frozenset[str]]
"""Start and end in epoch ms, and the owners between them."""


class Members:
    """The consumers, in a process of their own, which captures too."""

    def __init__(self, jars: Path, cluster: RealCluster, folder: Path) -> None:
        classes = folder / "classes"
        class_path = f"{classes}{os.pathsep}{jars}/*"
        compile_java([Path(__file__).parent / "Members.java"], class_path, classes)
        brokers = [f"{name}={cluster.address(name)}" for name in BROKERS]
        self._process = subprocess.Popen(
            [java_command(), "-Xmx256m", *OPENS, f"-Duser.home={folder}", "-cp", class_path, "Members",
             cluster.address(), TOPIC, GROUP, str(folder / "captures"), *brokers],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._answer() == "topic"

    def say(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n")
        self._process.stdin.flush()
        if words == "quit":
            self._process.wait(30)
        else:
            assert self._answer() == words

    def _answer(self) -> str:
        """The next line that is the program's own; the client's logging prints others."""
        assert self._process.stdout is not None
        own = (line for line in self._process.stdout if line.startswith("> "))
        return next(own, "nothing").removeprefix("> ").strip()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.mark.parametrize("release", RELEASES)
def test_what_it_collects_is_what_the_clients_own_classes_see(release: str, tmp_path: Path) -> None:
    jars = server_jars(release, ROOT)
    with RealCluster(jars, tmp_path / "servers", BROKERS) as cluster:
        members = Members(jars, cluster, tmp_path)
        words = ["collect", "--namesrv", cluster.address(), "--out", str(tmp_path / "out"), "--every", "1s",
                 "--running-info-every", "5s", "--timeout", "1s"]  # fmt: skip
        collector = subprocess.Popen([sys.executable, "-c", PROGRAM, *words], stderr=subprocess.PIPE, text=True)
        try:
            for step in ("join c1", "join c2", "join c3"):
                members.say(step)
                time.sleep(16)
            cluster.kill("broker-b")
            time.sleep(20)
            cluster.start("broker-b")
            time.sleep(40)  # until clients have found it again
            members.say("leave c2")
            time.sleep(16)
            collector.send_signal(signal.SIGTERM)
            _, said = collector.communicate(timeout=30)
            members.say("quit")
        finally:
            collector.kill()
            members.kill()
    print(said.splitlines()[-1])
    assert collector.returncode == 0
    assert "lost" not in said
    lines = collected(tmp_path / "out")
    assert {row["code"] for row in lines["consumers"] if row["broker_name"] == "broker-b"} >= {0, None}
    assert {row["client_id"].rpartition("@")[2] for row in lines["running_info"] if row["code"] == 0} == {
        "c1",
        "c2",
        "c3",
    }
    own = allocated(tmp_path / "own", tmp_path / "out/consumers", tmp_path / "out/routes")
    others = allocated(tmp_path / "others", tmp_path / "captures/consumers", tmp_path / "captures/routes")
    assert len(own) == 8 + 2
    assert own.keys() == others.keys()
    longest = {queue: longest_difference_ms(of, others[queue]) for queue, of in own.items()}
    print(f"{release}: owners differ for at most {max(longest.values())} ms at a time")
    assert {queue: ms for queue, ms in longest.items() if ms > SHORT_MS} == {}
    lasting = ({names for start_ms, end_ms, names in of if end_ms - start_ms >= SHORT_MS} for of in own.values())
    assert max(map(len, lasting)) >= 3


def allocated(lake: Path, consumers: Path, routes: Path) -> dict[tuple[str, str, int], list[Owned]]:
    """Topic, broker and queue to who should own it over time."""
    days = sorted({str(dt.datetime.fromtimestamp(at / 1000, dt.UTC).date()) for at in captured(consumers)})
    words = ["allocation", "--lake", str(lake), "--from", days[0], "--to", days[-1], "--consumers", str(consumers),
             "--routes", str(routes)]  # fmt: skip
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert " 0 quarantined " in done.stdout
    rows = deltalake.DeltaTable(str(lake / "queue_allocation")).to_pyarrow_table().to_pylist()
    return {name: list(owners(list(of))) for name, of in groupby(sorted(rows, key=_queue), key=_queue)}


def _queue(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["topic"], row["broker_name"], row["queue_id"]


def owners(rows: list[dict[str, Any]]) -> Iterator[Owned]:
    """Between any two changes the owners that the brokers' views name."""
    cuts = sorted({row[name] for row in rows for name in ("start_ms", "end_ms")})
    for start_ms, end_ms in pairwise(cuts):
        covering = [row for row in rows if row["start_ms"] <= start_ms and row["end_ms"] >= end_ms]
        yield start_ms, end_ms, frozenset((row["client_id"] or "-").rpartition("@")[2] for row in covering)


def longest_difference_ms(some: list[Owned], others: list[Owned]) -> int:
    """The longest time without a moment at which both name the same owners, while both look."""
    cuts = sorted({ms for start_ms, end_ms, _ in (*some, *others) for ms in (start_ms, end_ms)})
    first = max(some[0][0], others[0][0])
    last = min(some[-1][1], others[-1][1])
    longest = since = 0
    for start_ms, end_ms in pairwise(cuts):
        named = [
            next((names for from_ms, to_ms, names in of if from_ms <= start_ms < to_ms), None) for of in (some, others)
        ]
        differs = named[0] != named[1] and first <= start_ms and end_ms <= last
        since = since + end_ms - start_ms if differs else 0
        longest = max(longest, since)
    return longest


def captured(folder: Path) -> list[int]:
    files = [file for file in folder.iterdir() if not file.name.startswith(".")]
    texts = [gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes() for file in files]
    return [json.loads(line)["captured_at_ms"] for text in texts for line in text.splitlines()]
