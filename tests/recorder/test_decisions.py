"""What the recorder writes as an agent it writes as a library: one scenario of decisions, recorded by both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.given.driven_client import RECORDER, Client, Recorded, clients, compiled
from tests.given.fake_cluster import FakeCluster

LATE_MS = 500
"""How long a call and the line of it may lie apart: the machine may be busy."""
CLOCK = ("process_id", "at_ms", "available_at_ms")


@dataclass(frozen=True)
class Run:
    """One run of `Decisions`."""

    recorded: Recorded
    stdout: list[str]
    stderr: str

    def decisions(self) -> list[dict[str, Any]]:
        """The recorded lines in their order, without times."""
        return [
            {name: value for name, value in row.items() if name not in CLOCK}
            for row in self.recorded.fault_item_updates
        ]

    def ends(self) -> list[int | None]:
        """For how long each item was not available yet when its line was written."""
        rows = self.recorded.fault_item_updates
        return [row["available_at_ms"] and row["available_at_ms"] - row["at_ms"] for row in rows]


@pytest.fixture(scope="module", params=clients())
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Client:
    return compiled(request.param, tmp_path_factory.mktemp("classes"))


@pytest.fixture(scope="module")
def runs(client: Client, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    return {how: drive(client, how, tmp_path_factory.mktemp(how)) for how in ("agent", "library")}


def drive(client: Client, how: str, folder: Path) -> Run:
    recorded = folder / "recorded"
    options = [f"-javaagent:{RECORDER}={recorded}"] if how == "agent" else []
    with FakeCluster() as cluster:
        done = client.run("Decisions", [cluster.name_server, str(recorded), how], folder, options)
    stdout = [line for line in done.stdout.splitlines() if line.split()[0] in ("picked", "available", "thrown")]
    return Run(Recorded(recorded), stdout, done.stderr)


def has_flag(client: Client) -> bool:
    return tuple(map(int, client.version.split("."))) >= (5, 1, 4)


def test_agent_and_library_write_the_same_decisions(runs: dict[str, Run]) -> None:
    agent, library = runs["agent"].decisions(), runs["library"].decisions()
    for row in agent[-1:] + library[-1:]:  # of the send at the end, which took as long as it took
        assert row.pop("current_latency_ms") < LATE_MS
        assert row.pop("broker_name") in ("broker-a", "broker-b")
    assert library == agent
    for ours, agents in zip(runs["library"].ends()[:-1], runs["agent"].ends()[:-1], strict=True):
        assert ours == agents or abs((ours or 0) - (agents or 0)) < LATE_MS


def test_the_decisions_are_those_of_the_scenario(client: Client, runs: dict[str, Run]) -> None:
    ops = [(row["op"], row["broker_name"], row["reachable"]) for row in runs["library"].decisions()]
    flag = True if has_flag(client) else None
    assert ops[:9] == [
        *[("UPDATE", "broker-a", flag)] * 6,
        ("PICKED", "broker-a", flag),
        *[("REMOVE", "broker-a", None)] * 2,
    ]
    rest = [op for op in ops[9:-1] if op[0] != "PICKED"]
    unreachable = False if has_flag(client) else None
    assert rest[:6] == [
        ("UPDATE", "broker-a", unreachable),
        ("UPDATE", "broker-a", flag),
        ("UPDATE", "broker-b", unreachable),
        ("UPDATE", "broker-b", flag),
        ("UPDATE", "broker-gone", unreachable),
        ("UPDATE", "broker-b", unreachable),
    ]
    # From 5.1.4 the detector finds out who is there; before, the client's fallback that picks who has no such topic.
    detected = [("REACHABLE", "broker-b", True), ("DROPPED", "broker-gone", None)]
    picked = [("REMOVE", "broker-gone", None)]
    assert sorted(rest[6:], reverse=True) == (detected if has_flag(client) else picked)
    assert ops[-1][0] == "UPDATE"


def test_the_producer_sees_no_difference(runs: dict[str, Run]) -> None:
    assert runs["library"].stdout == runs["agent"].stdout
    assert runs["library"].stdout[-1] == "thrown NullPointerException"
    assert "faultline" not in runs["library"].stderr + runs["agent"].stderr


def test_sends_and_decisions_share_one_count(runs: dict[str, Run]) -> None:
    for run in runs.values():
        (numbers,) = run.recorded.numbers().values()
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(run.recorded.sends) == 1


def test_a_producer_that_cannot_be_wrapped_is_recorded_for_its_sends(client: Client, tmp_path: Path) -> None:
    run = drive(client, "wrapped", tmp_path)
    said = "faultline-recorder: records what the producer PG_decisions sends, but not its fault items: "
    assert run.stderr.count(said) == run.stderr.count("faultline") == 1
    assert (len(run.recorded.sends), run.recorded.fault_item_updates) == (1, [])
