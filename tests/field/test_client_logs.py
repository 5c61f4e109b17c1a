"""Client logs as sites have them: layouts, zones, logs that stop or roll, offsets that are reset; one run over all."""

from __future__ import annotations

import dataclasses
import datetime as dt
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.settings.load import load_settings
from tests.given.snapshot_site import SnapshotSite

CASES, DAY = Path(__file__).parent, dt.date(2026, 11, 21)
LAYOUTS, CUT, DOWN, BERLIN, RESET = (
    "01-slf4j-layout-without-dash", "35-log-cut-short", "36-broker-down-and-stale-view", "39-dot-millis-in-berlin",
    "40-reset-offset",
)  # fmt: skip
SETTINGS = [
    'client_logs."host-3*".client_version="4.9.4"',
    'client_logs."host-3*".time_zone="UTC"',
    'client_logs."host-163".client_version="4.4.0"',
    'client_logs."host-163".time_zone="UTC"',
    'client_logs."host".client_version="4.9.8"',
    'client_logs."host".time_zone="UTC"',
    'client_logs."39-host-5".client_version="4.9.4"',
    'client_logs."39-host-5".time_zone="Europe/Berlin"',
    'client_logs."40-host-4".client_version="4.9.4"',
    'client_logs."40-host-4".time_zone="UTC"',
]


def spring(clock: str, pid: int, message: str) -> str:
    return f"2026-11-21T{clock}.000+01:00  INFO {pid} --- [app] [main] [] RocketmqClient : {message}"


def begun(clock: str, pid: int, group: str, broker: str) -> list[str]:
    """A consumer starts and takes queue 0 of a broker."""
    return [
        spring(clock, pid, f"the consumer [{group}] start beginning. messageModel=CLUSTERING, isUnitMode=false"),
        spring(clock, pid, f"Created a new client Instance, InstanceIndex:0, ClientID:{pid}@x, ClientConfig:x"),
        spring(clock, pid, f"doRebalance, {group}, add a new mq, {queue(broker)}"),
    ]


def queue(broker: str) -> str:
    return f"MessageQueue [topic=made_event, brokerName={broker}, queueId=0]"


def named(clock: str, pid: int, group: str) -> str:
    said = f"[persistAll] Group: {group} ClientId: {pid}@x updateConsumeOffsetToBroker {queue('broker-a')} 1"
    return spring(clock, pid, said)


@pytest.fixture(scope="module")
def site(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SnapshotSite:
    settings = dataclasses.replace(load_settings([], SETTINGS, {}), cluster="DefaultCluster")
    made = SnapshotSite(spark, tmp_path_factory.mktemp("field"), settings)
    for case in (LAYOUTS, CUT, DOWN, BERLIN, RESET):
        for kind in ("consumers", "routes"):
            text = gzip.decompress((CASES / case / f"{kind}.jsonl.gz").read_bytes()).decode()
            made.log(kind, map(json.loads, text.splitlines()), f"{case}.jsonl")
        for log in (CASES / case / "logs").rglob("*.gz"):
            path = log.relative_to(CASES / case / "logs").as_posix()
            made.client_log(path.removesuffix(".gz"), gzip.decompress(log.read_bytes()).decode().splitlines())
    # A log in two parts, of names that say nothing.
    made.client_log(
        "parts/x.saved", [*begun("10:00:05", 11, "CG_parts", "broker-a"), named("10:30:00", 11, "CG_parts")]
    )
    made.client_log("parts/console", [
        named("10:31:00", 11, "CG_parts"), "\tat c.a.Shop.main(Shop.java:95)",
        spring("10:45:00", 11, "CG_parts is not what this says").replace("RocketmqClient", "c.a.shop.Shop"),
        spring("11:00:00", 11, f"doRebalance, CG_parts, remove unnecessary mq, {queue('broker-a')}"),
    ])  # fmt: skip
    # Two processes in one log.
    made.client_log("pids/console.log", [
        *begun("10:00:05", 21, "CG_pids", "broker-a"), *begun("10:10:05", 22, "CG_pids", "broker-b"),
        named("10:20:00", 22, "CG_pids"),
        spring("10:30:00", 21, f"doRebalance, CG_pids, remove unnecessary mq, {queue('broker-a')}"),
        spring("10:40:00", 22, "the consumer [CG_pids] shutdown OK"),
    ])  # fmt: skip
    made.run(DAY)
    return made


def clock(ms: int) -> str:
    return f"{dt.datetime.fromtimestamp(ms / 1000, dt.UTC):%H:%M:%S.%f}"[:-3]


def owned(site: SnapshotSite, group: str) -> list[tuple[str, str, int, str, str]]:
    """Client, broker, queue, from, until, but for retry topics."""
    columns = ("topic", "client_id", "broker_name", "queue_id", "start_ms", "end_ms")
    rows = list(site.rows("queue_ownership", *columns, consumer_group=group, source="CLIENT_LOG"))
    found = [
        (row["client_id"], row["broker_name"], row["queue_id"], clock(row["start_ms"]), clock(row["end_ms"]))
        for row in rows
        if not row["topic"].startswith("%RETRY%")
    ]
    return sorted(found)


def findings(site: SnapshotSite, group: str, kind: str) -> list[tuple[str, str, int, str, str]]:
    columns = ("topic", "cause", "broker_name", "queue_id", "start_ms", "end_ms")
    rows = site.rows("allocation_findings", *columns, consumer_group=group, kind=kind, basis="OBSERVED")
    return sorted(
        (row["cause"], row["broker_name"], row["queue_id"], clock(row["start_ms"]), clock(row["end_ms"]))
        for row in rows
        if not row["topic"].startswith("%RETRY%")
    )


def test_layouts_without_a_dash(site: SnapshotSite) -> None:
    """Case 01."""
    found = owned(site, "CG_trade")
    assert [row[:4] for row in found] == [
        ("10.2.0.31@17#88812345678901", "broker-a", 0, "09:00:06.128"),
        ("10.2.0.31@17#88812345678901", "broker-a", 1, "09:00:06.135"),
        ("10.2.0.32@23#99912345678902", "broker-b", 0, "09:00:06.228"),
        ("10.2.0.32@23#99912345678902", "broker-b", 1, "09:00:06.235"),
    ]
    assert found[1][4] == "10:00:00.001"


def test_a_log_that_stops_ends_what_is_known(site: SnapshotSite) -> None:
    """Case 35: brokers list the client an hour longer."""
    assert [row[1:] for row in owned(site, "CG_cut")] == [("broker-a", 0, "09:00:31.500", "09:59:59.500")]
    assert findings(site, "CG_cut", "UNASSIGNED") == []


def test_each_cause_has_its_own_time(site: SnapshotSite) -> None:
    """Case 36: the lock is not granted for ten minutes."""
    locked = [each for each in findings(site, "CG_ord", "UNASSIGNED") if each[0] == "LOCK_NOT_GRANTED"]
    assert locked == [
        ("LOCK_NOT_GRANTED", "broker-b", queue, "09:30:10.000", "09:40:00.70" + str(queue)) for queue in (0, 1)
    ]


def test_a_dot_says_no_zone(site: SnapshotSite) -> None:
    """Case 39."""
    assert [row[1:4] for row in owned(site, "CG_ledger")] == [
        ("broker-a", 0, "09:00:06.128"), ("broker-a", 1, "09:00:06.135")
    ]  # fmt: skip


def test_an_offset_that_is_reset(site: SnapshotSite) -> None:
    """Case 40: two of six queues are dropped and taken again."""
    spans = [(row[2], *row[3:]) for row in owned(site, "CG_catalog") if row[1] == "broker-a"]
    assert [(*span[:2], span[2]) for span in spans if span[1] < "13:00"] == [
        (0, "12:00:06.128", "13:05:17.640"), (1, "12:00:06.135", "13:05:17.640")
    ]  # fmt: skip
    assert [span[:2] for span in spans if span[1] > "13:00"] == [(0, "13:05:27.811"), (1, "13:05:27.812")]
    others = {
        row[1:3] for row in owned(site, "CG_catalog") if row[1] != "broker-a" and row[3] < "13:00" and row[4] > "13:06"
    }
    assert others == {("broker-b", 0), ("broker-b", 1), ("broker-c", 0), ("broker-c", 1)}
    assert [each for each in findings(site, "CG_catalog", "UNASSIGNED") if each[3] > "13:00"] == [
        ("OFFSET_RESET", "broker-a", 0, "13:05:17.640", "13:05:27.811"),
        ("OFFSET_RESET", "broker-a", 1, "13:05:17.640", "13:05:27.812"),
    ]


def test_parts_of_any_name_are_one_log(site: SnapshotSite) -> None:
    assert owned(site, "CG_parts") == [("11@x", "broker-a", 0, "09:00:05.000", "10:00:00.000")]


def test_processes_of_one_log_are_told_apart_by_pid(site: SnapshotSite) -> None:
    assert owned(site, "CG_pids") == [
        ("21@x", "broker-a", 0, "09:00:05.000", "09:30:00.000"),
        ("22@x", "broker-b", 0, "09:10:05.000", "09:40:00.000"),
    ]


def test_what_was_read_is_counted_by_file(site: SnapshotSite) -> None:
    (row,) = site.rows("run_log", "client_logs", status="SUCCEEDED")
    read: dict[str, dict[str, Any]] = {
        each.pop("file").rpartition("client_logs/")[2]: each for each in row["client_logs"]
    }
    assert read["parts/console"] == {
        "entries": 3,
        "other_loggers": 1,
        "events": 1,
        "zone_assumed": 0,
        "without_head": 0,
    }
    assert set(read) == {
        "host-31/app.log", "host-32/app.log", "host-163/rocketmq_client.log", "host/rocketmq_client.log",
        "39-host-5/app.log", "40-host-4/rocketmq_client.log", "parts/x.saved", "parts/console", "pids/console.log",
    }  # fmt: skip
    assert all(each["events"] for each in read.values())
