"""Recordings by the agent, with a line per try of an async send, and by the library, held against another hand.

`tests/recorder/Watcher.java` was that hand: it counted what each client asked of its network, and wrote what the client
called on its `LatencyFaultTolerance`. `tests/given/watched_clients.py` makes more of these recordings.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.given.async_tries import calls, check_tries, sends_of_tries
from tests.given.driven_client import DECISIONS

RECORDED = Path(__file__).parent / "recorded"
VERSIONS = ("4.7.1", "4.9.8", "5.1.4", "5.3.3", "5.5.0")
BY_AGENT = [f"{version}-tries" for version in VERSIONS]
BY_LIBRARY = [f"{version}-library" for version in VERSIONS]
NUMBERS = ("current_latency_ms", "not_available_ms", "reachable")


def lines(run: str, name: str) -> list[dict[str, Any]]:
    """The lines of a file; none of `truth_picks` from 5.1.4 on, where nothing is picked."""
    file = RECORDED / run / f"{name}.jsonl.gz"
    if name == "truth_picks" and not file.exists():
        return []
    with gzip.open(file, "rt", encoding="utf-8") as text:
        return [json.loads(line) for line in text]


@pytest.mark.parametrize("run", BY_AGENT)
def test_each_try_is_a_call(run: str) -> None:
    sends = lines(run, "sends")
    counted = calls(lines(run, "truth_tries"))
    retries = sum(row["attempt"] > 1 for row in sends if row["mode"] == "ASYNC")
    print(f"{run}: {counted.total()} calls, {retries} of retries")
    assert calls(sends) == counted
    assert counted.total() > 2_000


@pytest.mark.parametrize("run", BY_AGENT)
def test_the_tries_of_a_send_belong_together(run: str) -> None:
    of_sends = sends_of_tries(lines(run, "sends"))
    for tries in of_sends:
        check_tries(tries)
    assert max(map(len, of_sends)) >= 2
    others = [row for row in lines(run, "sends") if row["mode"] != "ASYNC"]
    assert others
    assert not any("one_line_per" in row or "previous_broker_name" in row for row in others)


@pytest.mark.parametrize("run", [*BY_AGENT, *BY_LIBRARY])
def test_attempts_and_updates_share_one_count_without_holes(run: str) -> None:
    numbers: dict[str, list[int]] = {}
    for row in lines(run, "sends") + lines(run, "fault_item_updates"):
        numbers.setdefault(row["client_id"], []).append(row["seq"])
    assert all(sorted(of_client) == list(range(1, len(of_client) + 1)) for of_client in numbers.values())


@pytest.mark.parametrize("run", [*BY_AGENT, *BY_LIBRARY])
def test_each_recorded_decision_is_a_call_that_the_other_hand_saw(run: str) -> None:
    watched = Counter(
        (row["client_id"], DECISIONS[row["op"]], row["broker_name"], *(row[name] for name in NUMBERS))
        for name in ("truth_updates", "truth_picks")
        for row in lines(run, name)
    )
    recorded = Counter(
        (row["client_id"], row["op"], row["broker_name"], *(row[name] for name in NUMBERS))
        for row in lines(run, "fault_item_updates")
        if row["op"] in DECISIONS.values()
    )
    # The flag of a pick is read back by the recorder alone.
    assert {key: count for key, count in recorded.items() if key[1] != "PICKED"} == {
        key: count for key, count in watched.items() if key[1] != "PICKED"
    }
    assert Counter(key[:3] for key in recorded.elements()) == Counter(key[:3] for key in watched.elements())


@pytest.mark.parametrize("run", BY_LIBRARY)
def test_the_library_writes_what_a_hook_shows(run: str) -> None:
    sends = lines(run, "sends")
    assert not any("one_line_per" in row or "previous_broker_name" in row for row in sends)
    assert {"SYNC", "ASYNC", "ONEWAY"} == {row["mode"] for row in sends}


def test_a_refused_retry_is_charged_to_the_broker_before_it_up_to_4_9_2() -> None:
    """With 3,000 ms, just before the retry's own line."""
    run = "4.7.1-tries"
    updates = {(row["client_id"], row["seq"]): row for row in lines(run, "fault_item_updates")}
    refused = [
        row
        for row in lines(run, "sends")
        if row["mode"] == "ASYNC" and row["attempt"] > 1 and row["outcome"] == "RemotingConnectException"
    ]
    before = [(row, updates.get((row["client_id"], row["seq"] - 1))) for row in refused]
    # Lines of other threads stand between the two now and then.
    charged = [(row, update) for row, update in before if update and update["thread"] == row["thread"]]
    assert len(charged) > len(refused) / 2
    assert any(row["broker_name"] != row["previous_broker_name"] for row, _ in charged)
    for row, update in charged:
        assert (update["op"], update["broker_name"]) == ("UPDATE", row["previous_broker_name"])
        assert update["current_latency_ms"] == 3_000
