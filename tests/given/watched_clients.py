"""Recordings of real clients that a recorder and another hand watch, against brokers that freeze, refuse and die.

`python -m tests.given.watched_clients VERSION FOLDER [library] [long]` runs `Load` with the client of that version,
recorded by the agent or by the library. It keeps below FOLDER what the recorder wrote (`sends`, `fault_item_updates`),
what the watcher wrote (`truth_…`), and `producers.json`.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from jobs.spark.environment import java_command
from tests.given.driven_client import HERE, OPENS, Recorded, compile_java, jars_of, recorder
from tests.given.fake_cluster import Answer, FakeCluster

BROKERS = ("broker-a", "broker-b", "broker-c")
_ENABLED = ("sync-on", "async-on", "oneway-on", "selector-on", "short-on", "shared-on", "detector-on")
# Seconds after the start: what happens to which broker, and for how long.
_USUAL = (
    (3, "freeze", "broker-a", 0.7),
    (6, "freeze", "broker-b", 3.5),
    (12, "refuse", "broker-c", 1.5),
    (16, "kill", "broker-a", 5.0),
    # What is lost on its way times out four seconds later or more, when for a moment there is no broker to try again.
    *((17.8, "freeze", broker, 1.2) for broker in BROKERS[1:]),
    *((18.4, "kill", broker, 1.5) for broker in BROKERS[1:]),
    *((22.2, "kill", broker, 1.2) for broker in BROKERS),
    (24, "freeze", "broker-c", 1.2),
    (27, "freeze", "broker-b", 2.2),
)
_LONG = ((3, "freeze", "broker-a", 6.5), (12, "kill", "broker-b", 25.0), (20, "freeze", "broker-c", 6.5))


class Troubled:
    """Brokers that freeze, refuse and die on a schedule."""

    def __init__(self) -> None:
        self.frozen: set[str] = set()
        self.refusing: set[str] = set()
        self.cluster = FakeCluster(BROKERS, self._behave)

    def _behave(self, broker: str) -> Answer:
        while broker in self.frozen:
            time.sleep(0.002)
        return Answer(code=2 if broker in self.refusing else 0, after_ms=1)

    def trouble(self, what: str, broker: str, seconds: float) -> None:
        """One thing that happens, to its end."""
        if what == "kill":
            self.cluster.kill(broker)
            time.sleep(seconds)
            self.cluster.revive(broker)
            return
        state = self.frozen if what == "freeze" else self.refusing
        state.add(broker)
        time.sleep(seconds)
        state.discard(broker)


def record(version: str, folder: Path, *, by_library: bool = False, is_long: bool = False) -> None:
    """Make one recording; whatever the folder held is gone."""
    schedule = _LONG if is_long else _USUAL
    seconds = 45 if is_long else 34
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
        class_path = os.pathsep.join(map(str, [work, recorder(), *jars_of(version)]))
        compile_java([HERE / f"{name}.java" for name in ("Load", "Watcher")], class_path, Path(work))
        troubled = Troubled()
        with troubled.cluster as cluster:
            recorded = str(folder / "recorded")
            agent = [] if by_library else [f"-javaagent:{recorder()}={recorded}"]
            library = [recorded] if by_library else []
            command = [java_command(), *OPENS, *agent, f"-Duser.home={work}", "-cp", class_path, "Load"]
            started = time.monotonic()
            process = subprocess.Popen([*command, cluster.name_server, str(folder), str(seconds), *library])
            for after, what, broker, lasts in schedule:
                happens = threading.Timer(
                    max(0, started + 3 + after - time.monotonic()), troubled.trouble, (what, broker, lasts)
                )
                happens.daemon = True
                happens.start()
            assert process.wait(timeout=180) == 0
    _keep(folder, version)


def _keep(folder: Path, version: str) -> None:
    recorded = Recorded(folder / "recorded")
    assert recorded.counters[-1]["dropped_queue_full"] == 0
    for kind, rows in (("sends", recorded.sends), ("fault_item_updates", recorded.fault_item_updates)):
        _write(folder / f"{kind}.jsonl.gz", "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    shutil.rmtree(recorded.folder)
    for kind in ("updates", "picks", "tries"):
        text = (folder / f"truth_{kind}.jsonl").read_text()
        (folder / f"truth_{kind}.jsonl").unlink()
        if text:  # from 5.1.4 on nothing is picked
            _write(folder / f"truth_{kind}.jsonl.gz", text)
    _keep_flags(folder, version)
    producers = [
        {"client_id": f"127.0.0.1@{kind}", "sends": kind.partition("-")[0], "fault_latency_enabled": kind in _ENABLED}
        for kind in (*_ENABLED, "sync-off")
    ]
    text = json.dumps({"client_version": version, "producers": producers}, indent=1)
    (folder / "producers.json").write_text(text + "\n", encoding="utf-8")


def _keep_flags(folder: Path, version: str) -> None:
    """Keep of the sampled states where a flag changed; of other releases than 5.1.4, which alone minds it, nothing."""
    file = folder / "truth_item_states.jsonl"
    last: dict[tuple[str, str], str] = {}
    kept = []
    for line in file.read_text().splitlines():
        row = json.loads(line)
        item = (row["client_id"], row["broker_name"])
        if last.get(item) != row["state"]:
            kept.append(line + "\n")
        last[item] = row["state"]
    file.unlink()
    if version == "5.1.4":
        file.write_text("".join(kept))


def _write(file: Path, text: str) -> None:
    with gzip.GzipFile(file, "wb", mtime=0) as out:
        out.write(text.encode())


if __name__ == "__main__":
    record(sys.argv[1], Path(sys.argv[2]), by_library="library" in sys.argv[3:], is_long="long" in sys.argv[3:])
