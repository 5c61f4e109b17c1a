"""The recorder's agent in two applications at once, each client release against real servers of two.

One broker is frozen, and goes on; it is killed, and comes back. The one application ends as it should, the other's
recordings fill their disk and then it is killed.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.given.driven_client import (
    DECISIONS,
    RECORDER,
    ROOT,
    Client,
    Recorded,
    clients,
    compiled,
    json_lines,
    whole_lines,
)
from tests.given.real_cluster import RealCluster, server_jars
from tests.given.small_disk import small_disk

pytestmark = pytest.mark.slow
SERVERS = os.environ.get("FAULTLINE_SERVERS", "4.9.7 5.3.3").split()
BROKERS = ("broker-a", "broker-b")
ENDING_SECONDS = 60
CLIENTS_OWN_ERRORS = {
    "",
    "MQBrokerException",
    "MQClientException",
    "RemotingConnectException",
    "RemotingSendRequestException",
    "RemotingTimeoutException",
    "RemotingTooMuchRequestException",
    "RequestTimeoutException",
}
PERHAPS_WITHOUT_ATTEMPT = {"MQClientException", "RemotingTooMuchRequestException"}
"""No broker of the topic is known, or the time was over before the first attempt; the latter also after attempts."""
NUMBERS = ("current_latency_ms", "not_available_ms", "reachable")


@dataclass(frozen=True)
class Application:
    """A run of `Application` under the agent."""

    folder: Path
    recorded: Recorded
    process: subprocess.Popen[str]

    @property
    def calls(self) -> list[dict[str, Any]]:
        """What each call gave its caller."""
        return self._lines("truth_calls.jsonl")

    @property
    def answers(self) -> list[dict[str, Any]]:
        """What callbacks were given."""
        return self._lines("truth_answers.jsonl")

    def _lines(self, name: str) -> list[dict[str, Any]]:
        """The whole lines of a file that a killed process may have left torn."""
        return whole_lines((self.folder / name).read_text())

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr.txt").read_text()

    def calls_by_topic(self) -> Counter[str]:
        return Counter(call["topic"] for call in self.calls)

    def successes_by_topic(self) -> Counter[str]:
        return Counter(call["topic"] for call in self.calls if not call["error"])

    def decisions(self) -> Counter[tuple[Any, ...]]:
        """What the client decided, as another hand saw it."""
        rows = [row for name in ("updates", "picks") for row in json_lines(self.folder / f"truth_{name}.jsonl")]
        return Counter(
            (row["producer_group"], DECISIONS[row["op"]], row["broker_name"], *(row[name] for name in NUMBERS))
            for row in rows
        )

    def recorded_decisions(self) -> Counter[tuple[Any, ...]]:
        """The same by the recorder, which writes what the detector does besides."""
        return Counter(
            (row["producer_group"], row["op"], row["broker_name"], *(row[name] for name in NUMBERS))
            for row in self.recorded.fault_item_updates
            if row["op"] in DECISIONS.values()
        )


@dataclass(frozen=True)
class Ended:
    """Both applications, after all of it."""

    release: tuple[int, ...]
    well: Application
    killed: Application


def started(client: Client, cluster: RealCluster, folder: Path, recorded: Path, options: str = "") -> Application:
    folder.mkdir()
    agent = f"-javaagent:{RECORDER}={recorded}{options}"
    command = client.command("Application", [cluster.address(), str(folder)], folder, ["-Xmx256m", agent])
    with (folder / "stderr.txt").open("w") as stderr:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True)
    assert process.stdout is not None
    assert "> started\n" in iter(process.stdout.readline, "")
    return Application(folder, Recorded(recorded), process)


@pytest.fixture(scope="module", params=[(server, client) for server in SERVERS for client in clients()], ids="-".join)
def ended(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    server, version = request.param
    folder = tmp_path_factory.mktemp("real")
    client = compiled(version, tmp_path_factory.mktemp("classes"))
    with (
        small_disk(folder / "disk", "2m") as disk,
        RealCluster(server_jars(server, ROOT), folder / "servers", BROKERS) as cluster,
    ):
        well = started(client, cluster, folder / "well", folder / "recorded")
        killed = started(client, cluster, folder / "killed", disk, ",file_mb=1,folder_mb=64")
        with well.process, killed.process:
            try:
                time.sleep(10)
                cluster.freeze("broker-b")
                time.sleep(6)
                cluster.thaw("broker-b")
                time.sleep(8)
                cluster.kill("broker-b")
                time.sleep(8)
                cluster.start("broker-b")
                time.sleep(10)
                well.process.communicate("end\n", timeout=ENDING_SECONDS)
            finally:
                well.process.kill()
                killed.process.kill()
        assert well.process.returncode == 0, well.stderr
        yield Ended(tuple(map(int, version.split("."))), well, killed)


def test_every_decision_is_recorded_as_another_hand_saw_it(ended: Ended) -> None:
    truth, recorded = ended.well.decisions(), ended.well.recorded_decisions()
    print(f"{(truth & recorded).total()} of {truth.total()} decisions")
    assert recorded == truth
    longest = 10_000 if ended.release >= (5, 1, 4) else 30_000
    failed = {
        group for group, op, broker, _, ms, *_ in truth if (op, broker) == ("UPDATE", "broker-b") and ms >= longest
    }
    assert {"PG_orders", "PG_mixed", "PG_payments"} <= failed


def test_every_call_has_its_attempts(ended: Ended) -> None:
    recorded = Counter(topic for topic, _ in {(row["topic"], row["invoke_id"]) for row in ended.well.recorded.sends})
    perhaps_without = Counter(
        call["topic"] for call in [*ended.well.calls, *ended.well.answers] if call["error"] in PERHAPS_WITHOUT_ATTEMPT
    )
    calls = ended.well.calls_by_topic()
    answered = len(ended.well.answers)
    assert 0 <= calls["T_async"] - answered <= 3  # 4.3.0 forgets a callback now and then: no hook is told
    calls["T_async"] = answered
    for topic, count in calls.items():
        assert 0 <= count - recorded[topic] <= perhaps_without[topic], topic


def test_what_the_caller_was_given_is_the_last_attempts_outcome(ended: Ended) -> None:
    last: dict[tuple[str, int], str] = {}
    for row in sorted(ended.well.recorded.sends, key=lambda row: int(row["attempt"])):
        last[row["topic"], row["invoke_id"]] = row["outcome"]
    for topic in ("T_sync", "T_batch", "T_selector", "T_transaction"):
        well = sum(outcome == "SEND_OK" for (of, _), outcome in last.items() if of == topic)
        assert well == ended.well.successes_by_topic()[topic], topic


def test_each_kind_says_how_it_was_sent(ended: Ended) -> None:
    kinds = {(row["topic"], row["mode"], row["queue_chosen_by"], row["order_key"]) for row in ended.well.recorded.sends}
    expected = {
        ("T_sync", "SYNC", "CLIENT", None),
        ("T_batch", "SYNC", "CLIENT", None),
        ("T_oneway", "ONEWAY", "CLIENT", None),
        ("T_async", "ASYNC", "CLIENT", None),
        ("T_selector", "SYNC", "CALLER", "7"),
        ("T_transaction", "SYNC", "CLIENT", None),
    }
    if ended.release >= (4, 6, 0):
        expected.add(("T_request", "ASYNC", "CLIENT", None))
    assert {kind for kind in kinds if kind[0].startswith("T_")} == expected


def test_nothing_is_lost_where_the_disk_takes_it(ended: Ended) -> None:
    by_producer = ended.well.recorded.numbers()
    assert {"PG_orders", "PG_mixed", "PG_payments"} <= {group for group, _ in by_producer}
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in by_producer.values())
    assert "faultline" not in ended.well.stderr


def test_a_full_disk_and_a_kill_leave_whole_lines_and_no_send_fails_by_them(ended: Ended) -> None:
    assert ended.killed.recorded.files
    for file in ended.killed.recorded.files:
        json_lines(file)
    assert "lines are lost: java.io.IOException: No space left on device" in ended.killed.stderr
    well, killed = ended.well.successes_by_topic(), ended.killed.successes_by_topic()
    assert all(killed[topic] > well[topic] / 2 for topic in well)
    assert {call["error"] for call in ended.killed.calls} <= CLIENTS_OWN_ERRORS
