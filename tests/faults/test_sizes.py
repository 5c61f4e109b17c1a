"""Input that grows: one name with all the rows, a name for each row, lines and files without end."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import Observation, SparkSession

from jobs.settings.load import load_settings
from jobs.sources.client_log import read_client_logs
from jobs.sources.files import list_files
from tests.faults.program import ROOT, run_program
from tests.given.one_pool import ONE_POOL
from tests.given.send_logs import bad_lines, fates, line, stage, write
from tests.given.site import D1, START, Line, send

BOTH_COMPILERS = {"SPARK_SUBMIT_OPTS": ""}


def _zip(file: Path, lines: Iterator[Line]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt", compresslevel=1, encoding="utf-8") as out:
        out.writelines(f"{json.dumps(each)}\n" for each in lines)


def _every(nth: int, place: int) -> tuple[int, str]:
    """Latency and outcome: each n-th send fails."""
    return (5, "SEND_OK") if place % nth else (3_000, "RemotingTimeoutException")


@pytest.mark.slow
@pytest.mark.fault(18)
def test_one_producer_and_broker_with_nearly_all_rows(tmp_path: Path) -> None:
    """Nine of ten rows are one producer's at one broker; a driver of 1 GB."""

    def lines() -> Iterator[Line]:
        for place in range(300_000):
            who = {"client_id": "hot", "broker_name": "broker-hot"} if place % 10 else {"client_id": f"p{place % 997}"}
            yield send(START[D1] + 1_000_000 + place * 100, *_every(1_000, place)) | who | {"seq": place}

    _zip(tmp_path / "sends/sends.jsonl.gz", lines())
    done = run_program(
        tmp_path, "--date", f"{D1}", "-v", "--set", "spark.driver.memory=1g", "--set", "spark.log.level=WARN",
        environ=BOTH_COMPILERS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    assert "300,000 lines read = 300,000 published" in done.stdout
    assert "WARN" in done.stderr  # else nothing would have been told
    assert ONE_POOL not in done.stderr


@pytest.mark.slow
@pytest.mark.fault(18)
def test_the_second_flow_sorts_no_pool_of_everything_either(tmp_path: Path) -> None:
    samples = ROOT / "data_samples"
    done = run_program(
        tmp_path, "--date", "2026-11-21", "--consumers", f"{samples}/consumers", "--routes", f"{samples}/routes",
        "--running-info", f"{samples}/running_info", "--client-logs", f"{samples}/client_logs",
        "--settings", f"{ROOT}/conf/local.toml", "-v", "--set", "spark.log.level=WARN", command="allocation",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    assert "WARN" in done.stderr
    assert ONE_POOL not in done.stderr


@pytest.mark.slow
@pytest.mark.fault(19, 32)
def test_a_million_brokers(tmp_path: Path) -> None:
    """Each send goes to a broker of its own; each tenth fails."""

    def lines() -> Iterator[Line]:
        for place in range(1_000_000):
            who = {"client_id": f"p{place % 200}", "broker_name": f"broker-{place:07}", "seq": place}
            yield send(START[D1] + 1_000_000 + place * 80, *_every(10, place)) | who

    _zip(tmp_path / "sends/sends.jsonl.gz", lines())
    done = run_program(tmp_path, "--date", f"{D1}", environ=BOTH_COMPILERS)
    assert done.returncode == 0, done.stderr[-3_000:]
    assert "1,000,000 lines read = 1,000,000 published" in done.stdout
    assert len(done.stdout.splitlines()) < 100


@pytest.mark.slow
@pytest.mark.fault(20)
def test_a_line_of_100_mb(tmp_path: Path) -> None:
    parts = [line(seq=1), line(seq=2, error="x" * 100_000_000), b"{" * 100_000_000, line(seq=3)]
    write(tmp_path / "sends", {"a.jsonl": b"\n".join(parts)})
    done = run_program(tmp_path, "--date", "2026-11-21", "--set", "max_bad_fraction=0.5")
    assert done.returncode == 0, done.stderr[-3_000:]
    assert "4 lines read = 2 published + 2 quarantined" in done.stdout
    assert "2 sends line_too_long" in done.stdout


BAIT = [
    b"{" * 1_000_000,
    b"}" * 1_000_000,
    b"{}" + b" " * 1_000_000 + b"x",
    b"{} " * 300_000,
    b'{"' * 500_000,
    b"\\" * 1_000_000,
    b"\r" * 1_000_000 + b"x",
    b'{"outcome": "' + b"A" * 900_000 + b'Exceptio"}',
    b'{"client_version": "' + b"1." * 400_000 + b'"}',
    b'{"error": "' + b"1." * 400_000 + b'"}',
]


CLIENT_LOG = b"2026-03-01 12:00:00,250 INFO RocketmqClient - "
RESULT = (
    b"rebalanced result changed. allocateMessageQueueStrategyName=A, group=G, topic=T, clientId=c, mqAllSize=1,"
    b" cidAllSize=1, rebalanceResultSize=1, rebalanceResultSet=["
)
CLIENT_LOG_BAIT = [
    b"doRebalance, " * 70_000,
    b"doRebalance, G, add a new mq, " + b"MessageQueue [topic=" * 45_000,
    RESULT + b"MessageQueue [topic=" * 45_000 + b"]]",
    b"the pull request offset illegal, PullRequest " * 20_000,
    b"the consumer [" * 60_000,
]


@pytest.mark.fault(20)
def test_bait_in_client_logs(spark: SparkSession, tmp_path: Path) -> None:
    """Each line again is just short enough to be looked at."""
    log = b"\n".join(CLIENT_LOG + bait for bait in CLIENT_LOG_BAIT)
    manifest = list_files(spark, [str(write(tmp_path / "logs", {"rocketmq_client.log": log}))])
    lines = read_client_logs(spark, manifest, load_settings([], [], {}), (D1, D1), Observation())
    began = time.monotonic()
    found = [row["reason"] for row in lines.drop("raw").orderBy("row").collect()]
    assert time.monotonic() - began < 60
    assert found == [None, "log_line_breaks_off", None, "log_line_breaks_off", None]


@pytest.mark.fault(20)
def test_bait_for_regular_expressions(spark: SparkSession, tmp_path: Path) -> None:
    """Each line is just short enough to be looked at; going back in it at each character would take hours."""
    bait = [line(outcome="A" * 900_000 + "Exceptio"), line(client_version="1." * 400_000), line(error="1." * 400_000)]
    folder = write(tmp_path / "logs", {"a.jsonl": b"\n".join([*BAIT, *bait])})
    began = time.monotonic()
    staged = stage(spark, folder)
    assert time.monotonic() - began < 60
    found = bad_lines(staged, folder)
    assert {found[("a.jsonl", number)][0] for number in range(1, 8)} == {"not_json"}
    assert sum(fates(staged).values()) == len(BAIT) + len(bait)
