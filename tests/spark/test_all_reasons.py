"""A line with several faults: each is a reason, in the order of the rules, with its field and value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.settings.load import load_settings
from jobs.sources.staging import stage_snapshots
from tests.given.send_logs import DATE, MODES, NOON_MS, OUTCOMES, all_reasons, line, stage, write, write_parquet

LONG_MAX, LONG_MIN = 2**63 - 1, -(2**63)

SENDS: list[tuple[bytes, list[str], str | None]] = [
    (line(outcome="OK", mode="sync"), ["outcome_unknown", "mode_unknown"], f"outcome=OK{OUTCOMES}; mode=sync{MODES}"),
    (
        line(seq="x", client_id=" ", latency_ms=-1),
        ["wrong_type", "client_id_missing", "latency_out_of_range"],
        "seq=x; latency_ms=-1",
    ),
    (line(latency_ms="7", outcome=None), ["wrong_type", "outcome_missing"], "latency_ms=7"),
    # What only follows from a fault is none of its own.
    (line(latency_ms="7", ended_at_ms=None, started_at_ms=NOON_MS), ["wrong_type"], "latency_ms=7"),
    (line(latency_ms="7", ended_at_ms=None), ["wrong_type", "ended_at_missing"], "latency_ms=7"),
    (line(ended_at_ms="x"), ["wrong_type"], "ended_at_ms=x"),
    (line(started_at_ms="x", ended_at_ms=None), ["wrong_type"], "started_at_ms=x"),
    (line(broker_name=None, broker_addr=" "), ["broker_missing"], None),
    (line(outcome=" ", mode=""), ["outcome_missing"], None),
    (
        line(started_at_ms=LONG_MIN, submitted_at_ms=LONG_MAX),
        ["time_out_of_range"],
        "started_at_ms=-9223372036854775808, submitted_at_ms=9223372036854775807",
    ),
    (
        line(latency_ms=86_400_001, submitted_at_ms=NOON_MS + 9_000_000, client_version="latest"),
        ["latency_out_of_range", "client_version_unknown"],
        "latency_ms=86400001; client_version=latest",
    ),
    (
        line(submitted_at_ms=NOON_MS + 1_000_001, mode="sync"),
        ["times_contradict", "mode_unknown"],
        f"submitted_at_ms={NOON_MS + 1_000_001}, ended_at_ms={NOON_MS}, latency_ms=10; mode=sync{MODES}",
    ),
    (
        b"{}",
        ["client_id_missing", "broker_missing", "ended_at_missing", "latency_missing", "outcome_missing"],
        None,
    ),
    (line(topic="t\u0000", broker_name="a\u001b"), ["control_character"], "topic=t\ufffd, broker_name=a\ufffd"),
    (
        line(mode="s" * 300, queue_chosen_by="ME"),
        ["mode_unknown", "queue_chosen_by_unknown"],
        f"mode={'s' * 195}{MODES}; queue_chosen_by=ME (allowed: CLIENT, CALLER)",
    ),
    (
        line(queue_chosen_by="ME", one_line_per="SEND"),
        ["queue_chosen_by_unknown", "one_line_per_unknown"],
        "queue_chosen_by=ME (allowed: CLIENT, CALLER); one_line_per=SEND (allowed: TRY, CALL)",
    ),
    (line(mode="sync")[:-1], ["not_json"], None),
    (line(mode="sync").replace(b"broker-a", b"broker-\xff"), ["invalid_utf8"], None),
]


@pytest.mark.fault(7, 8, 9, 10)
def test_every_reason_of_a_line_of_json(spark: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "logs", {"a.jsonl": b"\n".join([line(), *(each for each, _, _ in SENDS)])})
    assert all_reasons(stage(spark, folder)) == {
        ("a.jsonl", number): (reasons, detail) for number, (_, reasons, detail) in enumerate(SENDS, start=2)
    }


def test_every_reason_of_a_long_line(spark: SparkSession, tmp_path: Path) -> None:
    settings = load_settings([], [], {"inputs.sends.path": [str(tmp_path / "logs")], "max_line_bytes": 1_024})
    long = line(mode="sync", error="x" * 2_000)
    folder = write(tmp_path / "logs", {"a.jsonl": b"\n".join([long, long[:-1]])})
    assert all_reasons(stage(spark, folder, settings=settings)) == {
        ("a.jsonl", 1): (["line_too_long", "mode_unknown"], f"{len(long)} bytes; mode=sync{MODES}"),
        ("a.jsonl", 2): (["line_too_long", "not_json"], f"{len(long) - 1} bytes"),
    }


@pytest.mark.fault(7, 8)
def test_every_reason_of_csv_and_parquet(spark: SparkSession, tmp_path: Path) -> None:
    names = ("client_id", "broker_name", "ended_at_ms", "latency_ms", "outcome", "mode")
    bad = (" ", "broker-a", str(NOON_MS), "x", "OK", "sync")
    folder = write(tmp_path / "logs", {"a.csv": "\n".join([",".join(names), ",".join(bad), "a,b", ',"open'])
                                       .encode()})  # fmt: skip
    write_parquet(folder, "a.parquet", {name: [value] for name, value in zip(names, bad, strict=True)})
    reasons = ["wrong_type", "client_id_missing", "outcome_unknown", "mode_unknown"]
    each = (reasons, f"latency_ms=x; outcome=OK{OUTCOMES}; mode=sync{MODES}")
    assert all_reasons(stage(spark, folder)) == {
        ("a.csv", 2): each,
        ("a.csv", 3): (["wrong_column_count"], "2 columns, the header has 6"),
        ("a.csv", 4): (["csv_open_quote"], 'not closed on its line: "open'),
        ("a.parquet", 1): each,
    }


def test_every_reason_of_text(spark: SparkSession, tmp_path: Path) -> None:
    pattern = (
        r"(?<ended_at_ms>\d+) \[(?<client_id>[^\]]*)\] (?<broker_name>\S+) took=(?<latency_ms>\S+) (?<outcome>\S+)"
    )
    given = {"inputs.sends.path": [str(tmp_path / "logs")], "inputs.sends.pattern": pattern}
    folder = write(tmp_path / "logs", {"a.log": f"{NOON_MS} [] b took=soon Bad\na stack trace".encode()})
    assert all_reasons(stage(spark, folder, settings=load_settings([], [], given))) == {
        ("a.log", 1): (
            ["wrong_type", "client_id_missing", "outcome_unknown"],
            f"latency_ms=soon; outcome=Bad{OUTCOMES}",
        ),
        ("a.log", 2): (["pattern_mismatch"], None),
    }


@pytest.mark.fault(10)
def test_every_reason_of_snapshots_and_logs(spark: SparkSession, tmp_path: Path) -> None:
    body = json.dumps({"queueDatas": [{"brokerName": " ", "readQueueNums": -1}]})
    no_queue = json.dumps({"properties": {}, "mqTable": {"of no form": {}}})
    lines = {
        "consumers": [
            {"captured_at_ms": NOON_MS, "code": 0, "client_ids": "c"},
            {"captured_at_ms": 0, "consumer_group": " ", "broker_name": "b\u0001", "code": 0, "client_ids": ["c"]},
        ],
        "routes": [{"captured_at_ms": NOON_MS, "code": 0, "topic": "", "body": body}],
        "running_info": [
            {"captured_at_ms": "x", "code": 0, "body": "no"},
            {"captured_at_ms": "y", "consumer_group": "g", "client_id": "c", "code": 0, "body": no_queue},
        ],
    }
    for name, each in lines.items():
        write(tmp_path / name, {f"{name}.jsonl": "\n".join(map(json.dumps, each)).encode()})
    broken = "2026-02-30 12:00:00,000 INFO RebalanceService - doRebalance, G, add a new mq, Mess"
    write(tmp_path / "client_logs", {"rocketmq_client.log": broken.encode()})
    paths = {f"inputs.{name}.path": [str(tmp_path / name)] for name in (*lines, "client_logs")}
    staged = stage_snapshots(spark, load_settings([], [], paths), (DATE, DATE), str(tmp_path / "staging"))
    assert all_reasons(staged) == {
        ("consumers.jsonl", 1): (["wrong_type", "consumer_group_missing", "broker_missing"], "client_ids=c"),
        ("consumers.jsonl", 2): (
            ["time_out_of_range", "control_character", "consumer_group_missing"],
            "captured_at_ms=0; broker_name=b\ufffd",
        ),
        ("routes.jsonl", 1): (
            ["topic_missing", "broker_missing", "queue_number_negative"],
            "queues without a broker name in body",
        ),
        ("running_info.jsonl", 1): (
            ["wrong_type", "consumer_group_missing", "client_id_missing", "body_not_json"],
            "captured_at_ms=x; no consumer running info in body",
        ),
        ("running_info.jsonl", 2): (["wrong_type"], "captured_at_ms=y; an invalid queue in body"),
        ("rocketmq_client.log", 1): (["time_out_of_range", "log_line_breaks_off"], "2026-02-30 12:00:00,000 INFO R"),
    }
