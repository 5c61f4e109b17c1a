"""`faultline explain` over a small published lake: what it reads, what it prints, and when it ends with exit code 3."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import main as cli
from jobs.cli.explain import SUBJECTS, explain
from jobs.tables import (
    ALLOCATION_FINDINGS,
    FAULT_ITEM_CHANGES,
    FAULT_ITEM_UPDATES,
    GROUP_EVENTS,
    GROUP_MEMBERS,
    ISOLATION_INTERVALS,
    PRODUCER_DAYS,
    QUEUE_ALLOCATION,
    QUEUE_OWNERSHIP,
    SENDS,
)
from tests.given.lakes import publish, write_rows
from tests.given.site import D1, D2, START

pytestmark = pytest.mark.usefixtures("own_folder")

T = START[D1]
ANSI = "\x1b[31mred"
ITEM = {"event_date": D1, "client_id": "p1", "producer_group": "PG", "broker_name": "broker-a"}
REPLAYED = {**ITEM, "process": "A", "profile": "P2", "policy": "P2", "enforced": True}
ISOLATION = {
    **REPLAYED, "client_version": "4.9.8", "start_ms": T + 1_000, "end_ms": T + 31_000, "end_earliest_ms": T + 31_000,
    "end_latest_ms": T + 31_000, "ended_by": "EXPIRED", "evidence": "LOGGED", "cause": "LATENCY",
}  # fmt: skip
OPENER = {
    **REPLAYED, "changed_at_ms": T + 1_000, "change": "OPENED", "seq": 7, "current_latency_ms": 600, "cause": "LATENCY",
    "not_available_ms": 30_000, "available_at_ms": T + 31_000, "evidence": "LOGGED", "position": 1,
}  # fmt: skip
SEND = {
    **ITEM, "process_id": "A", "ended_at_ms": T + 1_000, "latency_ms": 600, "outcome": "SEND_OK", "mode": "SYNC",
    "seq": 7, "thread": "t1", "fault_latency_enabled": True,
}  # fmt: skip
QUEUE = {"event_date": D1, "consumer_group": "g", "topic": "T", "start_ms": T, "end_ms": T + 60_000}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lake")
    publish(root, D1)
    publish(root, D1, flow="ALLOCATION")
    write_rows(
        root,
        ISOLATION_INTERVALS,
        [
            ISOLATION,
            {**ISOLATION, "client_id": "p2", "process": "B", "evidence": "RECORDED"},
            {**ISOLATION, "client_id": "p3", "process": "p3", "policy": "P2 with the ladder of PG", "enforced": False},
            {**ISOLATION, "client_id": ANSI, "broker_name": ANSI, "producer_group": ANSI},
        ],
    )
    write_rows(
        root,
        FAULT_ITEM_CHANGES,
        [
            OPENER,
            {**OPENER, "enforced": False, "seq": 99},  # of another item
            {**OPENER, "client_id": "p2", "process": "B", "evidence": "RECORDED"},
            {**OPENER, "client_id": "p3", "process": "p3", "enforced": False},
            {**OPENER, "client_id": ANSI, "broker_name": ANSI, "producer_group": ANSI},
        ],
    )
    write_rows(
        root,
        SENDS,
        [
            SEND,
            {**SEND, "process_id": "B", "ended_at_ms": T + 2_000, "seq": 8},  # of another process
            {**SEND, "broker_name": "broker-b", "ended_at_ms": T + 2_000, "seq": 9},
            {**SEND, "ended_at_ms": T + 40_000, "seq": 10},
            *({**SEND, "ended_at_ms": T + at, "seq": at, "queue_chosen_by": "CALLER"} for at in range(2_000, 2_050)),
            {**SEND, "client_id": "p3", "process_id": None, "fault_latency_enabled": False},
        ],
    )
    update = {**ITEM, "client_id": "p2", "process_id": "B", "called_at_ms": T + 1_000, "op": "UPDATE", "seq": 7}
    of_other_process = {**update, "process_id": "C", "called_at_ms": T + 3_000, "seq": 8}
    write_rows(root, FAULT_ITEM_UPDATES, [update, of_other_process])
    write_rows(root, GROUP_MEMBERS, [{**QUEUE, "broker_name": "broker-a", "client_ids": ["c1", "c2"]}])
    write_rows(
        root,
        QUEUE_ALLOCATION,
        [
            {
                **QUEUE,
                "broker_name": "broker-a",
                "queue_id": number,
                "client_id": owner,
                "strategy": "AVG",
                "in_route": True,
            }
            for number, owner in enumerate(("c1", "c2"))
        ],
    )
    held = {**QUEUE, "broker_name": "broker-a", "queue_id": 1, "client_id": "c2", "source": "CLIENT_LOG"}
    write_rows(root, QUEUE_OWNERSHIP, [{**held, "process": "client.log"}])
    return root


class Explained:
    """What `faultline explain` says."""

    def __init__(self, capsys: pytest.CaptureFixture[str], lake: Path, *arguments: str) -> None:
        self.code = cli.main(["explain", *arguments, "--lake", str(lake)])
        self.out, self.err = capsys.readouterr()

    @property
    def answer(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        found: dict[str, Any] = json.loads(self.out)
        return found


OF_P1 = ("isolation", "--producer", "p1", "--broker", "broker-a", "--at", "00:00:01")
OF_QUEUE = ("queue", "--group", "g", "--topic", "T", "--queue", "broker-a:1", "--at", "2026-03-01T00:00:30")


def test_an_isolation_with_the_lines_of_its_item_alone(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    answer = Explained(capsys, lake, *OF_P1, "--json").answer
    assert [line["seq"] for line in answer["lines"]] == [7, *range(2_000, 2_050)]
    assert answer["row"]["client_id"] == "p1"
    assert answer["row"]["event_date"] == "2026-03-01"
    assert answer["why"].endswith("P2 gives 30 s for 600 ms")
    assert answer["policy"]["write_rule"] == "LAST_WRITE"


def test_a_long_list_shows_its_first_and_last_lines(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    said = Explained(capsys, lake, *OF_P1, "--limit", "3")
    assert said.code == 0
    head, why, rules, evidence, _, *rows, left_out = said.out.splitlines()
    assert head == (
        "isolation of broker-a by PG (client 4.9.8, p1), 2026-03-01 00:00:01.000 – 00:00:31.000 UTC, 30.0 s"
    )  # fmt: skip
    assert why.startswith("  why it ended: its time was over")
    assert "  rules: P2, LAST_WRITE: each write sets the end; ms 50 -> 0, 100 -> 0, 550 -> 30,000," in rules
    assert evidence.startswith("  evidence: LOGGED")
    assert [row.split()[1] for row in rows] == ["7", "2000", "2049"]
    assert left_out == "  48 lines between them are not shown; give --limit 0 for all"
    assert len(Explained(capsys, lake, *OF_P1, "--limit", "0").out.splitlines()) == 5 + 51
    assert Explained(capsys, lake, *OF_P1, "--limit", "1").out.splitlines()[5].split()[1] == "7"


def test_a_record_counts_for_its_process(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    of_p2 = ("isolation", "--producer", "p2", "--broker", "broker-a", "--at", f"{D1}T00:00:02", "--json")
    assert [line["what"] for line in Explained(capsys, lake, *of_p2).answer["lines"]] == ["recorded UPDATE, LATENCY"]


def test_a_switch_that_was_off_and_a_ladder_of_the_producers_own(
    capsys: pytest.CaptureFixture[str], lake: Path, tmp_path: Path
) -> None:
    of_p3 = ("isolation", "--producer", "p3", "--broker", "broker-a", "--at", "00:00:02", "--date", f"{D1}")
    out = Explained(capsys, lake, *of_p3).out
    assert "its switch was off, so this is what it would have done" in out
    assert "ladder not known" in out
    settings = tmp_path / "site.toml"
    settings.write_text('[producers."PG"]\nlatency_max_ms = [500]\nnot_available_ms = [30000]\n')
    out = Explained(capsys, lake, *of_p3, "--settings", str(settings)).out
    assert "P2 with the ladder of PG gives 30 s for 600 ms" in out
    assert "ms 500 -> 30,000; a failure counts as 30,000 ms" in out


def test_a_ladder_that_is_not_the_published_one_is_left_out(
    capsys: pytest.CaptureFixture[str], lake: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "site.toml"
    settings.write_text('[producers."PG"]\nlatency_max_ms = [500]\nnot_available_ms = [40000]\n')
    of_p3 = ("isolation", "--producer", "p3", "--broker", "broker-a", "--at", "00:00:02", "--settings", str(settings))
    out = Explained(capsys, lake, *of_p3).out
    assert "  left out: the ladder of these settings is not the one that the day was published with\n" in out
    assert "ladder not known" in out
    assert "40,000" not in out


def test_a_group_narrows_and_sends_that_are_gone_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    publish(tmp_path, D1)
    write_rows(tmp_path, ISOLATION_INTERVALS, [ISOLATION, {**ISOLATION, "producer_group": "PH"}])
    write_rows(tmp_path, FAULT_ITEM_CHANGES, [OPENER, {**OPENER, "producer_group": "PH"}])
    write_rows(tmp_path, PRODUCER_DAYS, [{**REPLAYED, "sends": 5}, {**REPLAYED, "producer_group": "PH", "sends": 0}])
    said = Explained(capsys, tmp_path, *OF_P1)
    assert (said.code, said.out) == (3, "")
    assert "give the client id of one, and with --group its group where several share that id" in said.err
    assert Explained(capsys, tmp_path, *OF_P1, "--group", "PG", "--json").answer["limits"] == [
        "the day's sends are not in the lake any more"
    ]
    of_ph = Explained(capsys, tmp_path, *OF_P1, "--group", "PH", "--json").answer
    assert (of_ph["row"]["producer_group"], of_ph["limits"]) == ("PH", [])
    write_rows(tmp_path, SENDS, [{**SEND, "broker_name": "broker-b"}])  # its sends are there, none at this broker
    assert Explained(capsys, tmp_path, *OF_P1, "--group", "PG", "--json").answer["limits"] == []


def test_control_characters_of_names_stay_off_the_terminal(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    said = Explained(capsys, lake, "isolation", "--producer", ANSI, "--broker", ANSI, "--at", "00:00:02")
    assert said.code == 0
    assert "\\x1b[31mred" in said.out
    assert "\x1b" not in said.out


def test_a_queue(capsys: pytest.CaptureFixture[str], lake: Path) -> None:
    assert Explained(capsys, lake, *OF_QUEUE).out.splitlines()[1] == "  c2 should own it, and held it"
    answer = Explained(capsys, lake, *OF_QUEUE, "--json").answer
    assert answer["verdict"] == "c2 should own it, and held it"
    assert answer["views"][0]["computed"] == ["c2"]
    assert answer["held"][0]["process"] == "client.log"


def test_a_queue_in_an_event_of_its_group(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """c1 still holds what c2 should own; the published cause is the event's, unless a finding tells it too."""
    publish(tmp_path, D1, flow="ALLOCATION")
    of_queue = {"broker_name": "broker-a", "queue_id": 1}
    trouble = {**of_queue, "topic": "T", "kind": "AGAINST_STRATEGY", "cause": "REBALANCE_NOT_RUN", "start_ms": T,
               "end_ms": T + 40_000, "owners_expected": ["c2"], "owners_observed": ["c1"]}  # fmt: skip
    other = {**trouble, "queue_id": 2, "cause": "STALE_ROUTE"}
    joined = {"event_date": D1, "event_id": "g 1", "consumer_group": "g", "start_ms": T, "sentence": "g: c2 joined",
              "queues": [trouble, other]}  # fmt: skip
    write_rows(tmp_path, GROUP_EVENTS, [joined])
    write_rows(tmp_path, QUEUE_ALLOCATION, [{**QUEUE, **of_queue, "client_id": "c2", "strategy": "AVG"}])
    write_rows(tmp_path, QUEUE_OWNERSHIP, [{**QUEUE, **of_queue, "client_id": "c1", "source": "CLIENT_LOG"}])
    answer = Explained(capsys, tmp_path, *OF_QUEUE, "--json").answer
    assert answer["verdict"] == "c2 should own it, c1 held it: REBALANCE_NOT_RUN"
    assert [row["sentence"] for row in answer["findings"]] == ["part of the event g: c2 joined"]
    found = {**QUEUE, **of_queue, "kind": "AGAINST_STRATEGY", "basis": "OBSERVED", "cause": "REBALANCE_NOT_RUN"}
    write_rows(tmp_path, ALLOCATION_FINDINGS, [{**found, "event_id": "g 1", "sentence": "for 60 s"}])
    answer = Explained(capsys, tmp_path, *OF_QUEUE, "--json").answer
    assert [row["sentence"] for row in answer["findings"]] == ["for 60 s"]


def test_lines_are_found_in_the_logs(capsys: pytest.CaptureFixture[str], lake: Path, tmp_path: Path) -> None:
    """By broker, time and seq: as JSON with the end, and as text with the start, in another zone."""
    start, end = T + 400, T + 1_000
    (tmp_path / "a.jsonl").write_text(
        f'{{"broker": "broker-b", "ended_at_ms": {end}, "seq": 7}}\n'
        f'{{"broker": "broker-a", "ended_at_ms": {end}, "seq": 17}}\n'
        f'{{"broker": "broker-a", "ended_at_ms": {end}, "seq": 7}}\n'
    )
    with gzip.open(tmp_path / "b.log.gz", "wt") as text:
        text.write(f"header\n2026-03-01 09:00:00,{start % 1000} send seq=7 to broker-a took 600 ms\n")
    explained = (*OF_P1, "--sends", str(tmp_path))
    answer = Explained(capsys, lake, *explained, "--json").answer
    opener = next(line for line in answer["lines"] if line["seq"] == 7)
    assert opener["places"] == [f"{tmp_path}/a.jsonl:3", f"{tmp_path}/b.log.gz:2"]
    said = Explained(capsys, lake, *explained).out
    assert f"{tmp_path}/a.jsonl:3 or {tmp_path}/b.log.gz:2" in said
    (tmp_path / "a.jsonl").write_text("")
    (tmp_path / "b.log.gz").unlink()
    assert "left out: no row of the given logs holds" in Explained(capsys, lake, *explained).out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("isolation", "--producer", "p", "--broker", "broker-a", "--at", "00:00:02"), "'p' names 3 producers"),
        (("isolation", "--producer", "p9", "--broker", "broker-a", "--at", "00:00:02"), "no producer 'p9' isolated"),
        ((*OF_P1[:-1], "00:01"), "p1) did not isolate 'broker-a' at 2026-03-01 00:01:00.000; the last before it"),
        ((*OF_P1[:-1], f"{D2}T00:00:01"), "nothing of 2026-03-02 is published for cluster 'main'"),
        ((*OF_P1, "--sends", "/no/such.log"), "input /no/such.log does not exist"),
        ((*OF_QUEUE[:-1], "00:02"), "nothing is known of queue 'broker-a:1' of 'T' for group 'g'"),
    ],
)
def test_nothing_to_explain_is_one_sentence_and_exit_code_3(
    capsys: pytest.CaptureFixture[str], lake: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    said = Explained(capsys, lake, *arguments)
    assert (said.code, said.out) == (3, "")
    assert sentence in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("isolation", "--broker", "broker-a", "--at", "1:00"), "--at '1:00' is not a time"),
        (("isolation", "--broker", "broker-a", "--at", "01:00"), "explain isolation takes --producer, --broker, --at,"),
        (OF_P1[:-2], "explain isolation takes --producer, --broker, --at, all of them and no other name"),
        ((*OF_P1, "--topic", "T"), "--broker, --at, all of them and no other name but --group and --sends"),
        ((*OF_QUEUE, "--sends", "x"), "explain queue takes --group, --topic, --queue, --at, all of them and no other"),
        (OF_QUEUE[:-2], "explain queue takes --group, --topic, --queue, --at, all of them and no other name"),
        ((*OF_QUEUE, "--queue", "3"), "--queue 3 names no broker; write it like broker-a:3"),
        (("isolatoin",), "WHAT 'isolatoin' is none of isolation, queue (did you mean 'isolation'?)"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_sentence(
    capsys: pytest.CaptureFixture[str], lake: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    said = Explained(capsys, lake, *arguments)
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err


def test_the_help_names_what_it_explains(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for subject, question in SUBJECTS.items():
        assert f"{subject} {question}" in said
    names = [name for param in explain.params for name in param.opts if name.startswith("--")]
    assert {"--producer", "--queue", "--sends"} <= {*names}
    assert [name for name in names if f"{name} " not in said] == []
