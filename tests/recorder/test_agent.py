"""The recorder as an agent, with real clients that know nothing of it and brokers that do as a test says."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.given.async_tries import calls, check_tries, sends_of_tries
from tests.given.driven_client import (
    DECISIONS,
    RECORDER,
    Client,
    Recorded,
    clients,
    compiled,
    json_lines,
    whole_lines,
)
from tests.given.fake_cluster import Answer, Behaviour, FakeCluster
from tests.given.small_disk import small_disk

UPDATE_FIELDS = [
    "client_id",
    "producer_group",
    "process_id",
    "cluster",
    "broker_name",
    "op",
    "at_ms",
    "current_latency_ms",
    "not_available_ms",
    "reachable",
    "available_at_ms",
    "thread",
    "seq",
]


@dataclass(frozen=True)
class Run:
    """A run of `Sender` under the agent: what was recorded, and what the client's own calls were."""

    recorded: Recorded
    calls: list[dict[str, Any]]
    stdout: str
    stderr: str

    def updates(self, group: str) -> list[list[str]]:
        """The recorded updates of a group, as the wrapper of `Sender` writes calls."""
        rows = [row for row in self.recorded.fault_item_updates if row["producer_group"] == group]
        return [
            [group, row["op"], row["broker_name"]]
            + (
                [str(row[name]) for name in ("current_latency_ms", "not_available_ms", "available_at_ms")]
                if row["op"] == "UPDATE"
                else []
            )
            for row in rows
        ]

    def called(self, group: str) -> list[list[str]]:
        """What the wrapper wrote of a group."""
        return [as_called(row) for row in self.calls if row["producer_group"] == group]


@pytest.fixture(scope="module", params=clients())
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Client:
    return compiled(request.param, tmp_path_factory.mktemp("classes"))


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Client:
    return compiled("5.3.3", tmp_path_factory.mktemp("classes"))


def release(client: Client) -> tuple[int, ...]:
    return tuple(int(part) for part in client.version.split("."))


def keeps_the_latest_end(client: Client) -> bool:
    """From 5.1.4 on: other ladder, a reachable flag, no fallback."""
    return release(client) >= (5, 1, 4)


def as_called(row: dict[str, Any]) -> list[str]:
    """A line of the watcher in the form of `Run.updates`."""
    op = DECISIONS[row["op"]]
    numbers = ("current_latency_ms", "not_available_ms", "available_at_ms") if op == "UPDATE" else ()
    return [row["producer_group"], op, row["broker_name"], *(str(row[name]) for name in numbers)]


def agent(folder: Path | str, options: str = "") -> str:
    return f"-javaagent:{RECORDER}={folder}{options}"


def watched(
    client: Client,
    scenario: str,
    folder: Path,
    behave: Behaviour = lambda _: Answer(),
    options: str = ",cluster=main",
) -> Run:
    """Run a scenario of `Sender` under the agent."""
    with FakeCluster(behave=behave) as cluster:
        done = client.run(
            "Sender",
            [cluster.name_server, str(folder), scenario],
            folder,
            [agent(folder / "recorded", options)],
        )
    return Run(
        Recorded(folder / "recorded"),
        sorted(
            (row for name in ("updates", "picks") for row in json_lines(folder / f"truth_{name}.jsonl")),
            key=lambda row: int(row["seq"]),
        ),
        done.stdout,
        done.stderr,
    )


@pytest.fixture(scope="module")
def kinds(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One send of each kind."""
    return watched(client, "kinds", tmp_path_factory.mktemp("kinds"))


def test_each_kind_of_send_says_who_chose_the_queue_and_by_what_key(kinds: Run) -> None:
    assert [
        (row["topic"], row["mode"], row["outcome"], row["queue_chosen_by"], row["order_key"], row["attempt"])
        for row in kinds.recorded.sends
        if row["producer_group"] == "PG_plain"
    ] == [
        ("sync", "SYNC", "SEND_OK", "CLIENT", None, 1),
        ("selector", "SYNC", "SEND_OK", "CALLER", "3", 1),
        ("object-key", "SYNC", "SEND_OK", "CALLER", None, 1),
        ("given", "SYNC", "SEND_OK", "CALLER", None, 1),
        ("batch", "SYNC", "SEND_OK", "CLIENT", None, 1),
        ("oneway", "ONEWAY", "SENT", "CLIENT", None, 1),
        ("oneway-selector", "ONEWAY", "SENT", "CALLER", "order-7", 1),
        ("async", "ASYNC", "SEND_OK", "CLIENT", None, 1),
        ("async-selector", "ASYNC", "SEND_OK", "CALLER", "9", 1),
        ("async-given", "ASYNC", "SEND_OK", "CALLER", None, 1),
    ]


def test_every_producer_of_the_process_is_recorded(kinds: Run, client: Client) -> None:
    assert {
        row["producer_group"]: (row["topic"], row["fault_latency_enabled"], row["cluster"])
        for row in kinds.recorded.sends
        if row["producer_group"] != "PG_plain"
    } == {"PG_off": ("off", False, "main"), "PG_transaction": ("transaction", True, "main")}
    assert {row["client_version"] for row in kinds.recorded.sends} == {client.version}
    assert kinds.stderr.count("faultline") == 0


def test_the_updates_are_the_clients_own(kinds: Run) -> None:
    assert (
        len(kinds.called("PG_plain")) >= 5
    )  # sync, batch, one-way, async and its submit, whichever writes in this release
    for group in ("PG_plain", "PG_transaction"):
        # An async send's callback and its submit call may write at once: who is first differs, and so does the end.
        without_end = [sorted(call[:5] for call in calls) for calls in (kinds.updates(group), kinds.called(group))]
        assert without_end[0] == without_end[1]
    assert kinds.updates("PG_off") == []  # the switch is off: the client updates nothing
    assert all(list(row) == UPDATE_FIELDS for row in kinds.recorded.fault_item_updates)


def test_sends_and_updates_of_a_producer_share_one_count(kinds: Run) -> None:
    by_producer = kinds.recorded.numbers()
    assert {"PG_plain", "PG_transaction", "PG_off"} <= {group for group, _ in by_producer}
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in by_producer.values())


@pytest.fixture(scope="module")
def troubled(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Forty sends to two brokers, of which one fails and the other is slow once."""
    answers = {"broker-a": [Answer(after_ms=700)], "broker-b": [Answer(code=2)] * 3}

    def behave(broker: str) -> Answer:
        return answers[broker].pop() if answers[broker] else Answer()

    return watched(client, "sync", tmp_path_factory.mktemp("troubled"), behave)


def test_isolations_are_recorded_with_what_the_client_made_of_them(client: Client, troubled: Run) -> None:
    assert troubled.updates("PG_plain") == troubled.called("PG_plain")
    longest, least = (10_000, 2_000) if keeps_the_latest_end(client) else (600_000, 30_000)
    lengths = {(row["broker_name"], row["not_available_ms"]) for row in troubled.recorded.fault_item_updates}
    assert ("broker-b", longest) in lengths
    assert max(ms or 0 for broker, ms in lengths if broker == "broker-a") >= least  # it answered after 700 ms
    reachable = {row["reachable"] for row in troubled.recorded.fault_item_updates}
    assert reachable == ({True, False} if keeps_the_latest_end(client) else {None})


def test_what_the_fallback_picks_is_recorded(client: Client, troubled: Run) -> None:
    picked = [row for row in troubled.recorded.fault_item_updates if row["op"] == "PICKED"]
    assert bool(picked) != keeps_the_latest_end(client)  # both brokers are isolated; from 5.1.4 nothing is picked


def test_an_attempt_and_its_update_go_together(troubled: Run) -> None:
    updates = {row["seq"]: row for row in troubled.recorded.fault_item_updates}
    for send in troubled.recorded.sends:
        if send["outcome"] == "SEND_OK":
            update = updates[send["seq"] + 1]
            assert (update["op"], update["broker_name"]) == ("UPDATE", send["broker_name"])
            assert 0 <= update["at_ms"] - send["ended_at_ms"] < 1_000


def test_attempts_of_one_send_are_counted(client: Client, troubled: Run) -> None:
    failed = [row["seq"] for row in troubled.recorded.sends if row["outcome"] == "MQBrokerException"]
    assert failed
    by_call: dict[int, list[int]] = {}
    for row in troubled.recorded.sends:
        by_call.setdefault(row["invoke_id"], []).append(row["attempt"])
    assert all(attempts == list(range(1, len(attempts) + 1)) for attempts in by_call.values())
    retries = sum(len(attempts) - 1 for attempts in by_call.values())
    # Code 2, SYSTEM_BUSY, is retried from 5.3.3 on; before, the exception goes to the caller at once.
    assert retries == (len(failed) if release(client) >= (5, 3, 3) else 0)


@pytest.fixture(scope="module")
def tried(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Async sends to a broker that answers, one that does not, or says no, and one that is dead."""
    folder = tmp_path_factory.mktemp("tried")
    answers = [Answer(code=2), Answer(), Answer(code=2), Answer(is_silent=True), Answer(), Answer(is_silent=True)]

    def behave(broker: str) -> Answer:
        return answers.pop() if answers and broker == "broker-b" else Answer()

    with FakeCluster(("broker-a", "broker-b", "broker-c"), behave) as cluster:
        cluster.kill("broker-c")
        arguments = [cluster.name_server, str(folder), "tries"]
        done = client.run("Sender", arguments, folder, [agent(folder / "recorded")])
    return Run(Recorded(folder / "recorded"), json_lines(folder / "truth_tries.jsonl"), done.stdout, done.stderr)


def test_each_try_of_an_async_send_is_an_attempt(client: Client, tried: Run) -> None:
    sends = tried.recorded.of("tries")
    assert calls(sends) == calls(tried.calls)
    of_sends = sends_of_tries(sends)
    for tries in of_sends:
        check_tries(tries)
    assert len(of_sends) == 30, tried.stdout
    assert sum(tries[0]["queue_chosen_by"] == "CALLER" for tries in of_sends) == 6
    refused = [tries for tries in of_sends if "RemotingConnectException" in (tries[0]["outcome"], tries[0]["cause"])]
    assert refused
    for tries in refused:
        # Thrown to the caller up to 4.9.2; then the client tries again, before the submit call returns or after.
        is_thrown = release(client) <= (4, 9, 2)
        assert (tries[0]["submitted_at_ms"] is None, len(tries) == 1) == (is_thrown, is_thrown)
    numbers = tried.recorded.numbers()["PG_plain", sends[0]["client_id"]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert "faultline" not in tried.stderr


def test_the_update_of_a_failed_try_stands_before_it_and_of_an_answered_one_after(tried: Run) -> None:
    updates = {row["seq"]: row for row in tried.recorded.fault_item_updates}
    for row in (row for row in tried.recorded.of("tries") if row["mode"] == "ASYNC"):
        is_thrown = row["submitted_at_ms"] is None and row["attempt"] == 1
        if is_thrown or row["outcome"] == "RemotingTooMuchRequestException":
            continue
        near = [updates.get(row["seq"] + step) for step in ((1, 2, 3) if row["outcome"] == "SEND_OK" else (-1, -2, -3))]
        charged = {update["broker_name"] for update in near if update and update["op"] == "UPDATE"}
        assert charged & {row["broker_name"], row.get("previous_broker_name")}


def test_the_detectors_rounds_are_recorded(newest: Client, tmp_path: Path) -> None:
    run = watched(newest, "detector", tmp_path)
    rows = [
        (row["broker_name"], row["op"], row["reachable"], row["available_at_ms"] is not None)
        for row in run.recorded.fault_item_updates[1:]
    ]
    assert sorted(rows[:2]) == [("broker-a", "UPDATE", False, True), ("broker-gone", "UPDATE", False, True)]
    assert sorted(rows[2:]) == [("broker-a", "REACHABLE", True, True), ("broker-gone", "DROPPED", None, False)]


@pytest.fixture
def sending(newest: Client, tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts a producer that never ends, under the agent with these options."""

    def start(options: str) -> subprocess.Popen[str]:
        command = newest.command(
            "Sender",
            [cluster.name_server, str(tmp_path), "forever"],
            tmp_path,
            [agent(tmp_path / "r", options)],
        )
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        return process

    started: list[subprocess.Popen[str]] = []
    with FakeCluster() as cluster:
        yield start
        for process in started:
            process.kill()
            process.communicate()


def until(what: Callable[[], bool], seconds: float = 20) -> None:
    """Wait until it is so."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_killed_process_leaves_whole_lines_and_loses_those_of_its_last_moment(
    sending: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = sending("")
    recorded = Recorded(tmp_path / "r")
    until(lambda: any(file.stat().st_size > 50_000 for file in recorded.files))
    process.send_signal(signal.SIGKILL)
    process.wait()
    text = "".join(file.read_text() for file in recorded.files)
    numbers = sorted(row["seq"] for row in whole_lines(text))
    assert numbers[0] == 1
    missing = set(range(1, numbers[-1] + 1)) - set(numbers)
    assert len(missing) <= 600  # at most what one batch holds of the other kind


def test_a_process_that_ends_writes_what_waits(sending: Callable[[str], subprocess.Popen[str]], tmp_path: Path) -> None:
    process = sending("")
    recorded = Recorded(tmp_path / "r")
    until(lambda: bool(recorded.files))
    process.send_signal(signal.SIGTERM)
    process.wait()
    rows = recorded.sends + recorded.fault_item_updates
    assert sorted(row["seq"] for row in rows) == list(range(1, len(rows) + 1))
    assert recorded.counters[-1]["sends"] == len(recorded.sends)
    assert recorded.counters[-1]["fault_item_updates"] == len(recorded.fault_item_updates)


def test_a_file_named_off_switches_recording_off_and_leaves_a_gap(
    sending: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = sending("")
    recorded = Recorded(tmp_path / "r")
    until(lambda: bool(recorded.files))
    (recorded.folder / "OFF").touch()
    time.sleep(2.5)
    before = sum(file.stat().st_size for file in recorded.files)
    time.sleep(1)
    assert sum(file.stat().st_size for file in recorded.files) == before
    (recorded.folder / "OFF").unlink()
    until(lambda: sum(file.stat().st_size for file in recorded.files) > before)
    process.send_signal(signal.SIGTERM)
    process.wait()
    rows = recorded.sends + recorded.fault_item_updates
    numbers = {row["seq"] for row in rows}
    assert max(numbers) - len(numbers) == recorded.counters[-1]["switched_off"] > 0


def test_the_bean_switches_recording_and_counts(newest: Client, tmp_path: Path) -> None:
    run = watched(newest, "switched", tmp_path)
    assert run.stdout.splitlines() == [
        "Recording true",
        "Producers 4",  # two clients have one of their own each, by which consumers send messages back
        "Sends 20",
        "FaultItemUpdates 20",
        "SwitchedOff 20",
        "LostOnDisk 0",
    ]
    seqs = [row["seq"] for row in run.recorded.sends]
    assert seqs == [*range(1, 21, 2), *range(41, 61, 2)]


def test_producers_that_nobody_uses_are_not_held(newest: Client, tmp_path: Path) -> None:
    assert watched(newest, "forgotten", tmp_path).stdout.splitlines()[-1] == "0 are held"


def test_standard_output_marks_the_recorders_lines(newest: Client, tmp_path: Path) -> None:
    with FakeCluster() as cluster:
        done = newest.run("Sender", [cluster.name_server, str(tmp_path), "sync"], tmp_path, [agent("stdout")])
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"faultline"')]
    kinds = [row["faultline"] for row in rows]
    assert (kinds.count("sends"), kinds.count("fault_item_updates"), kinds[-1]) == (40, 40, "counts")
    assert (rows[-1]["sends"], rows[-1]["lost_on_disk"]) == (40, 0)


def test_mistakes_in_the_options_are_said_and_the_application_runs(newest: Client, tmp_path: Path) -> None:
    said = {
        "": "no folder in ''; give one: -javaagent:faultline-recorder.jar=/var/log/app/faultline",
        "/tmp/r,colour=red": "unknown option colour (value red); known are cluster, file_mb, folder_mb,",
        "/tmp/r,file_mb=0": "file_mb=0 is not a number from 1 to 4096; give one",
        "/tmp/r,gzip=yes": "gzip=yes is neither true nor false; give one of them",
        "/tmp/r,file_mb=9,folder_mb=10": "file_mb=9 is more than half of folder_mb=10; give a smaller file_mb",
    }
    with FakeCluster() as cluster:
        agents = [agent(options) for options in said]
        done = newest.run("Sender", [cluster.name_server, str(tmp_path), "sync"], tmp_path, agents)
    for sentence in said.values():
        assert f"faultline-recorder: does not record: {sentence}" in done.stderr
    assert len(json_lines(tmp_path / "truth_updates.jsonl")) >= 40


def launched(client: Client, how: str, folder: Path) -> tuple[subprocess.CompletedProcess[str], FakeCluster]:
    """Run `Sender` in a class loader of its own, with the client's classes nowhere else."""
    classes, *others = client.class_path.split(os.pathsep)
    alone = folder / "launcher"
    alone.mkdir()
    shutil.copy(Path(classes) / "Launcher.class", alone)
    own = os.pathsep.join([classes, *(path for path in others if Path(path) != RECORDER)])
    with FakeCluster() as cluster:
        done = Client(client.version, str(alone)).run(
            "Launcher",
            [how, own, "Sender", cluster.name_server, str(folder), "sync"],
            folder,
            [agent(folder / "recorded")],
        )
    return done, cluster


def test_a_client_in_a_class_loader_of_its_own_is_recorded(client: Client, tmp_path: Path) -> None:
    done, cluster = launched(client, "sees", tmp_path)
    recorded = Recorded(tmp_path / "recorded")
    assert (len(recorded.sends), len(recorded.fault_item_updates), len(cluster.received)) == (40, 40, 40)
    assert {row["client_version"] for row in recorded.sends} == {client.version}
    assert "faultline" not in done.stderr


def test_a_client_whose_loader_hides_the_agent_is_left_alone(newest: Client, tmp_path: Path) -> None:
    done, cluster = launched(newest, "hides", tmp_path)
    assert done.stderr.count("it does not see the agent's classes. Let it delegate the package faultline.recorder") == 1
    assert (Recorded(tmp_path / "recorded").files, len(cluster.received)) == ([], 40)


def test_two_agents_in_one_process_record_once(newest: Client, tmp_path: Path) -> None:
    options = [agent(tmp_path / "one"), agent(tmp_path / "two")]
    with FakeCluster() as cluster:
        done = newest.run("Sender", [cluster.name_server, str(tmp_path), "sync"], tmp_path, options)
    assert f"records to {tmp_path / 'one'} already; {tmp_path / 'two'} is not used: name the agent once" in done.stderr
    assert (len(Recorded(tmp_path / "one").sends), Recorded(tmp_path / "two").files) == (40, [])


def test_a_full_disk_loses_lines_but_no_send(newest: Client, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "16k") as disk:
        with FakeCluster() as cluster:
            done = newest.run("Sender", [cluster.name_server, str(tmp_path), "sync"], tmp_path, [agent(disk)])
            assert len(cluster.received) == 40
        recorded = Recorded(disk)
        for file in recorded.files:
            json_lines(file)  # no torn line
        assert len(recorded.sends) + len(recorded.fault_item_updates) < 80
    assert "lines are lost: java.io.IOException: No space left on device" in done.stderr
