"""The recorder as a library writes what docs/send-log.md says: against the real clients' classes, without a broker."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest

from jobs.sources.send_fields import FIELDS
from tests.given.driven_client import LOCK, ROOT, Client, Recorded, compiled

OF_TRIES = ("one_line_per", "previous_broker_name")
"""What the agent alone writes, of async sends."""
NAMES = [name for name in FIELDS if name not in OF_TRIES]
CLOCK = ("process_id", "started_at_ms", "ended_at_ms", "latency_ms", "submitted_at_ms", "seq", "invoke_id")
# What every line of the driver's scenarios has, unless the scenario says otherwise.
USUAL: dict[str, Any] = {
    "client_id": "10.0.0.1@driver",
    "producer_group": "PG_test",
    "cluster": "main",
    "broker_name": "broker-a",
    "broker_addr": "10.0.0.11:10911",
    "queue_id": 3,
    "client_language": "JAVA",
    "mode": "SYNC",
    "attempt": 1,
    "result_broker_name": None,
    "cause": None,
    "response_code": None,
    "error": None,
    "msg_id": None,
    "thread": "main",
    "queue_chosen_by": "CLIENT",
    "order_key": None,
    "fault_latency_enabled": True,
}


@pytest.fixture(scope="module", params=list(LOCK))
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Client:
    return compiled(request.param, tmp_path_factory.mktemp("classes"))


@pytest.fixture(scope="module")
def written(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return drive(client, "calls", tmp_path_factory.mktemp("recorded"))


def drive(client: Client, what: str, folder: Path) -> Recorded:
    """Run one of the driver's parts, recording below `folder`."""
    client.run("HookDriver", [what, str(folder / "recorded")], folder)
    return Recorded(folder / "recorded")


def expected(client: Client, topic: str, **own: object) -> dict[str, Any]:
    detector = False if client.version == "5.3.3" else None  # there is none before 5.1.4
    return USUAL | {"client_version": client.version, "topic": topic, "detector_enabled": detector} | own


def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in CLOCK} for row in rows]


def test_every_line_has_exactly_the_canonical_fields(written: Recorded) -> None:
    assert len(written.sends) == 24
    for row in written.sends:
        assert list(row) == NAMES


def test_times_and_numbers_hold_together(written: Recorded) -> None:
    now_ms = time.time_ns() // 1_000_000
    (process,) = {row["process_id"] for row in written.sends}
    made_at_ms = int(re.fullmatch(r"\d+@(\d+)", process)[1])  # type: ignore[index]
    assert [row["seq"] for row in written.sends] == list(range(1, 25))
    for row in written.sends:
        assert made_at_ms <= row["started_at_ms"] <= row["ended_at_ms"] <= now_ms
        assert row["latency_ms"] == row["ended_at_ms"] - row["started_at_ms"]
        assert (row["submitted_at_ms"] is None) or (row["submitted_at_ms"] >= row["started_at_ms"])


def test_a_sync_send(client: Client, written: Recorded) -> None:
    ok = expected(client, "sync-ok", outcome="SEND_OK", msg_id="m1", result_broker_name="broker-a")
    assert timeless(written.of("sync-ok")) == [ok]
    assert [row["submitted_at_ms"] for row in written.of("sync-ok")] == [None]


def test_attempts_of_one_sync_send_share_its_invoke_id(client: Client, written: Recorded) -> None:
    timeout = "wait response on the channel <10.0.0.11:10911> timeout, 500(ms)"
    rows = written.of("sync-retried")
    topic = "sync-retried"
    assert timeless(rows) == [
        expected(client, topic, outcome="RemotingTimeoutException", error=timeout),
        expected(
            client,
            topic,
            attempt=2,
            broker_name="broker-b",
            outcome="MQBrokerException",
            response_code=2,
            error="CODE: 2  DESC: system busy",
        ),
        expected(client, topic, attempt=3, outcome="SLAVE_NOT_AVAILABLE", msg_id="m2", result_broker_name="broker-a"),
        expected(client, topic, broker_name="broker-b", outcome="InterruptedException", error="stopped"),
        expected(client, topic, broker_name="broker-b", outcome="SEND_OK", msg_id="m3", result_broker_name="broker-b"),
    ]
    first = rows[0]["invoke_id"]
    assert [row["invoke_id"] - first for row in rows] == [0, 0, 0, 1, 2]


def test_more_failures_than_the_producer_retries_are_another_send(written: Recorded) -> None:
    rows = written.of("sync-failed-often")
    first = rows[0]["invoke_id"]
    assert [(row["invoke_id"] - first, row["attempt"]) for row in rows] == [(0, 1), (0, 2), (0, 3), (1, 1)]


def test_an_answered_async_send_names_the_broker_that_answered(client: Client, written: Recorded) -> None:
    ok = expected(client, "async-ok", mode="ASYNC", outcome="SEND_OK", msg_id="m4", result_broker_name="broker-b")
    rows = written.of("async-ok")
    assert timeless(rows) == [ok]
    assert rows[0]["submitted_at_ms"] <= rows[0]["ended_at_ms"] - 20


def test_a_failed_async_send_keeps_its_cause_and_the_address(client: Client, written: Recorded) -> None:
    text = "wait response timeout, cost=3461 <- wait response on the channel <10.0.0.11:10911> timeout, 3000(ms)"
    rows = written.of("async-failed")
    assert timeless(rows) == [
        expected(
            client,
            "async-failed",
            mode="ASYNC",
            outcome="MQClientException",
            cause="RemotingTimeoutException",
            error=text,
        )
    ]
    assert rows[0]["submitted_at_ms"] is not None


def test_a_callback_that_overtakes_the_submit_call_waits_for_its_time(client: Client, written: Recorded) -> None:
    answered, failed = written.of("async-overtaken"), written.of("async-failed-overtaken")
    assert timeless(answered) == [
        expected(client, "async-overtaken", mode="ASYNC", outcome="SEND_OK", msg_id="m5", result_broker_name="broker-a")
    ]
    assert answered[0]["submitted_at_ms"] >= answered[0]["ended_at_ms"] + 20
    assert timeless(failed) == [
        expected(
            client,
            "async-failed-overtaken",
            mode="ASYNC",
            outcome="MQBrokerException",
            response_code=16,
            error="CODE: 16  DESC: no permission",
        )
    ]
    assert failed[0]["submitted_at_ms"] >= failed[0]["ended_at_ms"]


def test_a_result_that_the_client_wiped_is_an_answer(client: Client, written: Recorded) -> None:
    text = "answered; the client wiped the result before the hook saw it, SEND_OK assumed"
    assert timeless(written.of("async-wiped")) == [
        expected(client, "async-wiped", mode="ASYNC", outcome="SEND_OK", error=text)
    ]


def test_a_refusal_inside_the_submit_call_has_no_submit_time(client: Client, written: Recorded) -> None:
    thrown, twice = written.of("async-thrown"), written.of("async-refused-twice")
    refused: dict[str, Any] = {"mode": "ASYNC", "outcome": "RemotingConnectException"}
    assert timeless(thrown) == [expected(client, "async-thrown", error="connect to 10.0.0.11:10911 failed", **refused)]
    # From 4.9.3 the hook fires a second time, when the submit call returns.
    again = expected(client, "async-refused-twice", error="connect to 10.0.0.12:10911 failed", **refused)
    assert timeless(twice) == [again, again]
    assert len({row["invoke_id"] for row in twice}) == 1
    assert [row["submitted_at_ms"] for row in thrown + twice] == [None, None, None]


def test_a_one_way_send_is_handed_over(client: Client, written: Recorded) -> None:
    assert timeless(written.of("oneway-ok")) == [expected(client, "oneway-ok", mode="ONEWAY", outcome="SENT")]


def test_a_queue_renamed_during_the_send_has_the_name_that_is_charged(client: Client, written: Recorded) -> None:
    answer: dict[str, Any] = {"outcome": "SEND_OK", "result_broker_name": "broker-a"}
    sync = expected(client, "renamed", broker_name="broker-z", msg_id="m6", **answer)
    assert timeless(written.of("renamed")) == [sync]
    kept = expected(client, "async-renamed", mode="ASYNC", msg_id="m9", **answer)
    assert timeless(written.of("async-renamed")) == [kept]
    assert written.of("another") == []


def test_any_text_is_one_line_of_json(client: Client, written: Recorded) -> None:
    text = 'a"b\\c\n\r\t\x00\x1f\x7f\x85\u2028\u2029'
    assert timeless(written.of("awkward")) == [
        expected(
            client,
            "awkward",
            broker_name='broker "é"\\😀',
            outcome="IllegalStateException",
            error=text + "x" * (300 - len(text)),
        )
    ]
    assert timeless(written.of("no-text")) == [expected(client, "no-text", outcome="Exception", cause="Exception")]


def test_other_hooks_keep_their_properties_and_may_cost_a_line(client: Client, written: Recorded) -> None:
    ok = expected(client, "kept-props", outcome="SEND_OK", msg_id="m7", result_broker_name="broker-a")
    assert timeless(written.of("kept-props")) == [ok]
    assert written.of("lost-props") == []
    counted = {name: value for name, value in written.counters[-1].items() if name not in ("counted_at_ms", "process")}
    assert counted == {
        "sends": 24,
        "fault_item_updates": 0,
        "dropped_queue_full": 0,
        "lost_on_disk": 0,
        "switched_off": 0,
        "not_stamped": 2,
        "files_deleted": 0,
    }


def test_files_are_named_by_hour_and_process(written: Recorded) -> None:
    process = str(written.sends[0]["process_id"]).partition("@")[0]
    assert written.files
    for file in written.files:
        assert re.fullmatch(rf"sends-\d{{8}}T\d\dZ-[A-Za-z0-9._-]+-{process}-0\.jsonl", file.name)
        assert file.parent.name == "sends"


def test_a_broken_disk_loses_lines_but_no_send(client: Client, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "recorded")
    recorded.folder.mkdir()
    (recorded.folder / "sends").write_text("a file where the folder should be")
    done = client.run("HookDriver", ["broken-disk", str(recorded.folder)], tmp_path)
    assert done.stderr.count("faultline-recorder: cannot write to") == 1
    assert [recorded.counters[-1][name] for name in ("sends", "lost_on_disk")] == [0, 1]


def test_a_real_producer_and_ports_that_refuse(client: Client, tmp_path: Path) -> None:
    rows = drive(client, "refused", tmp_path).of("refused")
    brokers = {"broker-a": "127.0.0.1:2", "broker-b": "127.0.0.1:3"}
    assert all(brokers[row["broker_name"]] == row["broker_addr"] for row in rows)
    refused = ("RemotingConnectException", None)
    others: dict[str, list[tuple[object, ...]]] = {
        "4.7.1": [("ASYNC", 2, 1, *refused), ("ONEWAY", 3, 1, *refused)],
        # The refusals are retried within the submit call, which returns with the last one: a second line.
        "4.9.8": [("ASYNC", 2, 1, *refused), ("ASYNC", 2, 1, *refused), ("ONEWAY", 3, 1, *refused)],
        # It connects beside the caller: the refusal comes in a callback, and of a one-way send to nobody.
        "5.3.3": [("ASYNC", 2, 1, "MQClientException", "RemotingConnectException"), ("ONEWAY", 3, 1, "SENT", None)],
    }
    told = [(row["mode"], row["invoke_id"], row["attempt"], row["outcome"], row["cause"]) for row in rows]
    assert told == [("SYNC", 1, attempt, *refused) for attempt in (1, 2, 3)] + others[client.version]
    for row in rows:
        assert row["outcome"] == "SENT" or re.search(r"connect to 127\.0\.0\.1:[23] failed$", row["error"])


def test_the_page_describes_every_field_in_order() -> None:
    page = (ROOT / "docs" / "send-log.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z_]+)` \|", page, flags=re.MULTILINE) == [*NAMES, *OF_TRIES]
