"""Whole runs from the command line: the exit code, the sentence, and what is in the lake afterwards."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.cli import main as cli
from tests.given.send_logs import DATE, NOON_MS, line, write

ROOT = Path(__file__).resolve().parents[2]
LONG_MAX, LONG_MIN = 2**63 - 1, -(2**63)


def _command(folder: Path) -> list[str]:
    settings = write(folder, {"site.toml": b""}) / "site.toml"
    where = ["--sends", str(folder / "logs"), "--lake", str(folder / "lake"), "--settings", str(settings)]
    return ["nightly", "--date", str(DATE), *where]


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jobs.cli", *_command(folder), *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip


def _rows(spark: SparkSession, lake: Path, table: str) -> int:
    return spark.read.format("delta").load(str(lake / table)).count()


@pytest.mark.slow  # a whole program; what it does with each line, test_bad_input tells quickly
@pytest.mark.fault(6, 12, 13, 14, 15, 24)
def test_hostile_numbers_do_not_stop_a_run_and_all_lines_are_accounted_for(tmp_path: Path) -> None:
    far = {"invoke_id": LONG_MAX, "attempt": 2**31 - 1, "queue_id": -(2**31), "response_code": 2**31 - 1}
    lines = [
        line(seq=LONG_MAX, started_at_ms=NOON_MS - 10, fault_latency_enabled=True, **far),
        line(seq=LONG_MIN, started_at_ms=NOON_MS, ended_at_ms=NOON_MS + 10, **far),
        line(seq=3, mode="ASYNC", submitted_at_ms=NOON_MS - 1_000_010, outcome="RemotingTimeoutException"),
        line(seq=4, mode="ASYNC", submitted_at_ms=1_420_070_400_000, started_at_ms=4_102_444_800_000),
        line(seq=5, latency_ms=86_400_000, outcome="MQBrokerException", client_version="4.9.8"),
        line(seq=6, submitted_at_ms=LONG_MAX),
        line(seq=7, latency_ms=LONG_MAX),
        b"",
        line(seq=3, mode="ASYNC", submitted_at_ms=NOON_MS - 1_000_010, outcome="RemotingTimeoutException"),
        line(seq=8, ended_at_ms=NOON_MS + 86_400_000),
        line(seq=-1, attempt=0, invoke_id=0, outcome="RemotingConnectException"),
        line(seq=0, attempt=-(2**31), invoke_id=LONG_MIN, outcome="RemotingConnectException"),
        line(seq=9, attempt=2**31 - 1, invoke_id=LONG_MIN, ended_at_ms=NOON_MS + 5, process_id="1@1"),
        line(seq=10, cluster="south"),
    ]
    write(tmp_path / "logs", {"a b=%.jsonl.gz": gzip.compress(b"\r\n".join(lines))})
    ended = _run(tmp_path, "--json", "--set", "max_bad_fraction=0.3", "--fail-on", "contradictions>1000")
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr
    told = json.loads(ended.stdout)
    facts = told["flows"]["fault-latency"]
    names = ("cluster", "rows_read", "rows_published", "rows_quarantined", "rows_duplicate", "rows_other_day")
    assert [[day[name] for name in (*names, "rows_other_cluster")] for day in facts["days"]] == [
        ["main", 13, 7, 3, 1, 1, 1],
        ["south", 13, 1, 0, 0, 1, 11],
    ]
    main, south = (night["rejected"] for night in told["nights"])
    reasons = ("latency_out_of_range", "time_out_of_range", "times_contradict")
    assert main == [{"source": "sends", "reason": reason, "lines": 1} for reason in reasons]
    assert south == []
    assert facts["other_days"] == {"2026-11-22": 1}


@pytest.mark.fault(7)
@pytest.mark.usefixtures("same_session")
def test_too_many_bad_lines_publish_nothing(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "logs", {"a.jsonl": b"\n".join([*(line(seq=seq) for seq in range(49)), b"{"])})
    assert cli.main(_command(tmp_path)) == 4
    assert capsys.readouterr().err.splitlines()[-1] == (
        "faultline: 1 of 50 lines are bad (not_json 1), more than max_bad_fraction 0.01;"
        " nothing of this flow was published; correct the log or raise --set max_bad_fraction=…;"
        f" bad lines are in {tmp_path}/lake/_rejected.jsonl"
    )
    assert [_rows(spark, tmp_path / "lake", table) for table in ("sends", "quarantine", "isolation_intervals")] == [
        0
    ] * 3


@pytest.mark.fault(1)
def test_a_truncated_file_publishes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    zipped = gzip.compress(b"\n".join(line(seq=seq) for seq in range(500)))
    write(tmp_path / "logs", {"fine.jsonl": line(), "cut short.jsonl.gz": zipped[:-20]})
    ended = _run(tmp_path, "--set", 'spark."spark.sql.files.ignoreCorruptFiles"="true"')
    assert ended.returncode == 3
    said = ended.stderr.splitlines()[-1]
    assert said.startswith(f"faultline: {tmp_path}/logs/cut short.jsonl.gz cannot be read to its end (")
    assert said.endswith("; replace it with a complete copy")
    assert _rows(spark, tmp_path / "lake", "sends") == 0
