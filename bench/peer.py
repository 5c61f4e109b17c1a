"""The peer: a plain loop over the real Java classes, and whether its owners are the published ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

import deltalake
import duckdb

from bench.process import Measured, run_measured
from jobs.spark.delta_jars import Jar, cached
from jobs.spark.environment import java_command, spark_jars_folder

PEERS = Path(__file__).parent / "peers"
_FROM_SPARK = ("commons-lang3-*.jar", "guava-*.jar", "failureaccess-*.jar")  # what the client needs and Spark ships

# Both sides as (from, group, topic, broker, queue, owner), a row whenever the owner of a queue is another than before.
_DIFFERENCES = """
WITH stretches AS (
    SELECT start_ms, consumer_group, topic, broker_name, queue_id, client_id,
           lag(client_id) OVER (
               PARTITION BY consumer_group, topic, broker_name, queue_id ORDER BY start_ms
           ) AS client_id_before
    FROM published
),
ours AS (SELECT * EXCLUDE (client_id_before) FROM stretches WHERE client_id IS DISTINCT FROM client_id_before),
theirs AS (
    SELECT * FROM read_csv($owners, delim = '\t', header = false, quote = '', columns = {
        'at_ms': 'BIGINT', 'consumer_group': 'VARCHAR', 'topic': 'VARCHAR', 'broker_name': 'VARCHAR',
        'queue_id': 'INTEGER', 'client_id': 'VARCHAR'
    })
)
SELECT (SELECT count(*) FROM theirs),
       (SELECT count(*) FROM (FROM ours EXCEPT ALL FROM theirs)),
       (SELECT count(*) FROM (FROM theirs EXCEPT ALL FROM ours))
"""


@dataclass(frozen=True)
class Loop:
    """What the strategies alone took, inside the peer: CPU time of its one thread."""

    seconds: float
    units: int


@dataclass(frozen=True)
class Peer:
    """One run of the peer: the process, and strategy name to its loop."""

    process: Measured
    loops: dict[str, Loop]


def compiled(classes: Path) -> str:
    """The class path of the peer, compiled into the folder; its jars are fetched once, by checksum."""
    lock = tomllib.loads((PEERS / "jars.toml").read_text(encoding="utf-8"))["jar"]
    jars = cached([Jar(**entry) for entry in lock], PEERS.parents[1] / ".faultline" / "bench-jars")
    shipped = [jar for pattern in _FROM_SPARK for jar in sorted(spark_jars_folder().glob(pattern))]
    class_path = os.pathsep.join(map(str, (classes, *jars, *shipped)))
    javac = shutil.which("javac", path=str(Path(os.environ["JAVA_HOME"], "bin")) if "JAVA_HOME" in os.environ else None)
    if javac is None:
        raise RuntimeError("no javac: the peer needs a JDK, not only a runtime")
    source = str(PEERS / "AllocateLoop.java")
    subprocess.run([javac, "-encoding", "UTF-8", "-cp", class_path, "-d", str(classes), source], check=True)
    return class_path


def run_peer(class_path: str, snapshots: Path, owners: Path) -> Peer:
    """Replay the snapshots; the owners go to the file."""
    home = f"-Duser.home={owners.parent}"  # the client keeps a log of its own
    process = run_measured([java_command(), home, "-cp", class_path, "AllocateLoop", str(snapshots), str(owners)])
    return Peer(process, {name: Loop(**loop) for name, loop in json.loads(process.said).items()})


def check_same_owners(lake: Path, owners: Path) -> int:
    """How many changes of an owner both found.

    Raises:
        RuntimeError: one side has a change that the other has not.
    """
    published = deltalake.DeltaTable(str(lake / "queue_allocation")).to_pyarrow_table()
    with duckdb.connect() as database:
        database.register("published", published)
        found = database.execute(_DIFFERENCES, {"owners": str(owners)}).fetchone()
    changes, only_ours, only_theirs = found or (0, 0, 0)
    if only_ours or only_theirs or not changes:
        raise RuntimeError(f"owners differ: {only_ours} changes are only ours, {only_theirs} only the peer's")
    return int(changes)
