"""`faultline show calls`: sends as their callers saw them, by what became of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import main as cli
from jobs.tables import BROKER_WINDOWS, SEND_CALLS
from tests.given.lakes import publish, write_rows
from tests.given.site import D1, START

T1 = START[D1]


def call(number: int, outcome: str, brokers: list[str], **other: object) -> dict[str, Any]:
    return {
        "event_date": D1, "cluster": "main", "client_id": f"p{number}", "producer_group": "PG_a", "topic": "orders",
        "start_ms": T1 + number, "end_ms": T1 + number + 3_000, "total_ms": 3_000, "outcome": outcome,
        "broker_names": brokers, "fault_latency": "COST", **other,
    }  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lake")
    publish(root, D1)
    calls = [
        call(1, "RemotingTimeoutException", ["broker-a"], failed=True),
        call(2, "SEND_OK", ["broker-a", "broker-b"], retried=True),
        call(3, "SEND_OK", ["broker-b"], slow=True, producer_group="PG_b"),
        call(4, "RemotingTooMuchRequestException", ["broker-b", "broker-a"], failed=True, retried=True),
        call(5, "RemotingConnectException", ["broker-c"], failed=True, topic="payments"),
        call(6, "MQBrokerException", ["broker-c"], failed=True),
        call(7, "SiteException", ["broker-c"], failed=True),
        call(8, "FLUSH_DISK_TIMEOUT", ["broker-c"]),
        call(9, "SENT", ["broker-c"], mode="ONEWAY"),
        call(10, "RemotingSendRequestException", ["broker-c"], failed=True),
    ]
    write_rows(root, SEND_CALLS, calls[::-2])  # two files, neither in order of time
    write_rows(root, SEND_CALLS, calls[::2])
    write_rows(root, BROKER_WINDOWS, [{"event_date": D1, "broker_name": f"broker-{name}"} for name in "abc"])
    return root


def _clients(capsys: pytest.CaptureFixture[str], lake: Path, *arguments: str) -> list[int]:
    assert cli.main(["show", "calls", "--lake", str(lake), "--json", *arguments]) == 0
    return [int(row["client_id"][1:]) for row in json.loads(capsys.readouterr().out)["rows"]]


@pytest.mark.parametrize(
    ("arguments", "clients"),
    [
        ([], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (["--failed"], [1, 4, 5, 6, 7, 10]),
        (["--retried"], [2, 4]),
        (["--slow"], [3]),
        (["--failed", "--retried"], [4]),
        (["--failed", "--slow"], []),
        (["--broker", "broker-a"], [1, 2, 4]),
        (["--broker", "broker-b"], [2, 3, 4]),
        (["--broker", "broker-a", "--failed", "--topic", "orders"], [1, 4]),
        (["--group", "PG_b"], [3]),
        (["--topic", "payments"], [5]),
        (["--outcome", "SEND_OK"], [2, 3]),
        (["--outcome", "send_ok"], [2, 3]),
        (["--outcome", "SiteException"], [7]),
        (["--outcome", "ANSWERED"], [2, 3, 8, 9]),
        (["--outcome", "time_out"], [1, 4]),
        (["--outcome", "NO_CONNECTION"], [5, 10]),
        (["--outcome", "REFUSED"], [6]),
        (["--outcome", "OTHER"], [7]),
        (["--since", "00:00:03.004", "--failed"], [5, 6, 7, 10]),
        (["--until", "00:00:00.005", "--failed"], [1, 4]),
    ],
)
def test_calls_by_what_became_of_them(
    capsys: pytest.CaptureFixture[str], lake: Path, arguments: list[str], clients: list[int]
) -> None:
    assert _clients(capsys, lake, *arguments) == clients
    assert _clients(capsys, lake, *arguments, "--limit", "0") == clients
    assert _clients(capsys, lake, *arguments, "--limit", "1") == clients[:1]


def test_what_a_limit_leaves_out_of_a_broker_is_counted(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    assert cli.main(["show", "calls", "--lake", str(lake), "--broker", "broker-a", "--limit", "2"]) == 0
    assert "  1 more are not shown" in capsys.readouterr().out


def test_a_call_in_a_line(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    assert cli.main(["show", "calls", "--lake", str(lake), "--retried", "--failed"]) == 0
    line = capsys.readouterr().out.splitlines()[2]
    assert [cell.strip() for cell in line.split("  ") if cell] == [
        "00:00:00.004", "3,000", "PG_a", "–", "–", "orders", "broker-b, broker-a",
        "RemotingTooMuchRequestException", "yes", "yes", "no", "COST", "p4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--broker", "broker-d"], "no broker 'broker-d' in 2026-03-01 of cluster 'main' (did you mean 'broker-"),
        (["--group", "PG"], "no producer group 'PG' in 2026-03-01 of cluster 'main' (did you mean 'PG_"),
        (["--outcome", "TIMED_OUT"], "of cluster 'main' (did you mean 'TIME_OUT'?)"),
        (["--kind", "x"], "--kind does not narrow calls; use --broker, --producer, --group, --topic, --outcome, "),
    ],
)  # fmt: skip
def test_a_call_of_an_unknown_name_is_a_mistake(
    capsys: pytest.CaptureFixture[str], lake: Path, arguments: list[str], sentence: str
) -> None:
    assert cli.main(["show", "calls", "--lake", str(lake), *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_a_flag_of_calls_narrows_nothing_else(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    assert cli.main(["show", "sends", "--lake", str(lake), "--failed"]) == 2
    assert "--failed does not narrow sends; use --broker" in capsys.readouterr().err
