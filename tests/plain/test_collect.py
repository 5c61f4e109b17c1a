"""`faultline collect` against a name server and brokers that speak the protocol: what it asks, and what it writes."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import main as cli
from tests.given.certificates import self_signed
from tests.given.collector_files import PROGRAM
from tests.given.fake_cluster import CLUSTER_INFO, ROUTE, FakeCluster

GROUPS, CONNECTIONS, TOPICS, RUNNING = 201, 203, 206, 307
MEMBERS = {("broker-a", "CG"): ["c1", "c2", "c2"], ("broker-b", "CG"): ["c1", "c3"]}
FAST = ("--every", "0.01s", "--running-info-every", "0.01s", "--requests-per-second", "10000")
GROUPS_OF_ITS_OWN = (
    "TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "__MONITOR_CONSUMER", "SCHEDULE_CONSUMER",
    "CID_RMQ_SYS_TRANS", "CID_ONSAPI_PULL", "CID_RMQ_SYS_REVIVE_GROUP", "CID_DefaultHeartBeatSyncerTopic",
)  # fmt: skip
TOPICS_OF_ITS_OWN = (
    "main", "broker-a", "main_REPLY_TOPIC", "SCHEDULE_TOPIC_XXXX", "SELF_TEST_TOPIC", "TBW102", "OFFSET_MOVED_EVENT",
    "BenchmarkTest", "RMQ_SYS_TRACE_TOPIC", "rmq_sys_x", "%DLQ%CG", "%RETRY%TOOLS_CONSUMER",
)  # fmt: skip
Lines = dict[str, list[dict[str, Any]]]


class Site:
    """A cluster with a group CG and a topic T, as a test may change it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, Mapping[str, str]]] = []
        self.cluster = FakeCluster(administer=self.answer)
        self.named = list(self.cluster.brokers)
        self.addresses: Callable[[str], str] = lambda name: f'0:"{self.cluster.address(name)}",1:"127.0.0.1:1"'

    def answer(self, broker: str, code: int, fields: Mapping[str, str]) -> tuple[int, str] | None:
        self.asked.append((broker, code, fields))
        if not broker:
            return self.of_name_server(code)
        if code == GROUPS:
            names: dict[str, Any] = {name: {} for name in ("CG", *GROUPS_OF_ITS_OWN)}
            return 0, json.dumps({"subscriptionGroupTable": names if broker == "broker-a" else {"CG2": {}}})
        if code == CONNECTIONS:
            members = MEMBERS.get((broker, fields["consumerGroup"]))
            connections = [{"clientId": each, "version": 479} for each in members or ()]
            body = {"connectionSet": connections, "subscriptionTable": {"T": {}, "%RETRY%CG": {}}}
            return (0, json.dumps(body)) if members else (206, "")
        return 0, f'{{"mqTable":{{{{"topic":"T"}}:1}},"of":"{fields["clientId"]}"}}'

    def of_name_server(self, code: int) -> tuple[int, str] | None:
        if code == CLUSTER_INFO:
            # As servers before 4.9.4 write it: numbers that are keys have no quotes.
            brokers = ",".join(
                f'"{name}":{{"brokerAddrs":{{{self.addresses(name)}}},"brokerName":"{name}"}}' for name in self.named
            )
            return 0, f'{{"brokerAddrTable":{{{brokers}}},"clusterAddrTable":{{"main":["broker-a"]}}}}'
        if code == TOPICS:
            return 0, json.dumps({"topicList": ["T", "%RETRY%CG", *TOPICS_OF_ITS_OWN], "brokerAddr": None})
        return None if code == ROUTE else (0, "{}")


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    with site.cluster:
        yield site


def written(out: Path) -> Lines:
    """The lines of the finished files by kind, in the order of time."""
    lines: Lines = {"routes": [], "consumers": [], "running_info": []}
    for file in sorted(out.glob("*/[!.]*.jsonl.gz")):
        lines[file.parent.name] += map(json.loads, gzip.decompress(file.read_bytes()).decode().splitlines())
    return {kind: sorted(rows, key=lambda row: int(row["captured_at_ms"])) for kind, rows in lines.items()}


def collected(site: Site, out: Path, *options: str) -> Lines:
    namesrv = ("--namesrv", site.cluster.name_server)
    assert cli.main(["collect", *namesrv, "--out", str(out), *FAST, "--rounds", "1", *options]) == 0
    return written(out)


def test_a_round_asks_for_everything_but_what_is_rocketmqs_own(site: Site, tmp_path: Path) -> None:
    lines = collected(site, tmp_path / "out", "--cluster", "north")
    assert [(row["topic"], row["code"]) for row in lines["routes"]] == [("%RETRY%CG", 0), ("T", 0)]
    assert {row["cluster"] for rows in lines.values() for row in rows} == {"north"}
    assert [(row["consumer_group"], row["broker_name"], row["code"]) for row in lines["consumers"]] == [
        ("CG", "broker-a", 0), ("CG", "broker-b", 0), ("CG2", "broker-a", 206), ("CG2", "broker-b", 206),
    ]  # fmt: skip
    assert lines["consumers"][0]["broker_addr"] == site.cluster.address("broker-a")
    assert json.loads(lines["consumers"][0]["body"])["connectionSet"][1] == {"clientId": "c2", "version": 479}
    assert lines["consumers"][2]["body"] is None
    # Each member once, of a broker that knows it, and its answer as it is, which is not JSON.
    assert [(row["client_id"], row["body"]) for row in lines["running_info"]] == [
        (name, f'{{"mqTable":{{{{"topic":"T"}}:1}},"of":"{name}"}}') for name in ("c1", "c2", "c3")
    ]
    brokers = [(broker, fields["clientId"]) for broker, code, fields in site.asked if code == RUNNING]
    assert brokers == [("broker-a", "c1"), ("broker-a", "c2"), ("broker-b", "c3")]
    assert all(fields["jstackEnable"] == "false" for _, code, fields in site.asked if code == RUNNING)
    now_ms = time.time() * 1000
    assert all(now_ms - 60_000 < row["captured_at_ms"] <= now_ms for rows in lines.values() for row in rows)
    assert "cluster" not in collected(site, tmp_path / "no-name")["routes"][0]


def test_chosen_groups_bring_their_topics_and_no_others(site: Site, tmp_path: Path) -> None:
    lines = collected(site, tmp_path / "out", "--group", "CG2", "--group", "CG", "--topic", "T_sends")
    assert [row["topic"] for row in lines["routes"]] == ["%RETRY%CG", "%RETRY%CG2", "T", "T_sends"]
    assert [row["consumer_group"] for row in lines["consumers"]] == ["CG2", "CG2", "CG", "CG"]
    assert not [code for _, code, _ in site.asked if code in (GROUPS, TOPICS)]


def test_consumers_are_left_alone_where_it_says_so(site: Site, tmp_path: Path) -> None:
    assert collected(site, tmp_path / "out", "--running-info-every", "never")["running_info"] == []
    asked = [code for _, code, _ in site.asked]
    assert RUNNING not in asked
    collected(site, tmp_path / "rarely", "--running-info-every", "1h", "--rounds", "3")
    assert [code for _, code, _ in site.asked].count(RUNNING) == 3  # once each


def test_a_plan_asks_for_no_member_and_writes_nothing(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asks = ("collect", "--namesrv", f"127.0.0.1:1;{site.cluster.name_server}", "--out", str(tmp_path / "out"), "--plan")
    assert cli.main([*asks, "--every", "2m"]) == 0
    said = capsys.readouterr().out.strip()
    assert said == (
        "a round: 2 groups at 2 brokers, 2 routes: 9 requests, every 120 s; at most 50 requests a second: 0.2 s at"
        " least; besides, one request per member every 60 s"
    )
    assert cli.main([*asks, "--every", "1s", "--requests-per-second", "3", "--running-info-every", "never"]) == 0
    assert capsys.readouterr().out.strip() == (
        "a round: 2 groups at 2 brokers, 2 routes: 9 requests, every 1 s; at most 3 requests a second: 3.0 s at least"
        " (rounds will follow each other without a pause: raise --requests-per-second, or --every)"
    )
    assert not (tmp_path / "out").exists()
    assert not [code for _, code, _ in site.asked if code in (CONNECTIONS, RUNNING, ROUTE)]
    assert cli.main(["collect", "--namesrv", "127.0.0.1:1", "--out", str(tmp_path / "out"), "--plan"]) == 3
    assert "no name server answers: 127.0.0.1:1: " in capsys.readouterr().err


def test_what_does_not_answer_is_a_fact_with_no_code(site: Site, tmp_path: Path) -> None:
    site.cluster.kill("broker-b")
    lines = collected(site, tmp_path / "out")
    assert [(row["broker_name"], row["code"], row["body"] is None) for row in lines["consumers"]] == [
        ("broker-a", 0, False), ("broker-b", None, True),
    ]  # fmt: skip
    assert [row["client_id"] for row in lines["running_info"]] == ["c1", "c2"]


@pytest.mark.parametrize("wrong", ["no JSON", "[]", "{}"])
def test_an_answer_that_cannot_be_read_is_written_all_the_same(site: Site, tmp_path: Path, wrong: str) -> None:
    right = site.answer

    def answer(broker: str, code: int, fields: Mapping[str, str]) -> tuple[int, str] | None:
        return (0, wrong) if code == CONNECTIONS else right(broker, code, fields)

    site.cluster.administer = answer
    lines = collected(site, tmp_path / "out")
    assert {row["body"] for row in lines["consumers"]} == {wrong}
    assert lines["running_info"] == []


def test_what_was_refused_is_said_with_code_and_remark(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ACL answers with code 1 whatever it was asked; so the groups of before are still asked about."""
    right, lists = site.answer, list[str]()

    def answer(broker: str, code: int, fields: Mapping[str, str]) -> tuple[int, str] | None:
        lists.extend([broker] if code == GROUPS else [])
        is_refused = broker == "broker-a" and code in (CONNECTIONS, RUNNING)
        return (1, "") if is_refused or (code == GROUPS and broker == "broker-b") else right(broker, code, fields)

    site.cluster.administer = answer
    lines = collected(site, tmp_path / "out", "--rounds", "2")
    refused = [row for row in lines["consumers"] if row["broker_name"] == "broker-a"]
    assert [(row["code"], row["remark"], row["body"]) for row in refused] == [(1, "as the test says", None)] * 2
    said = capsys.readouterr().err.splitlines()
    of_groups = f"the list of groups by {site.cluster.address('broker-b')}, code 1: as the test says"
    of_members = f"members of groups by {site.cluster.address('broker-a')}, code 1: as the test says"
    assert [line for line in said if ": refused: " in line] == [
        f"faultline collect: refused: {refusal}" for refusal in (of_groups, of_members)
    ]
    assert f"faultline collect: refused {len(lists) // 2} times: {of_groups}" in said
    assert f"faultline collect: refused 2 times: {of_members}" in said
    assert said[-1].endswith(f" {len(lists) // 2 + 2} refused, {sum(map(len, lines.values()))} lines written")


def test_a_slave_is_asked_while_the_master_is_away(site: Site, tmp_path: Path) -> None:
    """Struck off by the name server, or not yet."""
    slave = site.cluster.address("broker-b")
    for of_master in ("", '0:"127.0.0.1:1",'):
        site.named, site.addresses = ["broker-a"], lambda _, of=of_master: f'{of}10:"127.0.0.1:2",2:"{slave}"'  # type: ignore[misc]
        consumers = collected(site, tmp_path / f"out{len(of_master)}")["consumers"]
        asked = {(row["broker_name"], row["broker_addr"], row["consumer_group"], row["code"]) for row in consumers}
        assert asked == {("broker-a", slave, "CG2", 206)}


def test_name_servers_that_differ_have_a_line_each(site: Site, tmp_path: Path) -> None:
    """The other one has lost broker-b; of a topic that both know the same of, one line is enough."""
    routes = {"T": '{"queueDatas":[{"brokerName":"broker-a"}]}', "%RETRY%CG": '{"queueDatas":[]}'}

    def other(_: str, code: int, fields: Mapping[str, str]) -> tuple[int, str] | None:
        return (0, routes[fields["topic"]]) if code == ROUTE else site.of_name_server(code)

    def first(broker: str, code: int, fields: Mapping[str, str]) -> tuple[int, str] | None:
        same = not broker and code == ROUTE and fields["topic"] != "T"
        return (0, '{ "queueDatas" : [] }') if same else site.answer(broker, code, fields)

    site.cluster.administer = first
    with FakeCluster(brokers=(), administer=other) as second:
        lines = collected(site, tmp_path / "out", "--namesrv", second.name_server)["routes"]
        assert [(row["topic"], row["name_server"]) for row in lines] == [
            ("%RETRY%CG", site.cluster.name_server), ("T", site.cluster.name_server), ("T", second.name_server),
        ]  # fmt: skip


def test_a_broker_that_refuses_its_list_of_groups_names_none(site: Site, tmp_path: Path) -> None:
    right = site.answer

    def answer(broker: str, code: int, fields: Mapping[str, str]) -> tuple[int, str] | None:
        return (16, "") if (broker, code) == ("broker-b", GROUPS) else right(broker, code, fields)

    site.cluster.administer = answer
    named = [(row["consumer_group"], row["broker_name"]) for row in collected(site, tmp_path / "out")["consumers"]]
    assert named == [("CG", "broker-a"), ("CG", "broker-b")]


def test_requests_are_signed_where_keys_are_given(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {"ROCKETMQ_ACCESS_KEY": "me", "ROCKETMQ_SECRET_KEY": "s3cret", "ROCKETMQ_SECURITY_TOKEN": "t0ken"}
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    collected(site, tmp_path / "out")
    for _, _, fields in site.asked:
        content = "".join(value for name, value in sorted(fields.items()) if name != "Signature").encode()
        assert (fields["AccessKey"], fields["SecurityToken"]) == ("me", "t0ken")
        assert base64.b64decode(fields["Signature"]) == hmac.digest(b"s3cret", content, hashlib.sha1)
    monkeypatch.delenv("ROCKETMQ_SECRET_KEY")
    assert cli.main(["collect", "--namesrv", "a:1", "--out", str(tmp_path)]) == 2
    assert "ROCKETMQ_ACCESS_KEY and ROCKETMQ_SECRET_KEY go together" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--namesrv", "host"], "--namesrv 'host' is not an address; write it like 10.0.0.1:9876"),
        (["--namesrv", "host:²"], "--namesrv 'host:²' is not an address"),
        (["--namesrv", "host:0"], "--namesrv 'host:0' is not an address"),
        (["--every", "soon"], "--every 'soon' is not a time; write it like 10s, 1m or 1h"),
        (["--every", "0"], "--every '0' is not a time"),
        (["--running-info-every", "often"], "--running-info-every 'often' is not a time"),
        (["--timeout", "-1"], "--timeout '-1' is not a time"),
        (["--requests-per-second", "0"], "--requests-per-second 0 is out of range; give more than 0"),
        (["--tls-ca", "/none.pem"], "--tls-ca /none.pem: "),
        (["--out", "/dev/null/x", "--rounds", "1"], "--out /dev/null/x: "),
    ],
)
def test_wrong_options_are_refused(
    options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["collect", "--namesrv", "127.0.0.1:1", "--out", str(tmp_path), *options]) == 2
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith(f"faultline: {sentence}")


def started(site: Site, out: Path) -> subprocess.Popen[str]:
    """A collector of its own, which asks twenty times a second until it is stopped."""
    words = ["collect", "--namesrv", site.cluster.name_server, "--out", str(out), *FAST, "--every", "0.05s"]
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *words], stderr=subprocess.PIPE, text=True)


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until it holds, for half a minute at most."""
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def requests(site: Site, code: int, broker: str = "broker-b") -> int:
    return sum((name, number) == (broker, code) for name, number, _ in site.asked)


def test_it_stops_cleanly_and_brokers_come_back(site: Site, tmp_path: Path) -> None:
    collector = started(site, tmp_path)
    eventually(lambda: requests(site, CONNECTIONS) >= 4)
    site.cluster.kill("broker-b")
    seen = requests(site, CONNECTIONS, "broker-a")
    eventually(lambda: requests(site, CONNECTIONS, "broker-a") > seen + 10)
    before = requests(site, CONNECTIONS)
    site.cluster.revive("broker-b")
    eventually(lambda: requests(site, CONNECTIONS) > before + 4)
    second = started(site, tmp_path)
    assert second.wait(30) == 5
    _, refusal = second.communicate()
    assert f"another collector writes into {tmp_path}; stop it, or give another --out" in refusal
    collector.send_signal(signal.SIGTERM)
    _, said = collector.communicate(timeout=30)
    assert collector.returncode == 0
    lines = written(tmp_path)
    codes = [
        row["code"] for row in lines["consumers"] if (row["broker_name"], row["consumer_group"]) == ("broker-b", "CG")
    ]
    assert [code for place, code in enumerate(codes) if place == 0 or code != codes[place - 1]] == [0, None, 0]
    assert not list(tmp_path.glob("*/.*"))
    count = sum(map(len, lines.values()))
    assert f", {count:,} lines written" in said.splitlines()[-1]
    assert not [row["code"] for row in lines["routes"] if row["code"] != 0]


def test_what_a_killed_one_had_written_is_finished_by_the_next(site: Site, tmp_path: Path) -> None:
    collector = started(site, tmp_path)
    eventually(lambda: requests(site, CONNECTIONS) >= 6)
    collector.kill()
    collector.communicate()
    assert written(tmp_path)["consumers"] == []
    left = len(list(tmp_path.glob("*/.*.jsonl.gz")))
    assert left == 3
    lines = collected(site, tmp_path)
    assert len(lines["consumers"]) > 4 + 4  # rounds of the first one, and one of this
    assert len(list(tmp_path.glob("*/[!.]*.jsonl.gz"))) == 6
    assert not list(tmp_path.glob("*/.*.jsonl.gz"))


def test_tls(tmp_path: Path, site: Site) -> None:
    """A cluster that speaks TLS; who answers is checked only where certificates are given."""
    certificate, key = self_signed(tmp_path, "cert")
    other, _ = self_signed(tmp_path, "other")
    site.cluster.speak_tls(certificate, key)
    assert len(collected(site, tmp_path / "any", "--tls")["consumers"]) == 4
    assert len(collected(site, tmp_path / "checked", "--tls-ca", str(certificate))["consumers"]) == 4
    assert collected(site, tmp_path / "refused", "--tls-ca", str(other))["consumers"] == []
    assert collected(site, tmp_path / "plain", "--timeout", "1s")["consumers"] == []
