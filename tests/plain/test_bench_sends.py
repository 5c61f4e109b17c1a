"""The days that bench/ makes, and the peers that replay them, on lines small enough to work out by hand."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from bench.peers import duckdb_night, polars_night
from bench.process import Measured, Running, resident_pages
from bench.program import steps
from bench.same_rows import check_same_rows
from bench.sends import Size, write_sends

ROOT = Path(__file__).parents[2]
SMALL = Size(sends=6_000, producers=10, brokers=4, incidents=3)
TEN = 1_772_359_200_000  # 2026-03-01 10:00:00 UTC
MIDNIGHT = 1_772_409_600_000  # 24:00


def lines(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob("*/*.jsonl.gz"))
    return [json.loads(line) for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]


def test_one_seed_makes_the_same_bytes_and_another_one_others(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        write_sends(SMALL, tmp_path / name, seed)
    files = {name: sorted((tmp_path / name).rglob("*.gz")) for name in ("one", "again", "other")}
    told = {name: [file.read_bytes() for file in found] for name, found in files.items()}
    assert len(told["one"]) == 24
    assert told["one"] == told["again"]
    assert told["one"] != told["other"]


def test_a_line_has_the_fields_of_a_recorded_one(tmp_path: Path) -> None:
    recorded = gzip.decompress((ROOT / "data_samples/sends/producers-5.3.3.jsonl.gz").read_bytes()).splitlines()[0]
    write_sends(SMALL, tmp_path)
    assert set(lines(tmp_path)[0]) == set(json.loads(recorded))


def test_what_the_peers_take_for_granted_holds(tmp_path: Path) -> None:
    write_sends(Size(sends=6_000, days=2, producers=10, brokers=4, incidents=12), tmp_path)
    made = lines(tmp_path)
    assert {line["started_at_ms"] // 86_400_000 for line in made} == {20_513, 20_514}
    assert all(line["started_at_ms"] // 86_400_000 == line["ended_at_ms"] // 86_400_000 for line in made)
    assert all(line["ended_at_ms"] - line["started_at_ms"] == line["latency_ms"] for line in made)
    assert {(line["mode"], line["fault_latency_enabled"]) for line in made} == {("SYNC", True)}
    assert {line["client_version"] for line in made} == {"4.7.1", "4.9.8", "5.1.3", "5.3.3"}
    assert len({(line["client_id"], line["seq"]) for line in made}) == len(made)
    ends = [(line["client_id"], line["ended_at_ms"]) for line in sorted(made, key=lambda line: line["seq"])]
    assert sorted(ends) == sorted(ends, key=lambda end: end[0])  # each client numbers its attempts as they end
    retried = {(line["client_id"], line["invoke_id"]) for line in made if line["attempt"] == 2}
    failed = {
        (line["client_id"], line["invoke_id"])
        for line in made
        if line["outcome"] in {"RemotingConnectException", "MQBrokerException"}
    }
    assert retried
    assert retried == failed


def test_a_skewed_day_has_a_third_on_one_pair(tmp_path: Path) -> None:
    write_sends(Size(sends=6_000, skewed=True, producers=10, brokers=4, incidents=3), tmp_path)
    made = [(line["client_id"], line["broker_name"]) for line in lines(tmp_path)]
    most = max(made.count(pair) for pair in set(made))
    assert len(made) / 3.1 < most < len(made) / 2.7


def attempt(client: str, version: str, ended_at_ms: int, latency_ms: int, outcome: str = "SEND_OK") -> dict[str, Any]:
    return {
        "client_id": client, "producer_group": "PG", "client_version": version, "broker_name": "broker-a",
        "ended_at_ms": ended_at_ms, "latency_ms": latency_ms, "outcome": outcome, "seq": ended_at_ms,
    }  # fmt: skip


STORY = [
    attempt("new", "5.3.3", TEN, 600),  # isolates for 2 s
    attempt("new", "5.3.3", TEN + 1_000, 5),  # takes nothing back
    attempt("new", "5.3.3", TEN + 1_500, 1_800),  # 5 s from now
    attempt("new", "5.3.3", TEN + 10_000, 5),
    attempt("old", "4.9.8", TEN, 3_000, "RemotingTimeoutException"),  # ten minutes
    attempt("old", "4.9.8", TEN + 70_000, 5),  # ends it
    attempt("old", "4.9.8", MIDNIGHT - 30_000, 1_000),  # a minute
]


@pytest.mark.parametrize("peer", [duckdb_night.main, polars_night.main])
def test_a_peer_tells_a_story_worked_out_by_hand(peer: Callable[[Path, Path], None], tmp_path: Path) -> None:
    (tmp_path / "sends").mkdir()
    with gzip.open(tmp_path / "sends" / "10.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in STORY)
    peer(tmp_path / "sends", tmp_path / "out")
    isolations, windows = (tmp_path / "out" / f"{name}.parquet" for name in ("isolation_intervals", "broker_windows"))
    assert rows(f"SELECT client_id, start_ms, end_ms, ended_by FROM '{isolations}' ORDER BY ALL") == [
        ("new", TEN, TEN + 6_500, "EXPIRED"),
        ("old", TEN, TEN + 70_000, "CLEARED"),
        ("old", MIDNIGHT - 30_000, MIDNIGHT, "DAY_END"),
    ]
    counts = "sends, failures, producers, isolating_producers, isolated_ms"
    latencies = "latency_p50_ms, latency_p95_ms, latency_p99_ms, latency_max_ms"
    assert rows(f"SELECT window_start_ms, {counts}, {latencies} FROM '{windows}' ORDER BY window_start_ms") == [
        (TEN, 5, 1, 2, 2, 66_500, 5, 1_800, 1_800, 1_800),
        (TEN + 60_000, 1, 0, 1, 1, 10_000, 5, 5, 5, 5),
        (MIDNIGHT - 60_000, 1, 0, 1, 1, 30_000, 1_000, 1_000, 1_000, 1_000),
    ]


def rows(query: str) -> list[tuple[Any, ...]]:
    return duckdb.connect().execute(query).fetchall()


def test_peers_find_the_same_rows_and_a_difference_is_named(tmp_path: Path) -> None:
    write_sends(SMALL, tmp_path / "sends")
    day = tmp_path / "sends" / "2026-03-01"
    duckdb_night.main(day, tmp_path / "one")
    polars_night.main(day, tmp_path / "two")
    assert check_same_rows(tmp_path / "one", tmp_path / "two")["sends"] == len(lines(tmp_path / "sends"))
    sends = tmp_path / "two" / "sends.parquet"
    later = f"SELECT * REPLACE (latency_ms + (msg_id = (SELECT max(msg_id) FROM '{sends}'))::INT AS latency_ms)"
    rows(f"COPY ({later} FROM '{sends}') TO '{tmp_path}/changed.parquet'")
    (tmp_path / "changed.parquet").replace(sends)
    with pytest.raises(RuntimeError, match=r"sends differs in rows, latency_ms; we have"):
        check_same_rows(tmp_path / "one", tmp_path / "two")


def test_steps_are_taken_from_the_progress_and_days_are_added_up() -> None:
    noted = """\
faultline fault-latency: 2026-03-01 to 2026-03-02, cluster main, lake /lake
starting Spark: 4.9 s
replaying fault items of 2026-03-01: 8.5 s
replaying fault items of 2026-03-02: 4.0 s
"""
    assert steps(Measured(20, 30, 900, "", noted)) == {"starting Spark": 4.9, "replaying fault items": 12.5}


def test_memory_that_a_child_borrows_counts_once() -> None:
    jvm, worker = Running(1, 400, "7ff1", 9_000, 500), Running(1, 1, "7ff2", 300, 40)
    assert resident_pages({10: jvm, 20: worker}) == 540
    borrowed = Running(10, 1, "7ff1", 8_990, 499)  # the JVM took more while we looked
    assert resident_pages({10: jvm, 11: borrowed}) == 500
    forked, spawned = Running(20, 1, "7ff2", 310, 45), Running(10, 1, "7ff9", 3, 1)
    assert resident_pages({10: jvm, 11: spawned, 20: worker, 21: forked}) == 586
